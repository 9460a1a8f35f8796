"""The page on which people review: blind, offline, by keyboard alone, and its file is what is imported."""

import base64
import hashlib
import json
import re

import pytest
from chromium import needs_chromium, wait
from legible import SCHEMES, as_it_was, low_contrast, show, too_wide
from review_builds import FORM, WRITTEN, agreeing, fields, kettles, page_data, saved, write_saved

from toolkit.construction.review.review_answers import read_answers
from toolkit.construction.review.review_rounds import export_review, import_review
from toolkit.core.errors import ToolkitError

__all__ = ["kettles"]  # a fixture
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


def page_of(build, **how):
    path = build.path / "page.html"
    export_review(build, "review", path, **how)
    return path


def test_neither_labels_nor_ids_are_in_the_page(kettles):
    path = page_of(kettles(3))
    held = json.dumps(page_data(path))
    words = ("gold", "neg-1", "target", "right", "k0", "accepted", "another passage", "find it invalid")
    assert not [word for word in words if word in held]
    assert "gold" not in path.read_text()


def test_the_page_runs_its_own_script_and_style_and_asks_nobody(kettles):
    text = page_of(kettles(1)).read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        [content] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.findall(r"(?:src|href)=|https?://|innerHTML|\beval\b", text)


def test_the_same_items_give_the_same_bytes(kettles):
    build = kettles(3)
    assert page_of(build).read_bytes() == page_of(build).read_bytes()


def test_what_does_not_fit_into_a_page_is_refused_and_nothing_is_written(kettles):
    build = kettles(2)
    rows = [{"id": str(number), "fields": {**fields(number), "query": "x" * 5_000_000}} for number in range(2)]
    (build.path / "items.json").write_text(json.dumps(rows))
    build.run()
    with pytest.raises(ToolkitError, match=r"the page would have 10\.\d MB with its 2 items"):
        page_of(build)
    assert not (build.path / "reviews" / "exports").exists()
    assert page_of(build, first=1).exists()


@pytest.fixture
def browser(chrome, tmp_path):
    """Chromium that saves files into a folder, `browser.saved`."""
    chrome.saved = tmp_path / "saved"
    chrome.saved.mkdir()
    settings = {"behavior": "allow", "downloadPath": str(chrome.saved)}
    chrome.execute_cdp_cmd("Browser.setDownloadBehavior", settings)
    chrome.get_log("browser")
    yield chrome
    as_it_was(chrome)
    assert [line for line in chrome.get_log("browser") if line["level"] in ("SEVERE", "WARNING")] == []


def text_of(chrome, name):
    return chrome.execute_script("return document.getElementById(arguments[0]).textContent", name)


def press(chrome, *keys):
    from selenium.webdriver import ActionChains

    for key in keys:
        ActionChains(chrome).send_keys(key).perform()


def name_field(chrome):
    """The field of the reviewer's name, once it has the focus: on a busy machine the first letters came too early."""
    field = chrome.find_element("id", "name")
    wait(chrome, lambda: chrome.switch_to.active_element == field)
    return field


def begin(chrome, path, name):
    from selenium.webdriver import Keys

    def opened_as_new():
        chrome.get(path.as_uri())
        kept = chrome.execute_script("const kept = localStorage.length; localStorage.clear(); return kept")
        return kept == 0

    wait(chrome, opened_as_new)  # a page may still be given what the one before it has cleared
    field = name_field(chrome)
    press(chrome, *name)
    assert not name or field.get_attribute("value") == name  # of a list of reviewers one is chosen already
    press(chrome, Keys.ENTER)
    wait(chrome, lambda: text_of(chrome, "about"))


def digits(chrome):
    """Number of each choice of the item that is shown, by its text."""
    texts_of = "set => [...set.querySelectorAll('.option')].map(one => one.textContent)"
    found = chrome.execute_script(f"return [...document.querySelectorAll('fieldset')].map({texts_of})")
    return [{text: str(number) for number, text in enumerate(texts, 1)} for texts in found]


