"""Real headless Chromium for the tests of pages."""

import shutil
from contextlib import contextmanager

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
WORDS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000")


def needs_chromium(test):
    """A test that clicks in a browser: slow, and skipped where there is none."""
    missing = not (CHROMIUM and DRIVER)
    return pytest.mark.slow(pytest.mark.skipif(missing, reason="no Chromium: apt-get install chromium chromium-driver")(test))


@contextmanager
def started():
    """A browser whose console can be read, and whose pages are loaded when `get` returns."""
    from selenium import webdriver

    class Browser(webdriver.Chrome):
        def get(self, url):
            """As `get`, which with Chromium 150 returns before the page is loaded, about once in 20 times."""
            super().get(url)
            wait(self, lambda: self.execute_script("return document.readyState") == "complete")

    options = webdriver.ChromeOptions()
    for word in WORDS:
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = CHROMIUM
    driver = Browser(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def wait(chrome, found):
    """What `found()` gives once it gives something."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(chrome, 60).until(lambda _: found())
