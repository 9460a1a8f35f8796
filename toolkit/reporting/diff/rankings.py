"""How alike are two rankings, whatever is relevant? Kendall's tau, rank-biased overlap, and the documents in common."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from toolkit.core.runs import Run
from toolkit.core.tables.columns import lookup, to_arrow

PERSISTENCE = 0.9  # p of RBO: the first 10 ranks have 86 % of the weight
AT_ONCE = 1 << 16  # ranks whose order is counted together


class Likeness(NamedTuple):
    """Two rankings of one query.

    overlap  documents in common, over the longer list's length
    tau      Kendall's tau-b over the documents in common; NaN for fewer than two
    rbo      extrapolated rank-biased overlap (Webber et al. 2010, eq. 32)
    """

    query_id: str
    overlap: float
    tau: float
    rbo: float


def likeness(a: Run, b: Run) -> list[Likeness]:
    """One row a query that both runs have, by id: means do not depend on the order of lines in their last digit."""
    common = sorted({*a.query_ids}.intersection(b.query_ids))
    # a document of b that a has nowhere is coded -1
    ranked_a, ranked_b = _ranked(a, a.docs), _ranked(b, lookup(b.doc_ids, a.doc_ids)[b.docs])
    places = Places(len(a.doc_ids))
    shared = [places.shared(ranked_a[query_id], ranked_b[query_id]) for query_id in common]
    taus = taus_of_ranks(shared)
    rows = []
    for query_id, ranks, tau in zip(common, shared, taus, strict=True):
        lengths = len(ranked_a[query_id]), len(ranked_b[query_id])
        rows.append(Likeness(query_id, len(ranks[0]) / max(lengths), tau, _rbo(*ranks, *sorted(lengths))))
    return rows


def _ranked(run: Run, docs: np.ndarray) -> dict[str, np.ndarray]:
    """query id -> its documents, best first; docs: (n,) a code for each of the run's lines."""
    docs = docs[run.order()]
    ends = np.cumsum(run.lengths)
    return {query_id: docs[end - length : end] for query_id, end, length in zip(run.query_ids, ends, run.lengths, strict=True)}


class Places:
    """Where documents stand in a ranking: a table over all documents, emptied after each use, which needs no sorting.

    size  codes of documents go from 0 to size - 1; -1 is any document that no first ranking has
    """

    def __init__(self, size: int):
        self._places = np.full(size + 1, -1, np.int32)  # -1 reads the last place, which stays empty

    def shared(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ranks (from 0) of the documents in common, in both rankings, parallel, rising in the second."""
        self._places[first] = np.arange(len(first), dtype=np.int32)
        ranks_in_first = self._places[second]
        self._places[first] = -1
        in_second = np.flatnonzero(ranks_in_first >= 0)
        return ranks_in_first[in_second], in_second


def taus_of_ranks(shared: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """Kendall's tau of each pair of parallel columns of ranks, of which the second rises; NaN for fewer than two ranks."""
    orders = []
    for ranks, _ in shared:  # as a permutation of 0..n-1 in the same order of size
        present = np.zeros(int(ranks.max(initial=-1)) + 1, np.int32)
        present[ranks] = 1
        orders.append((np.cumsum(present, dtype=np.int32) - 1)[ranks])
    taus = []
    for order, wrong in zip(orders, discordant(orders), strict=True):
        pairs = len(order) * (len(order) - 1) // 2
        # as tau-b is computed, to the last digit
        taus.append((pairs - 2 * wrong) / math.sqrt(pairs) / math.sqrt(pairs) if pairs else math.nan)
    return [max(-1.0, min(1.0, tau)) if tau == tau else tau for tau in taus]


def discordant(orders: Sequence[np.ndarray]) -> list[int]:
    """How many pairs of each permutation of 0..n-1 stand in the wrong order."""
    counts: list[int] = []
    ends = np.cumsum([len(order) for order in orders])
    start = 0
    while start < len(orders):  # some at a time: what is worked on stays in the processor's caches
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + AT_ONCE, side="right")))
        counts += _discordant(orders[start:stop])
        start = stop
    return counts


def _discordant(orders: Sequence[np.ndarray]) -> list[int]:
    """The same, all at once: bit by bit, numbers with the same higher bits are counted against each other and parted."""
    lengths = np.array([len(order) for order in orders])
    heads = np.cumsum(lengths) - lengths
    values = np.concatenate(orders).astype(np.int32)
    starts = np.repeat(heads, lengths).astype(np.int32)
    places = np.arange(len(values), dtype=np.int32)
    counts, filled = np.zeros(len(orders), np.int64), lengths > 0
    for bit in reversed(range(int(max(lengths.max(), 1) - 1).bit_length())):
        ones = (values >> bit) & 1
        seen = np.cumsum(ones, dtype=np.int32) - ones
        # in a permutation the numbers of one group lie where their own range does
        ones_before = seen - seen[starts + (values >> (bit + 1) << (bit + 1))]
        if filled.any():
            counts[filled] += np.add.reduceat(np.where(ones, 0, ones_before), heads[filled], dtype=np.int64)
        parted = np.empty_like(values)
        parted[np.where(ones, starts + (values >> bit << bit) + ones_before, places - ones_before)] = values
        values = parted
    return counts.tolist()


def _rbo(ranks_a: np.ndarray, ranks_b: np.ndarray, short: int, long: int) -> float:
    """RBO_ext of two rankings, from the ranks (from 0) of the documents in common and the lengths of both (Webber et al. 2010,
    eq. 32).
    """
    p = PERSISTENCE
    if not short:
        return float(not long)
    depths, weights = _depths(long, p)
    # X_d: documents that both heads of length d have; a head ends with its list
    seen_at = np.maximum(ranks_a, ranks_b)
    agreed = np.cumsum(np.bincount(seen_at, minlength=long)[:long]).astype(np.float64)
    total = (agreed / depths * weights).sum()
    beyond = depths[short:]
    at_short = agreed[short - 1]
    total += (at_short * (beyond - short) / (short * beyond) * weights[short:]).sum()
    return float((1 - p) / p * total + ((agreed[-1] - at_short) / long + at_short / short) * p**long)


@lru_cache(maxsize=8)  # most rankings of a run are of one length
def _depths(long: int, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Depths from 1 on, and p to their power."""
    depths = np.arange(1, long + 1)
    return depths, p**depths


def identical(a: Run, b: Run) -> bool:
    """Whether two runs rank the same documents with the same scores for the same queries; tags and file order are no matter."""
    if len(a) != len(b) or set(a.query_ids) != set(b.query_ids):
        return False
    docs = lookup(b.doc_ids, a.doc_ids)
    if (docs < 0).any():
        return False
    if a.query_ids != b.query_ids:
        queries = lookup(to_arrow(b.query_ids), to_arrow(a.query_ids)).astype(np.int32)
        b = replace(b, query_ids=a.query_ids, queries=queries[b.queries])
    first, second = a.order(), b.order()
    return (
        np.array_equal(a.queries[first], b.queries[second])
        and np.array_equal(a.docs[first], docs[b.docs[second]])
        and np.array_equal(a.scores[first], b.scores[second])
    )
