"""How much of a question's perspectives the top of a ranking holds: MRecall, PerspectiveP, ARecall, weighted alpha-nDCG.

Sources: BERDS (arXiv 2409.18110), MRecall after Min et al. 2021; BRIGHT-Pro (arXiv 2605.04018), whose perspectives are aspects
with weights, after Clarke et al. 2008. The second column of the qrels names the perspective; a document holds it where its
label is above 0. All give (queries,) float64; a question that the run lacks gets 0.
"""

import math

import numpy as np

from toolkit.metrics.families.join import Positions, starts


def mrecall(positions: Positions, cutoff: int) -> np.ndarray:
    """MRecall@k: 1 where the top k cover all m perspectives (m <= k) or at least k of them (m > k), else 0.

    m counts every perspective that is named for the question, also one that no judged document holds.
    """
    covering = _covering(positions, cutoff)
    covered = _distinct(positions, positions.subtopics, covering)
    named = _distinct(positions, positions.subtopics, np.ones_like(covering))
    return (covered >= np.minimum(named, cutoff)).astype(np.float64)


def perspective_precision(positions: Positions, cutoff: int) -> np.ndarray:
    """PerspectiveP@k: the share of the top k that holds any perspective of the question; the denominator is k."""
    return _distinct(positions, positions.docs, _covering(positions, cutoff)) / cutoff


def aspect_recall(positions: Positions, cutoff: int) -> np.ndarray:
    """A-Recall@k (BRIGHT-Pro, eq. 5): the sum of the shares of the aspects that a document of the top k holds.

    The shares of a question's aspects sum to 1, those that no document holds among them: `Positions.shares`.
    """
    rows = np.flatnonzero(_covering(positions, cutoff))
    (queries, _), first = np.unique(np.stack([positions.queries[rows], positions.subtopics[rows]]), axis=1, return_index=True)
    return np.bincount(queries, positions.shares()[rows[first]], minlength=len(positions.query_ids))


def weighted_alpha_ndcg(positions: Positions, cutoff: int, alpha: float = 0.5) -> np.ndarray:
    """alpha-nDCG@k with a weight for each aspect (BRIGHT-Pro; Clarke et al. 2008 where all weigh the same).

    A document gains, for each aspect that it holds, share * (1 - alpha)^(documents above it that hold the aspect), over
    log2(rank + 1). The ideal ranking takes the document of the greatest gain at each rank; of equal ones that of the greatest
    id, as ndeval does. 0 where no document holds an aspect.
    """
    shares = positions.shares()
    gained = _alpha_dcg(positions, shares, np.flatnonzero(_covering(positions, cutoff)), positions.ranks, alpha)
    ideal = _alpha_dcg(positions, shares, *_ideal(positions, shares, cutoff, alpha), alpha)
    return np.divide(gained, ideal, out=np.zeros(len(gained)), where=ideal > 0)


def _alpha_dcg(positions: Positions, shares: np.ndarray, rows: np.ndarray, ranks: np.ndarray, alpha: float) -> np.ndarray:
    """(queries,) float64 of these rows, `ranks` parallel to all rows."""
    rows = rows[np.lexsort((ranks[rows], positions.subtopics[rows], positions.queries[rows]))]
    queries, subtopics = positions.queries[rows], positions.subtopics[rows]
    places = np.arange(len(rows))
    above = places - np.maximum.accumulate(np.where(starts(queries, subtopics), places, 0))
    discounts = np.array([math.log2(rank + 1) for rank in ranks[rows].tolist()])
    return np.bincount(queries, shares[rows] * (1 - alpha) ** above / discounts, minlength=len(positions.query_ids))


def _ideal(positions: Positions, shares: np.ndarray, cutoff: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """The rows of each query's ideal top k, and ranks for all rows (those of other rows mean nothing)."""
    ranks = np.zeros(len(positions.docs), np.int64)
    chosen: list[int] = []
    held: dict[int, dict[int, list[int]]] = {}  # query -> document -> rows; in the order of document ids
    for row in np.flatnonzero(positions.relevance > 0).tolist():
        held.setdefault(int(positions.queries[row]), {}).setdefault(int(positions.docs[row]), []).append(row)
    for documents in held.values():
        left, factors = dict(documents), {}
        for rank in range(1, min(cutoff, len(documents)) + 1):
            gains = {
                doc: math.fsum(shares[row] * factors.get(positions.subtopics[row], 1.0) for row in rows)
                for doc, rows in left.items()
            }
            for row in left.pop(max(reversed(gains), key=gains.__getitem__)):
                ranks[row] = rank
                chosen.append(row)
                factors[positions.subtopics[row]] = factors.get(positions.subtopics[row], 1.0) * (1 - alpha)
    return np.array(sorted(chosen), np.int64), ranks


def _covering(positions: Positions, cutoff: int) -> np.ndarray:
    """(n,) bool: a document of the top k that holds the row's perspective."""
    return (positions.relevance > 0) & ~positions.missing & (positions.ranks <= cutoff)


def _distinct(positions: Positions, codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(queries,) int64: how many different codes each query has among these rows."""
    queries, _ = np.unique(np.stack([positions.queries[rows], codes[rows]]), axis=1)
    return np.bincount(queries, minlength=len(positions.query_ids))
