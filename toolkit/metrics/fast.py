"""nDCG, P, R, RR, AP, Success and Judged, a column at a time, with trec_eval's values.

Each function takes the positions of documents (one row a judged query and document) and gives (queries,) float64,
parallel to their query_ids; a query that the run lacks gets 0. Unjudged documents need no row: all these measures know
of them is that they take ranks. A cutoff of None means the whole ranking.
"""

import math
from collections.abc import Callable

import numpy as np

from toolkit.metrics.families.join import Positions

EVERYTHING = np.iinfo(np.int64).max


def ndcg(positions: Positions, cutoff: int | None = None) -> np.ndarray:
    """nDCG with the label as gain (labels below 1 gain nothing) and 1 / log2(rank + 1) as discount."""
    gains = np.maximum(positions.relevance, 0)
    if cutoff not in positions.ideals:  # the same of every run
        positions.ideals[cutoff] = _ideal(positions, gains, cutoff, _log_discount)
    found = _discounted(positions, np.where(retrieved(positions, cutoff), gains, 0), positions.ranks, _log_discount)
    return ratio(found, positions.ideals[cutoff])


def precision(positions: Positions, cutoff: int, rel: int = 1) -> np.ndarray:
    """P@k: relevant documents in the top k, over k."""
    return _hits(positions, cutoff, rel) / cutoff


def recall(positions: Positions, cutoff: int, rel: int = 1) -> np.ndarray:
    """R@k: the share of the relevant documents that is in the top k; 0 where none is relevant."""
    return ratio(_hits(positions, cutoff, rel), positions.total(positions.relevance >= rel))


def success(positions: Positions, cutoff: int, rel: int = 1) -> np.ndarray:
    """Success@k: 1 where a relevant document is in the top k."""
    return (_hits(positions, cutoff, rel) > 0).astype(np.float64)


def reciprocal_rank(positions: Positions, cutoff: int | None = None, rel: int = 1) -> np.ndarray:
    """RR and RR@k: 1 / rank of the first relevant document, 0 where none is retrieved (within k)."""
    hits = retrieved(positions, cutoff) & (positions.relevance >= rel)
    best = np.zeros(len(positions.query_ids))
    np.maximum.at(best, positions.queries[hits], 1 / positions.ranks[hits])
    return best


def average_precision(positions: Positions, cutoff: int | None = None, rel: int = 1) -> np.ndarray:
    """AP and AP@k: precision at each relevant document retrieved (within k), over all relevant documents."""
    hits = retrieved(positions, cutoff) & (positions.relevance >= rel)
    queries, ranks = positions.queries[hits], positions.ranks[hits]
    order = np.lexsort((ranks, queries))
    queries, ranks = queries[order], ranks[order]
    sizes = np.bincount(queries, minlength=len(positions.query_ids))
    hits_so_far = np.arange(len(ranks)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    precisions = np.bincount(queries, hits_so_far / ranks, minlength=len(positions.query_ids))
    return ratio(precisions, positions.total(positions.relevance >= rel))


def judged(positions: Positions, cutoff: int | None = None) -> np.ndarray:
    """Judged@k: the share of the top k (or of all retrieved, where that is less) that has a label."""
    return ratio(positions.total(retrieved(positions, cutoff)), np.minimum(positions.lengths, cutoff or EVERYTHING))


def retrieved(positions: Positions, cutoff: np.ndarray | int | None) -> np.ndarray:
    """(n,) bool: rows whose document is in the top k."""
    return ~positions.missing & _within(positions.ranks, cutoff)


def _within(ranks: np.ndarray, cutoff: np.ndarray | int | None) -> np.ndarray:
    return ranks <= (EVERYTHING if cutoff is None else cutoff)


def _hits(positions: Positions, cutoff: int, rel: int) -> np.ndarray:
    return positions.total(retrieved(positions, cutoff) & (positions.relevance >= rel))


def _log_discount(rank: int) -> float:
    return math.log2(rank + 1)


def normalised(
    positions: Positions,
    gains: np.ndarray,
    possible: np.ndarray,
    cutoff: np.ndarray | int | None,
    discount: Callable[[int], float] = _log_discount,
) -> np.ndarray:
    """The discounted sum of `gains` over that of `possible` gains in the ideal ranking, each query's rows by falling gain."""
    return ratio(_discounted(positions, gains, positions.ranks, discount), _ideal(positions, possible, cutoff, discount))


def _ideal(
    positions: Positions, possible: np.ndarray, cutoff: np.ndarray | int | None, discount: Callable[[int], float]
) -> np.ndarray:
    best = np.lexsort((-possible, positions.queries))
    sizes = np.bincount(positions.queries, minlength=len(positions.query_ids))
    ranks = np.empty(len(best), np.int64)
    ranks[best] = np.arange(len(best)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    return _discounted(positions, np.where(_within(ranks, cutoff), possible, 0), ranks, discount)


def _discounted(positions: Positions, gains: np.ndarray, ranks: np.ndarray, discount: Callable[[int], float]) -> np.ndarray:
    rows = np.flatnonzero(gains)  # what gains nothing adds 0: most of a reference's documents stand below the cutoff
    # numpy's log2 gives another last digit in its vector loop than in its tail: the same rank must count the same
    distinct, places = np.unique(ranks[rows], return_inverse=True)
    discounts = np.array([discount(rank) for rank in distinct.tolist()], np.float64)
    return np.bincount(positions.queries[rows], gains[rows] / discounts[places], minlength=len(positions.query_ids))


def ratio(parts: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    """Parts over wholes; 0 where the whole is 0."""
    return np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes > 0)
