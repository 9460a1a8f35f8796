"""BM25 as rank_bm25's BM25Okapi computes it, over words as InfoSearch's released code makes them.

Sources: rank_bm25 0.2.2 (BM25Okapi, whose formula is ATIRE's: Trotman, Puurula and Burgess, ADCS 2014); InfoSearch's
evaluation/models/bm25/evaluate_bm25.py at 25179c1.
"""

import math
import string
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry import FOLDER

NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def words(text: str) -> list[str]:
    """The words of a text, in this order: lower case, split at blanks, stop words out, stems, punctuation out, empty ones out.

    Only blanks divide: a word with its comma is no stop word and is stemmed with the comma, and words on both sides of a
    line's end are one. That is what the released code does.
    """
    stems = (stem(word) for word in text.lower().split(" ") if word not in stop_words())
    return [word for word in " ".join(stems).translate(NO_PUNCTUATION).split(" ") if word]


@cache
def stem(word: str) -> str:
    """The stem of a word in lower case by NLTK's `PorterStemmer()`, on which InfoSearch's BM25 rests: not Lucene's."""
    return _stemmer().stem(word)


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer  # which takes a second

    return PorterStemmer()


@cache
def stop_words() -> frozenset[str]:
    """NLTK's 179 English stop words of 2024."""
    return frozenset(read_yaml(FOLDER / "words" / "english-stop-words.yaml")["words"].split())


class Okapi:
    """BM25 over all documents of a collection.

    The idf of a term in n of N documents is ln(N - n + 0.5) - ln(n + 0.5); where that is negative (terms in more than
    half of the documents) it is `epsilon` times the mean idf of all terms. A document's weight for it is idf * tf * (k1 + 1)
    / (tf + k1 * (1 - b + b * length / mean length)). A query's term counts as often as the query has it.
    """

    def __init__(self, documents: Sequence[Sequence[str]], *, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25):
        lengths = np.array([len(document) for document in documents])
        mean = lengths.sum() / len(documents) or 1.0  # no document has a word: nothing is divided by it either
        norms = k1 * (1 - b + b * lengths / mean)
        places: dict[str, list[int]] = {}
        counts: dict[str, list[int]] = {}
        for place, document in enumerate(documents):
            for word, count in Counter(document).items():
                places.setdefault(word, []).append(place)
                counts.setdefault(word, []).append(count)
        self._documents = len(documents)
        self._postings: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        frequencies = {word: len(holding) for word, holding in places.items()}
        idfs = {word: math.log(len(documents) - n + 0.5) - math.log(n + 0.5) for word, n in frequencies.items()}
        total = 0.0
        for idf in idfs.values():  # `sum` rounds differently from Python 3.12 on
            total += idf
        floor = epsilon * (total / max(1, len(idfs)))
        for word, usual in idfs.items():
            holding, tf, idf = np.array(places[word]), np.array(counts[word]), floor if usual < 0 else usual
            self._postings[word] = holding, idf * (tf * (k1 + 1) / (tf + norms[holding]))

    def scores(self, query: Sequence[str]) -> np.ndarray:
        """The score of every document, in their order: (n,) float64; 0 where it has no word of the query."""
        scores = np.zeros(self._documents)
        for word in query:
            if word in self._postings:
                places, weights = self._postings[word]
                scores[places] += weights
        return scores
