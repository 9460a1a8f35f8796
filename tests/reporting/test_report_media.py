"""The page on a phone, in the dark and on paper."""

import re
import shutil
import struct
from pathlib import Path

import pytest
from chromium import needs_chromium
from command import tandem
from legible import SCHEMES, WIDTHS, as_it_was, low_contrast, printed, screenshot, show, too_wide, unfold

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
RUNS = [BASELINES / f"infosearch-mini.{name}.v2.trec.gz" for name in ("bm25", "bm25+rules", "all-minilm-l6-v2")]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("media") / "page.html"
    tandem("report", *RUNS, "--benchmark", "infosearch-mini", "--output", path, check=True)
    return path


@pytest.fixture
def browser(chrome):
    yield chrome
    as_it_was(chrome)


@needs_chromium
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window_and_every_text_is_in_contrast(browser, path, width, scheme):
    show(browser, path, width, scheme)
    for open_all in (False, True):
        if open_all:
            unfold(browser)
        document, window, beyond = too_wide(browser)
        assert document <= window, beyond
        seen, low = low_contrast(browser)
        assert seen > 100
        assert low == []
    shot = screenshot(browser)
    assert struct.unpack(">I", shot[16:20])[0] == window  # in the header of a PNG; without the scroll bar


@needs_chromium
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext: apt-get install poppler-utils")
def test_paper_repeats_heads_keeps_records_folded_and_leaves_no_page_empty(browser, path, tmp_path):
    pages = printed(browser, path, tmp_path)
    assert len(pages) < 25
    assert [number for number, words in enumerate(pages, 1) if len(re.findall(r"\w+", words)) < 12] == []
    assert not any("sha256:" in words for words in pages)  # of a record
    # a table that goes on over a page has its heads there again
    assert sum("Robustness@10" in words and re.search(r"(?m)^\s*system\b", words) is not None for words in pages) > 1
