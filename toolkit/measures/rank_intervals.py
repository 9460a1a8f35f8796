"""Which ranks a system may have among others: those that no test over core queries rules out.

A system's interval goes from one rank below the systems that are significantly better than it to one above those that are
significantly worse (Mogstad, Romano, Shaikh and Wilhelm 2024; Klein, Wright and Wieczorek 2020). Its tests against all others
are corrected together, step by step, by the largest statistic under random signs of core queries (Westfall and Young 1993;
Romano and Wolf 2005): they know how the systems depend on each other, and are exact where few core queries are. So a true rank
is in its interval in 95 % of all samples, one system at a time. Of tied systems every rank that the tie spans is.

The percentiles of ranks in bootstrap samples, which are simpler, are not such intervals: a resample moves the best of several
equals away from its rank less often than chance had put it there. `scripts/bench/simulate_ranks.py` has both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toolkit.measures.significance import EXACT, TOLERANCE, assignments, draws

LEVEL = 0.95


class RankInterval(NamedTuple):
    """The ranks that a system may have, from 1 on, and the share of bootstrap resamples in which it is best (ties share)."""

    low: int
    high: int
    won: float

    def __str__(self) -> str:
        return f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"


def rank_intervals(
    groups: Sequence[np.ndarray], *, level: float = LEVEL, samples: int = 2000, seed: int = 0
) -> list[RankInterval]:
    """One interval a system.

    groups   (n, k) each: what each core query adds to the score of each system, which is the mean over all rows of all groups;
             more is better. Core queries are resampled within their group
    samples  of random signs (all of them up to 16 core queries), and of the bootstrap
    """
    generator = np.random.default_rng(seed)
    low, high = _ruled_in(np.concatenate(groups), level, samples, generator)
    resampled = sum(np.concatenate([rows @ group for rows in draws(len(group), samples, generator)]) for group in groups)
    best = resampled >= resampled.max(axis=1, keepdims=True) - TOLERANCE
    won = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    return [RankInterval(*bounds) for bounds in zip(low.tolist(), high.tolist(), won.tolist(), strict=True)]


def _ruled_in(values: np.ndarray, level: float, samples: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(k,) int64 each, the first and last rank of each system. values: (n, k), a row a core query."""
    n, k = values.shape
    first, second = np.triu_indices(k, 1)
    differences = values[:, first] - values[:, second]
    # by their length: a function of Student's t that stays finite, and whose length no sign changes
    lengths = np.sqrt((differences**2).sum(axis=0))
    differences = differences / np.where(lengths > 0, lengths, np.inf)
    sums = differences.sum(axis=0)
    flipped = np.abs(np.concatenate([sums - 2 * (signs @ differences) for signs in assignments(n, samples, generator)]))
    drawn = n > EXACT  # then the observed assignment is one more
    low, high = np.ones(k, np.int64), np.full(k, k, np.int64)
    for system in range(k):
        own = np.flatnonzero((first == system) | (second == system))
        own = own[np.argsort(-np.abs(sums[own]), kind="stable")]
        # of each comparison the largest statistic among those that are not larger than it is observed
        largest = np.maximum.accumulate(flipped[:, own[::-1]], axis=1)[:, ::-1]
        extreme = (largest >= np.abs(sums[own]) - TOLERANCE).sum(axis=0)
        p = np.maximum.accumulate((drawn + extreme) / (drawn + len(flipped)))
        for pair in own[p <= 1 - level]:
            wins = (first[pair] == system) == (sums[pair] > 0)
            high[system] -= wins
            low[system] += not wins
    return low, high
