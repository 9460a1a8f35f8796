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
    """A browser whose console can be read."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for word in WORDS:
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = CHROMIUM
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def wait(chrome, found):
    """What `found()` gives once it gives something."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(chrome, 60).until(lambda _: found())
