"""Following, decomposed: do gold documents and instruction negatives change their order, or does the whole topic move?

Ours, of no paper, and experimental; docs/measures.md has the formulas and what they leave out. Every measure here is about the
queries that have both a gold document and an instruction negative.
"""

import numpy as np

from toolkit.metrics.families.pairs import BASE, CHANGED, REVERSED, Pairs


def following(pairs: Pairs) -> np.ndarray:
    """(queries,) in [-1, 1]: by how much more often gold stands above negative under the instruction than under its reverse.

    The mean over pairs of a gold document and a negative of (order when instructed - order when reversed) / 2. NaN for a query
    without such a pair.
    """
    first, second = contests(pairs)
    order = orders(pairs, first, second)
    return _mean_of_contests(pairs, first, (order[:, CHANGED] - order[:, REVERSED]) / 2)


def selection(pairs: Pairs, role: int) -> np.ndarray:
    """(queries,) in [-1, 1]: the share of pairs whose order changes from the base mode as this mode wants, less the others.

    The two modes add up to `following`: what the base mode has right already cannot change and is made up for in the other.
    """
    first, second = contests(pairs)
    order = orders(pairs, first, second)
    wanted = -1 if role == REVERSED else 1
    return _where_compared(pairs, role, _mean_of_contests(pairs, first, wanted * (order[:, role] - order[:, BASE]) / 2))


def gold_move(pairs: Pairs, role: int) -> np.ndarray:
    """(queries,) the mean rise of gold documents from the base mode, in halvings of 1 + rank; below 0 where they fall."""
    return _where_compared(pairs, role, pairs.mean(rises(pairs, role), pairs.gold))


def negative_move(pairs: Pairs, role: int) -> np.ndarray:
    """(queries,) the same of instruction negatives."""
    return _where_compared(pairs, role, pairs.mean(rises(pairs, role), ~pairs.gold))


def topic_shift(pairs: Pairs, role: int) -> np.ndarray:
    """(queries,) what gold documents and negatives move alike: halfway between their mean rises, however many there are."""
    return (gold_move(pairs, role) + negative_move(pairs, role)) / 2


def rises(pairs: Pairs, role: int) -> np.ndarray:
    """(n,) float64: log2((1 + rank in the base mode) / (1 + rank in this mode)) of each document."""
    return np.log2(1 + pairs.ranks[:, BASE]) - np.log2(1 + pairs.ranks[:, role])


def contests(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of a gold document and a negative of one query: (m,) int64 each, their rows."""
    gold, negatives = np.flatnonzero(pairs.gold), np.flatnonzero(~pairs.gold)
    counts = np.bincount(pairs.queries[negatives], minlength=len(pairs.query_ids))
    starts, opponents = np.cumsum(counts) - counts, counts[pairs.queries[gold]]
    first = np.repeat(gold, opponents)
    numbers = np.arange(len(first)) - np.repeat(np.cumsum(opponents) - opponents, opponents)
    # rows are sorted by query, and so a query's negatives are next to each other
    return first, negatives[starts[pairs.queries[first]] + numbers]


def orders(pairs: Pairs, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(m, 3) int64, a column a role: 1 where the first document stands above the second, -1 below; 0 where both are missing."""
    return np.sign(pairs.ranks[second] - pairs.ranks[first])


def _mean_of_contests(pairs: Pairs, first: np.ndarray, values: np.ndarray) -> np.ndarray:
    queries = pairs.queries[first]
    count = np.bincount(queries, minlength=len(pairs.query_ids))
    total = np.bincount(queries, values, minlength=len(pairs.query_ids))
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)


def _where_compared(pairs: Pairs, role: int, values: np.ndarray) -> np.ndarray:
    """Values of the queries that have documents of both kinds, and a base mode in the run to compare this one with."""
    compared = pairs.has(pairs.gold) & pairs.has(~pairs.gold) & ~pairs.absent(BASE, role)
    return np.where(compared, values, np.nan)