def shown_order(chrome, count):
    orders = []
    for _ in range(count):
        orders.append((chrome.execute_script("return document.querySelector('dd').textContent"), tuple(digits(chrome)[1])))
        press(chrome, "n")
    return orders


def file_saved(chrome):
    """The file that the page saves, once it is whole: Chromium takes its name with an empty one and renames what it wrote."""
    return wait(chrome, lambda: next((path for path in chrome.saved.glob("*.json") if path.stat().st_size), None))


@needs_chromium
def test_three_items_are_reviewed_by_keyboard_alone_and_imported(kettles, browser):
    build = kettles(3, reviewers=1)
    begin(browser, page_of(build), "Ada")
    assert text_of(browser, "about") == "Ada: 0 of 3 items answered"
    for number, (valid, best) in enumerate((("Yes", "descale with vinegar"), ("No", "boil eggs"), ("Yes", "a red one"))):
        first, second = digits(browser)
        press(browser, first[valid], second[best], "n" if number < 2 else "u")
    assert text_of(browser, "about") == "Ada: 3 of 3 items answered"
    press(browser, "s")
    path = file_saved(browser)
    assert path.name == "form.Ada.json"
    assert import_review(build, [path]).new == 3
    chosen = sorted((each.choices["valid"], each.choices["best"]) for each in read_answers(build.path, "review"))
    assert chosen == sorted([("yes", "gold-doc"), ("no", "neg-2"), ("yes", "neg-1")])
    build.run()
    assert build.files["review"].record().rejected == {"people find it invalid": 1, "another passage": 1}


@needs_chromium
def test_an_answer_is_written_and_letters_in_it_are_no_keys(kettles, browser):
    from selenium.webdriver import Keys

    build = kettles(2, WRITTEN, reviewers=1)
    page = page_of(build)
    begin(browser, page, "Ada")
    press(browser, "1", *"n 1: سلام", Keys.TAB)
    assert text_of(browser, "about") == "Ada: 1 of 2 items answered"
    press(browser, Keys.TAB, "n", "1", "x", Keys.BACKSPACE)  # nothing is left of the second one
    assert text_of(browser, "about") == "Ada: 1 of 2 items answered"
    browser.find_element("id", "save").click()
    path = file_saved(browser)
    done = import_review(build, [path])
    assert (done.new, done.partial) == (1, 1)
    [answer] = read_answers(build.path, "review")
    assert answer.choices == {"valid": "yes", "better": "n 1: سلام"}
    begin(browser, page, "Ada")
    browser.find_element("id", "load").send_keys(str(path))
    wait(browser, lambda: "Loaded: answers to 2 items" in text_of(browser, "said"))
    written = "return [...document.querySelectorAll('fieldset textarea')].map(one => one.value)"
    press(browser, "p")
    shown = browser.execute_script(written)
    press(browser, "n")
    assert sorted([*shown, *browser.execute_script(written)]) == ["", "n 1: سلام"]


@needs_chromium
def test_tab_and_blank_are_enough_too_and_keys_in_a_comment_are_letters(kettles, browser):
    from selenium.webdriver import Keys

    begin(browser, page_of(kettles(1)), "Ben")
    press(browser, Keys.TAB, Keys.SPACE, Keys.TAB, Keys.SPACE, Keys.TAB, *"n 1 s")
    assert text_of(browser, "about") == "Ben: 1 of 1 items answered"
    browser.find_element("id", "save").click()
    [row] = json.loads(file_saved(browser).read_text())["answers"]
    assert row["comment"] == "n 1 s"
    assert row["choices"]["valid"] == "yes"


@needs_chromium
def test_keys_can_be_turned_off(kettles, browser):
    begin(browser, page_of(kettles(2)), "Ada")
    browser.find_element("id", "keys").click()
    press(browser, "1", "n")
    assert (text_of(browser, "place"), text_of(browser, "about")) == ("Item 1 of 2", "Ada: 0 of 2 items answered")
    browser.find_element("id", "keys").click()
    press(browser, "N")
    assert text_of(browser, "place") == "Item 2 of 2"


