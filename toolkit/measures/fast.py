"""nDCG, P, R, RR, AP, Success and Judged, a column at a time, with trec_eval's values.

Each function takes the positions of documents (one row a judged query and document) and gives (queries,) float64,
parallel to their query_ids; a query that the run lacks gets 0. Unjudged documents need no row: all these measures know
of them is that they take ranks. A cutoff of None means the whole ranking.
"""

from __future__ import annotations

import math

import numpy as np

from toolkit.measures.join import Positions

EVERYTHING = np.iinfo(np.int64).max


def ndcg(found: Positions, cutoff: int | None = None) -> np.ndarray:
    """nDCG with the label as gain (labels below 1 gain nothing) and 1 / log2(rank + 1) as discount."""
    gains = np.maximum(found.relevance, 0)
    # the ideal ranking: each query's rows by falling gain
    best = np.lexsort((-gains, found.queries))
    sizes = np.bincount(found.queries, minlength=len(found.query_ids))
    ideal_ranks = np.empty(len(best), np.int64)
    ideal_ranks[best] = np.arange(len(best)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    ideal = found.total(_discounted(gains, ideal_ranks, _within(ideal_ranks, cutoff)))
    return _ratio(found.total(_discounted(gains, found.ranks, _retrieved(found, cutoff))), ideal)


def precision(found: Positions, cutoff: int, rel: int = 1) -> np.ndarray:
    """P@k: relevant documents in the top k, over k."""
    return _hits(found, cutoff, rel) / cutoff


def recall(found: Positions, cutoff: int, rel: int = 1) -> np.ndarray:
    """R@k: the share of the relevant documents that is in the top k; 0 where none is relevant."""
    return _ratio(_hits(found, cutoff, rel), found.total(found.relevance >= rel))


def success(found: Positions, cutoff: int, rel: int = 1) -> np.ndarray:
    """Success@k: 1 where a relevant document is in the top k."""
    return (_hits(found, cutoff, rel) > 0).astype(np.float64)


def reciprocal_rank(found: Positions, cutoff: int | None = None, rel: int = 1) -> np.ndarray:
    """RR and RR@k: 1 / rank of the first relevant document, 0 where none is retrieved (within k)."""
    hits = _retrieved(found, cutoff) & (found.relevance >= rel)
    best = np.zeros(len(found.query_ids))
    np.maximum.at(best, found.queries[hits], 1 / found.ranks[hits])
    return best


def average_precision(found: Positions, cutoff: int | None = None, rel: int = 1) -> np.ndarray:
    """AP and AP@k: precision at each relevant document retrieved (within k), over all relevant documents."""
    hits = _retrieved(found, cutoff) & (found.relevance >= rel)
    queries, ranks = found.queries[hits], found.ranks[hits]
    order = np.lexsort((ranks, queries))
    queries, ranks = queries[order], ranks[order]
    sizes = np.bincount(queries, minlength=len(found.query_ids))
    seen = np.arange(len(ranks)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    precisions = np.bincount(queries, seen / ranks, minlength=len(found.query_ids))
    return _ratio(precisions, found.total(found.relevance >= rel))


def judged(found: Positions, cutoff: int | None = None) -> np.ndarray:
    """Judged@k: the share of the top k (or of all retrieved, where that is less) that has a label."""
    return _ratio(found.total(_retrieved(found, cutoff)), np.minimum(found.lengths, cutoff or EVERYTHING))


def _within(ranks: np.ndarray, cutoff: int | None) -> np.ndarray:
    return ranks <= (EVERYTHING if cutoff is None else cutoff)


def _retrieved(found: Positions, cutoff: int | None) -> np.ndarray:
    return ~found.missing & _within(found.ranks, cutoff)


def _hits(found: Positions, cutoff: int, rel: int) -> np.ndarray:
    return found.total(_retrieved(found, cutoff) & (found.relevance >= rel))


def _discounted(gains: np.ndarray, ranks: np.ndarray, rows: np.ndarray) -> np.ndarray:
    distinct, places = np.unique(ranks, return_inverse=True)
    # numpy's log2 gives another last digit in its vector loop than in its tail: the same rank must count the same
    discounts = np.array([math.log2(rank + 1) for rank in distinct.tolist()])
    return np.where(rows, gains / discounts[places], 0.0)


def _ratio(parts: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    return np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes > 0)
