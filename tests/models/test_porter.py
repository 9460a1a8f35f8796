"""The stemmer that InfoSearch's BM25 rests on: NLTK's Porter, which is not Lucene's."""

import pytest

from toolkit.models.lucene.okapi import stem

# where NLTK departs from Porter's paper, and from Lucene's stemmer
DEPARTURES = {
    **{"dies": "die", "died": "die", "enjoy": "enjoy", "fly": "fli", "skies": "sky", "ice": "ice", "news": "news"},
    **{"as": "as", "possibly": "possibl", "fulfilling": "fulfil", "geology": "geolog", "proceed": "proceed"},
}


@pytest.mark.parametrize(("word", "expected"), DEPARTURES.items())
def test_words_are_stemmed_as_nltk_stems_them(word, expected):
    assert stem(word) == expected