@needs_chromium
def test_progress_is_there_when_the_page_is_opened_again(kettles, browser):
    from selenium.webdriver import Keys

    path = page_of(kettles(3))
    begin(browser, path, "Ada")
    press(browser, "1", "1", "n", "2")
    browser.get(path.as_uri())
    assert name_field(browser).get_attribute("value") == "Ada"
    press(browser, Keys.ENTER)
    wait(browser, lambda: text_of(browser, "about"))
    assert text_of(browser, "about") == "Ada: 1 of 3 items answered"
    assert text_of(browser, "place") == "Item 2 of 3"  # the first without all answers
    assert browser.execute_script("return document.querySelectorAll('input[type=radio]:checked').length") == 1


@needs_chromium
def test_a_saved_file_is_loaded_elsewhere_and_others_are_not(kettles, browser):
    build = kettles(3)
    path = page_of(build)
    data = page_data(path)
    begin(browser, path, "Ada")
    load = browser.find_element("id", "load")
    good = saved(data, "Ada", agreeing)
    wrong = {
        "that of Ben": {**good, "reviewer": "Ben"},
        "other items": {**good, "export": "0" * 16},
        "does not know": {**good, "answers": [{"item": data["items"][0]["key"], "choices": {"valid": "maybe"}, "comment": ""}]},
        "no file that": [1],
    }
    for words, content in wrong.items():
        load.send_keys(str(write_saved(build.path / "load.json", content)))
        wait(browser, lambda words=words: words in text_of(browser, "said"))
        assert text_of(browser, "about") == "Ada: 0 of 3 items answered"
    load.send_keys(str(write_saved(build.path / "load.json", good)))
    wait(browser, lambda: text_of(browser, "about") == "Ada: 3 of 3 items answered")


@needs_chromium
def test_each_reviewer_has_an_order_of_items_and_options_and_always_the_same(kettles, browser):
    path = page_of(kettles(8))
    orders = {}
    for name in ("Ada", "Ben"):
        begin(browser, path, name)
        orders[name] = shown_order(browser, 8)
        begin(browser, path, name)
        assert shown_order(browser, 8) == orders[name]
    assert sorted(item for item, _ in orders["Ada"]) == sorted(item for item, _ in orders["Ben"])
    assert [item for item, _ in orders["Ada"]] != [item for item, _ in orders["Ben"]]
    assert dict(orders["Ada"]) != dict(orders["Ben"])


@needs_chromium
def test_texts_from_outside_are_text(kettles, browser):
    build = kettles(1, {**FORM, "title": HOSTILE, "introduction": HOSTILE})
    rows = [
        {
            "id": "x",
            "fields": {
                **fields(0),
                "query": HOSTILE,
                "passages": [{"id": each, "text": HOSTILE + each} for each in "ab"],
                "target": "a",
            },
        }
    ]
    (build.path / "items.json").write_text(json.dumps(rows))
    build.run()
    begin(browser, page_of(build, reviewers=[HOSTILE[:90], "Ben"]), "")
    assert browser.title == HOSTILE
    assert browser.execute_script("return document.querySelector('dd').textContent") == HOSTILE
    assert browser.execute_script("return document.images.length + document.scripts.length") == 2


@needs_chromium
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_it_can_be_read_on_a_phone_and_in_the_dark(kettles, browser, width, scheme):
    path = page_of(kettles(3))
    begin(browser, path, "Ada")
    show(browser, path, width, scheme)
    for seen in (5, 15):
        document, window, beyond = too_wide(browser)
        assert document <= window, beyond
        count, low = low_contrast(browser)
        assert count > seen
        assert low == []
        browser.execute_script("document.getElementById('start').requestSubmit()")
        press(browser, "1")
