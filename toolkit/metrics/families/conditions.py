"""Are documents ordered by how many conditions of the query they meet, and does another phrasing change that order?

Source: MultiConIR (arXiv 2503.08046), tasks 1 to 3. The label of a document says how many conditions it meets; only judged
documents are compared, each with those of the next lower label that the query has.
"""

import itertools

import numpy as np

from toolkit.metrics.families.join import Positions

Comparisons = dict[tuple[int, int], bool]  # (document, document of the next lower label) -> whether the first stands above


def monotonicity(positions: Positions) -> np.ndarray:
    """(queries,) float64: the share of comparisons in which the document of the higher label stands above the other.

    With one document of each label these are the adjacent pairs of task 2; with two labels the win rate of task 1. Two
    documents that are not retrieved are in no order: lost. NaN for a query whose documents all have one label.
    """
    found = [_comparisons(positions, rows) for rows in _rows_by_query(positions)]
    return np.array([sum(won.values()) / len(won) if won else np.nan for won in found], np.float64)


def flips(positions: Positions, base: np.ndarray, changed: np.ndarray) -> np.ndarray:
    """(pairs,) float64: the share of comparisons that come out differently in two phrasings of a query (task 3).

    base, changed  (pairs,) codes of the queries in `positions`
    Only comparisons that both phrasings have count; NaN where there is none.
    """
    rows = _rows_by_query(positions)
    values = []
    for first, second in zip(base.tolist(), changed.tolist(), strict=True):
        one, other = (_comparisons(positions, rows[query]) for query in (first, second))
        both = [pair for pair in one if pair in other]
        values.append(sum(one[pair] != other[pair] for pair in both) / len(both) if both else np.nan)
    return np.array(values, np.float64)


def _rows_by_query(positions: Positions) -> list[np.ndarray]:
    ends = np.cumsum(np.bincount(positions.queries, minlength=len(positions.query_ids)))
    return np.split(np.arange(len(positions.queries)), ends[:-1])[: len(ends)]


def _comparisons(positions: Positions, rows: np.ndarray) -> Comparisons:
    by_label: dict[int, list[int]] = {}
    for row in rows.tolist():
        by_label.setdefault(int(positions.relevance[row]), []).append(row)
    return {
        (int(positions.docs[high]), int(positions.docs[low])): bool(positions.ranks[high] < positions.ranks[low])
        for label, lower in itertools.pairwise(sorted(by_label, reverse=True))
        for high in by_label[label]
        for low in by_label[lower]
    }
