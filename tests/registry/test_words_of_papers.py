"""What is sent and shown here is worded here: no prompt, form or list of items repeats a paper's sentence."""

import re
from pathlib import Path

import pytest

from toolkit.registry import FOLDER

PAPERS = Path(__file__).resolve().parents[3] / "shared" / "papers"
WORDS = 8  # in a row: shorter runs are terms of the field, and names
TEXTS = sorted(FOLDER.glob("prompts/*.yaml")) + sorted(FOLDER.glob("forms/*.yaml"))


def runs_of_words(text):
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)}


@pytest.mark.skipif(not PAPERS.is_dir(), reason="no shared data beside the checkout")
def test_no_eight_words_of_a_paper_in_a_row():
    printed = set().union(*(runs_of_words(path.read_text()) for path in PAPERS.glob("*.txt")))
    assert len(printed) > 10_000
    texts = [*TEXTS, FOLDER / "published" / "prompts.yaml", FOLDER / "coverage.yaml"]
    assert {path.name: found for path in texts if (found := sorted(runs_of_words(path.read_text()) & printed))} == {}
