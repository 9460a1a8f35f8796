"""MRecall and PerspectiveP: does the top of a ranking hold the perspectives of a question?

Source: BERDS (arXiv 2409.18110), MRecall after Min et al. 2021. The second column of the qrels names the perspective; a
document holds it where its label is above 0. Both give (queries,) float64; a question that the run lacks gets 0.
"""

from __future__ import annotations

import numpy as np

from toolkit.measures.join import Positions


def mrecall(positions: Positions, cutoff: int) -> np.ndarray:
    """MRecall@k: 1 where the top k cover all m perspectives (m <= k) or at least k of them (m > k), else 0.

    m counts every perspective that is named for the question, also one that no judged document holds.
    """
    covering = (positions.relevance > 0) & ~positions.missing & (positions.ranks <= cutoff)
    covered = _distinct(positions, positions.subtopics, covering)
    named = _distinct(positions, positions.subtopics, np.ones_like(covering))
    return (covered >= np.minimum(named, cutoff)).astype(np.float64)


def perspective_precision(positions: Positions, cutoff: int) -> np.ndarray:
    """PerspectiveP@k: the share of the top k that holds any perspective of the question; the denominator is k."""
    covering = (positions.relevance > 0) & ~positions.missing & (positions.ranks <= cutoff)
    return _distinct(positions, positions.docs, covering) / cutoff


def _distinct(positions: Positions, codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(queries,) int64: how many different codes each query has among these rows."""
    queries, _ = np.unique(np.stack([positions.queries[rows], codes[rows]]), axis=1)
    return np.bincount(queries, minlength=len(positions.query_ids))
