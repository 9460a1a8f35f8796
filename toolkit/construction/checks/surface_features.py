"""What can be seen of a text without reading it: length, punctuation, its first word, n-grams of words and of characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack

LONGEST = 20_000  # characters of a text that n-grams are taken from
TERMS = 10_000  # n-grams of words, and of characters: the most frequent
WORD = re.compile(r"\w+")
SENTENCES = re.compile(r"[.!?。！？؟]+(?:\s|$)|\n+")
SIGNS = {
    "full stops": ".。",
    "commas": ",，、،",
    "question marks": "?？؟",
    "exclamation marks": "!！",
    "colons and semicolons": ":;：；؛",
    "quotation marks": '"“”„«»「」',
    "apostrophes": "'’",
    "brackets": "()[]（）",
    "dashes": "-–—",
    "signs of code": "{}<>=_/\\|#*`$",
}


def _words(text: str) -> int:
    return len(WORD.findall(text))


def _word_length(text: str) -> float:
    words = WORD.findall(text)
    return sum(map(len, words)) / max(len(words), 1)


def _sentence_length(text: str) -> float:
    return _words(text) / max(sum(1 for part in SENTENCES.split(text) if part.strip()), 1)


def _repeated(text: str) -> float:
    words = WORD.findall(text.lower())
    return 1 - len(set(words)) / max(len(words), 1)


def _lines(text: str) -> int:
    return text.count("\n") + 1


# what is counted of a text; capitals, digits and signs are shares of its characters
COUNTS: dict[str, Callable[[str], float]] = {
    "words": _words,
    "characters": len,
    "letters a word": _word_length,
    "words a sentence": _sentence_length,
    "repeated words": _repeated,
    "lines": _lines,
    "capitals": lambda text: sum(map(str.isupper, text)) / max(len(text), 1),
    "digits": lambda text: sum(map(str.isdigit, text)) / max(len(text), 1),
    **{name: lambda text, signs=signs: sum(map(text.count, signs)) / max(len(text), 1) for name, signs in SIGNS.items()},
}


LENGTH, PUNCTUATION, FIRST_WORDS, NGRAMS = "length", "punctuation", "first words", "n-grams"
KINDS = (LENGTH, PUNCTUATION, FIRST_WORDS, NGRAMS)
FIRST_WORD = "first word"  # how names of features begin that are one
OF_WORDS = ("letters a word", "words a sentence", "repeated words")  # counts that tell of the words, as n-grams do


def kind_of(name: str) -> str:
    """Which of `KINDS` a feature is of, by its name."""
    if name in COUNTS and name not in OF_WORDS:
        return LENGTH if name in ("words", "characters") else PUNCTUATION
    return FIRST_WORDS if name.startswith(FIRST_WORD) else NGRAMS


class Features(NamedTuple):
    """The features of n texts.

    counts  (n, len(COUNTS)) float64; of one kind, fewer
    terms   (n, t) 0 or 1: whether a text has an n-gram, or begins with a word
    names   (t,) what the columns of `terms` are: `"you can"`, `first word "the"`, `characters "ing"`
    """

    counts: np.ndarray
    terms: csr_matrix
    names: Sequence[str]

    def of_kind(self, kind: str) -> Features:
        """Those of one of `KINDS` alone, of features of all."""
        counts, terms = ([place for place, name in enumerate(each) if kind_of(name) == kind] for each in (COUNTS, self.names))
        return Features(self.counts[:, counts], self.terms[:, terms], [self.names[place] for place in terms])


def features(texts: Sequence[str]) -> Features:
    """The features of all texts; n-grams that one text alone has are left out."""
    from sklearn.feature_extraction.text import CountVectorizer

    shortened = [text[:LONGEST] for text in texts]
    kinds = {
        '"{}"': (CountVectorizer(ngram_range=(1, 2), token_pattern=WORD.pattern, **_COMMON), shortened),
        FIRST_WORD + ' "{}"': (CountVectorizer(token_pattern=WORD.pattern, **_COMMON), list(map(_first_word, shortened))),
        'characters "{}"': (CountVectorizer(analyzer="char_wb", ngram_range=(3, 4), **_COMMON), shortened),
    }
    matrices, names = [], []
    for form, (vectorizer, given) in kinds.items():
        try:
            matrices.append(vectorizer.fit_transform(given))
        except ValueError:  # no n-gram is in two texts
            continue
        names += [form.format(term) for term in vectorizer.get_feature_names_out()]
    counts = np.array([[count(text) for count in COUNTS.values()] for text in texts], float).reshape(-1, len(COUNTS))
    terms = hstack(matrices, format="csr") if matrices else csr_matrix((len(texts), 0))
    return Features(counts, terms, names)


_COMMON = {"binary": True, "min_df": 2, "max_features": TERMS, "lowercase": True, "dtype": np.float64}


def _first_word(text: str) -> str:
    found = WORD.search(text)
    return found[0] if found else ""
