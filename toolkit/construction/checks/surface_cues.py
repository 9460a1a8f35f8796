"""Surface cues: how well length, punctuation and words alone tell gold documents from the others, and which cue does it best.

A classifier that sees no query is trained on some core queries and asked about the others. Only documents that one and the
same classifier scored are compared, and only those of one condition: what tells an expert's text from a layman's says nothing
of another condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack

from toolkit.construction.checks.judged_texts import NEGATIVES, UNRELATED, Item, JudgedTexts
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.tables.area_under_curve import FAR, SEED, Area, stratified_area
from toolkit.registry.loader import FOLDER

LONGEST = 20_000  # characters of a text that n-grams are taken from
TERMS = 10_000  # n-grams of words, and of characters: the most frequent
WORD = re.compile(r"\w+")
SENTENCES = re.compile(r"[.!?。！？؟]+(?:\s|$)|\n+")
SIGNS = read_yaml(FOLDER / "words" / "signs.yaml")  # what they are called -> the signs


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


# what is counted of a text; capitals, digits and signs are shares of its characters
COUNTS: dict[str, Callable[[str], float]] = {
    "words": _words,
    "characters": len,
    "letters a word": _word_length,
    "words a sentence": _sentence_length,
    "repeated words": _repeated,
    "lines": lambda text: text.count("\n") + 1,
    "capitals": lambda text: sum(map(str.isupper, text)) / max(len(text), 1),
    "digits": lambda text: sum(map(str.isdigit, text)) / max(len(text), 1),
    **{name: lambda text, signs=signs: sum(map(text.count, signs)) / max(len(text), 1) for name, signs in SIGNS.items()},
}


FIRST_WORD = "first word"  # how names of features begin that are one


class Features(NamedTuple):
    """The features of n texts.

    counts  (n, len(COUNTS)) float64
    terms   (n, t) 0 or 1: whether a text has an n-gram, or begins with a word
    names   (t,) what the columns of `terms` are: `"you can"`, `first word "the"`, `characters "ing"`
    """

    counts: np.ndarray
    terms: csr_matrix
    names: Sequence[str]


def features(texts: Sequence[str]) -> Features:
    """The features of all texts; n-grams that one text alone has are left out."""
    from sklearn.feature_extraction.text import CountVectorizer

    shortened = [text[:LONGEST] for text in texts]
    first_words = [(WORD.findall(text) or [""])[0] for text in shortened]
    kinds = {
        '"{}"': (CountVectorizer(ngram_range=(1, 2), token_pattern=WORD.pattern, **_COMMON), shortened),
        FIRST_WORD + ' "{}"': (CountVectorizer(token_pattern=WORD.pattern, **_COMMON), first_words),
        'characters "{}"': (CountVectorizer(analyzer="char_wb", ngram_range=(3, 4), **_COMMON), shortened),
    }
    matrices, names = [], []
    for form, (vectorizer, given) in kinds.items():
        try:
            found = vectorizer.fit_transform(given)
        except ValueError:  # no n-gram is in two texts
            continue
        # the first by alphabet of those as frequent: scikit-learn's max_features takes what the processor's sort does
        kept = np.sort(np.argsort(-np.asarray(found.sum(axis=0)).ravel(), kind="stable")[:TERMS])
        matrices.append(found[:, kept])
        names += [form.format(term) for term in vectorizer.get_feature_names_out()[kept]]
    counts = np.array([[count(text) for count in COUNTS.values()] for text in texts], float).reshape(-1, len(COUNTS))
    terms = hstack(matrices, format="csr") if matrices else csr_matrix((len(texts), 0))
    return Features(counts, terms, names)


_COMMON = {"binary": True, "min_df": 2, "lowercase": True, "dtype": np.float64}


FOLDS = 5
LEAST = 5  # core queries, gold documents and others that a classifier is trained and tested with
STRICTNESS = 10.0  # scikit-learn's C: with 1 a word that every gold document has is hardly learnt from a hundred documents
PERMUTATIONS = 499
AT_ONCE = 50  # of them
SURE = 0.01  # a cue that permuted labels reach more often than this is none
SHARED = 3  # core queries in which an n-gram has to occur to be a cue


class Cue(NamedTuple):
    """The one feature that tells best.

    name  with its direction: `more words`, `has "you can"`, `lacks "you can"`
    area  under its curve, in that direction: at least 0.5
    p     share of permutations of the labels (the given order among them) in which some feature does as well
    """

    name: str
    area: float
    p: float

    @property
    def is_found(self) -> bool:
        """Whether it is one, among so many features, and tells by more than taste."""
        return self.p <= SURE and self.area - 0.5 >= FAR


class SurfaceRow(NamedTuple):
    """How well surface tells gold documents from others; `area` and `cue` are None where there are too few to say.

    others     what gold documents are compared with: `NEGATIVES` or `UNRELATED`
    condition  of the documents; empty for all of the group
    cores      core queries with gold documents
    area       under the curve of the classifier, on core queries that it was not trained with
    """

    group: str
    others: str
    condition: str
    gold: int
    other: int
    cores: int
    area: Area | None = None
    cue: Cue | None = None

    @property
    def is_found(self) -> bool:
        """Whether surface alone tells the two apart: all of it together, or one feature."""
        return bool(self.area and self.cue) and (self.area.is_found or self.cue.is_found)


@dataclass(frozen=True, eq=False)
class Sample:
    """The items of a comparison and their texts, item by item."""

    items: Sequence[Item]
    texts: Sequence[str]

    @cached_property
    def positive(self) -> np.ndarray:
        """(n,) bool: gold."""
        return np.array([item.positive for item in self.items], bool)

    @cached_property
    def features(self) -> Features:
        """Of all texts."""
        return features(self.texts)

    @property
    def cores(self) -> list[str]:
        """(n,) core queries."""
        return [item.core for item in self.items]

    @property
    def strata(self) -> list[str]:
        """(n,) conditions."""
        return [item.stratum for item in self.items]

    @property
    def gold_cores(self) -> int:
        """Core queries with gold documents."""
        return len({item.core for item in self.items if item.positive})

    @property
    def is_enough(self) -> bool:
        """Whether a classifier can be trained and tested."""
        return min(int(self.positive.sum()), int((~self.positive).sum()), self.gold_cores) >= LEAST

    def divided(self) -> dict[str, Sample]:
        """Stratum -> its part, in order of first appearance."""
        rows: dict[str, list[tuple[Item, str]]] = {}
        for item, text in zip(self.items, self.texts, strict=True):
            rows.setdefault(item.stratum, []).append((item, text))
        return {name: Sample(*zip(*pairs, strict=True)) for name, pairs in rows.items()}


def surface_cues(texts: JudgedTexts) -> Iterator[SurfaceRow]:
    """Gold documents against instruction negatives, all and condition by condition, and against unrelated documents.

    What there is none of has no row.
    """
    for others, items in ((NEGATIVES, texts.against_negatives()), (UNRELATED, texts.against_unrelated())):
        if len({item.positive for item in items}) == 2:
            yield from compared(texts.group, others, Sample(items, [texts.docs[item.doc_id].contents for item in items]))


def compared(group: str, others: str, sample: Sample) -> Iterator[SurfaceRow]:
    """The row of a comparison; of several conditions one for all of them, and then one for each that is large enough."""
    enough = {name: part for name, part in sample.divided().items() if part.is_enough}
    parts = list(enough.values()) or [sample]
    whole = Sample([item for part in parts for item in part.items], [text for part in parts for text in part.texts])
    condition = next(iter(enough)) if len(enough) == 1 else ""
    row = SurfaceRow(group, others, condition, int(whole.positive.sum()), int((~whole.positive).sum()), whole.gold_cores)
    if not enough:
        yield row
        return
    scored = {name: held_out_scores(part) for name, part in enough.items()}
    yield row._replace(area=_area(whole, list(scored.values())), cue=best_cue(whole))
    for name, part in enough.items() if len(enough) > 1 else ():
        sizes = {"gold": int(part.positive.sum()), "other": int((~part.positive).sum()), "cores": part.gold_cores}
        yield SurfaceRow(group, others, name, **sizes, area=_area(part, [scored[name]]), cue=best_cue(part))


def _area(sample: Sample, scored: Sequence[Scored]) -> Area:
    """Only what one classifier scored, of one condition, is compared."""
    scores, folds = (np.concatenate(columns) for columns in zip(*scored, strict=True))
    return stratified_area(scores, sample.positive, list(zip(sample.strata, folds.tolist(), strict=True)), sample.cores)


class Scored(NamedTuple):
    """(n,) what the classifier says, the more the likelier gold; (n,) which fold an item was held out in."""

    scores: np.ndarray
    folds: np.ndarray


def held_out_scores(sample: Sample, seen: Features | None = None, seed: int = SEED) -> Scored:
    """Each item scored by a classifier that saw no document of its core query.

    Logistic regression on counts (standardised) and n-grams (by inverse document frequency, rows of unit length).

    seen  the features that it sees; all of the sample's without
    seed  which core queries are held out together
    """
    seen = seen or sample.features
    folds = folds_of(sample.items, seed)
    scores = np.zeros(len(folds))
    for fold in np.unique(folds):
        held_out = folds == fold
        if len(set(sample.positive[~held_out].tolist())) == 2:
            scores[held_out] = _fitted_scores(seen, sample.positive, ~held_out, held_out)
    return Scored(scores, folds)


def folds_of(items: Sequence[Item], seed: int = SEED) -> np.ndarray:
    """(n,) the fold of each item: core queries with gold documents one after the other, then those without."""
    with_gold = dict.fromkeys(item.core for item in items if item.positive)
    without = [core for core in dict.fromkeys(item.core for item in items) if core not in with_gold]
    order = np.random.default_rng(seed)
    fold: dict[str, int] = {}
    for cores in (list(with_gold), without):
        fold |= {cores[place]: number % FOLDS for number, place in enumerate(order.permutation(len(cores)))}
    return np.array([fold[item.core] for item in items], np.int64)


def _fitted_scores(seen: Features, positive: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    counts, terms, _ = seen
    columns = []
    if counts.shape[1]:
        columns.append(csr_matrix(StandardScaler().fit(counts[train]).transform(counts)))
    if terms.shape[1]:
        columns.append(TfidfTransformer().fit(terms[train]).transform(terms))
    if not columns:  # no feature of this kind is in two texts: nothing can be learnt
        return np.zeros(int(test.sum()))
    matrix = hstack(columns, format="csr")
    # of few documents with many features the dual problem is solved in a tenth of the time
    how = {"solver": "liblinear", "dual": True, "max_iter": 10_000, "random_state": 0}
    model = LogisticRegression(C=STRICTNESS, class_weight="balanced", **how)
    return model.fit(matrix[train], positive[train]).decision_function(matrix[test])


def best_cue(sample: Sample) -> Cue:
    """The feature with the largest area within conditions, over all documents: nothing is trained.

    An n-gram has to occur in `SHARED` core queries. The labels are permuted within each condition, and the largest area over
    all features is compared with that of each permutation, so that many features do not make a cue.
    """
    orders = _FeatureOrders(sample)
    given = orders.areas(sample.positive[None].astype(float))[0]
    best = int(np.argmax(np.abs(given)))
    generator, reached, by_stratum = np.random.default_rng(SEED), 0, np.argsort(orders.strata, kind="stable")
    for start in range(0, PERMUTATIONS, AT_ONCE):
        labels = np.empty((min(AT_ONCE, PERMUTATIONS - start), len(sample.positive)))
        for permuted in labels:
            permuted[by_stratum] = sample.positive[np.lexsort((generator.random(len(permuted)), orders.strata))]
        largest = np.abs(orders.areas(labels)).max(axis=1)
        reached += int((largest >= abs(given[best]) - 1e-12).sum())
    more, fewer = ("more", "fewer") if orders.names[best] in COUNTS else ("has", "lacks")
    name = f"{more if given[best] > 0 else fewer} {orders.names[best]}"
    return Cue(name, 0.5 + abs(float(given[best])), (1 + reached) / (1 + PERMUTATIONS))


class _FeatureOrders:
    """What the areas of all features are computed from, for any labels with as many gold documents in each stratum."""

    def __init__(self, sample: Sample):
        from scipy.stats import rankdata

        counts, terms, names = sample.features
        codes = np.unique(sample.cores, return_inverse=True)[1]
        of_core = csr_matrix((np.ones(len(codes)), (codes, range(len(codes)))))
        # the columns of n-grams that occur in enough core queries
        shared = np.flatnonzero(np.asarray(((of_core @ terms) > 0).sum(axis=0)).ravel() >= SHARED)
        self.strata = np.unique(sample.strata, return_inverse=True)[1]
        self.names = [*COUNTS, *(names[place] for place in shared)]
        self._terms = terms[:, shared]
        sizes = np.bincount(self.strata)
        gold = np.bincount(self.strata, weights=sample.positive)
        self._sizes, self._gold, self._pairs = sizes[self.strata], gold[self.strata], float((gold * (sizes - gold)).sum())
        # the rank of each item in its stratum less the mean: summed over gold, the pairs ordered rightly less half of all
        self._ranks = np.empty_like(counts)
        for stratum, size in enumerate(sizes):
            here = self.strata == stratum
            self._ranks[here] = rankdata(counts[here], axis=0) - (size + 1) / 2

    def areas(self, labels: np.ndarray) -> np.ndarray:
        """(p, features): the area of each feature less 0.5, for p rows of labels (p, n).

        Of what a text has or lacks, the ranks follow from two counts: how many have it, and how many gold documents do.
        """
        of_terms = (self._terms.T @ ((labels * self._sizes - self._gold) / 2).T).T
        return np.hstack([labels @ self._ranks, of_terms]) / self._pairs
