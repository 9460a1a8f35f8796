"""Our Porter stemmer beside NLTK's, which InfoSearch's BM25 used: the same stem for every word."""

import re
from pathlib import Path

import pytest
from nltk.stem.porter import PorterStemmer

import toolkit
from toolkit.models.lucene.porter import stem

CORPORA = Path(toolkit.__file__).parent / "datasets" / "corpora"
# of Porter's steps 1 to 5 and of NLTK's departures
SUFFIXES = [
    "", "sses", "ies", "ss", "s", "eed", "ed", "ing", "ied", "y", "e", "ll", "ational", "tional", "enci", "anci", "izer",
    "bli", "abli", "alli", "entli", "eli", "ousli", "ization", "ation", "ator", "alism", "iveness", "fulness", "ousness",
    "aliti", "iviti", "biliti", "fulli", "logi", "icate", "ative", "alize", "iciti", "ical", "ful", "ness", "al", "ance",
    "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
]  # fmt: skip
# consonants and vowels, doubled letters, y in every place, measures of 0 to 3
STEMS = [
    "", "y", "b", "tr", "ee", "by", "fl", "hop", "fil", "box", "sky", "tann", "fall", "hiss", "fizz", "conflat", "troubl",
    "siz", "oat", "orrer", "ion", "adopt", "invas", "electr", "gener", "oper", "probat", "yyb", "toy",
]  # fmt: skip


def words():
    """Every word of the minis' documents and topics, in lower case; the letters of all their languages."""
    found = set()
    for path in CORPORA.rglob("*.yaml"):
        found.update(re.findall(r"[^\W_]+(?:['’][^\W_]+)*", path.read_text(encoding="utf-8").lower()))
    return found


@pytest.fixture(scope="module")
def nltk_stem():
    return PorterStemmer().stem


def test_every_word_of_the_corpora_has_nltks_stem(nltk_stem):
    found = words()
    assert len(found) > 10_000
    assert {word: stem(word) for word in found} == {word: nltk_stem(word) for word in found}


def test_every_suffix_of_the_rules_is_stripped_as_nltk_strips_it(nltk_stem):
    made = {first + second + third for first in STEMS for second in SUFFIXES for third in ("", "s", "ed", "ing", "ly")}
    assert {word: stem(word) for word in made} == {word: nltk_stem(word) for word in made}
