"""Instructed queries and the core queries they belong to: means over the first, worst cases over the second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from toolkit import measures as tandem
from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import guess_group, join_mode
from toolkit.core.runs import Run
from toolkit.evaluate.judgments import Judgments
from toolkit.evaluate.scoring import own_queries

RESAMPLES = 2000
INTERVAL = (2.5, 97.5)  # percent of the resamples below each bound


class Interval(NamedTuple):
    """Where 95 % of something random lies."""

    low: float
    high: float


class Sums(NamedTuple):
    """What a mean is made of, group by group: its value is the sum of `values` by the sum of `sizes`; both (g,)."""

    values: np.ndarray
    sizes: np.ndarray


@dataclass(frozen=True, eq=False)
class Instances:
    """All judged queries of a benchmark.

    query_ids  (n,) with their mode where they have one
    groups     (n,) int64, the code of each query's core query (in its mode)
    names      the core queries, by code
    """

    query_ids: tuple[str, ...]
    groups: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(cls, judgments: Judgments) -> Instances:
        """The instances of a benchmark, whose reader says what belongs together, or of files, whose ids have to tell."""
        query_ids, codes, known = [], [], {}
        for part in judgments.parts:
            modes = registry.modes_of(part.qrels)
            for query_id in part.qrels.query_ids:
                base, mode = modes.split(query_id)
                core = guess_group(base) if part.cores is None else part.cores[base]
                codes.append(known.setdefault((part.group, join_mode(core, mode)), len(known)))
                query_ids.append(query_id)
        return cls(tuple(query_ids), np.array(codes, np.int64), tuple(name for _, name in known))

    def values(self, run: Run, judgments: Judgments, measure: str) -> np.ndarray:
        """(n,) float64: a plain measure of each instance; 0 where the run lacks it."""
        value_of = {}
        for part in judgments.parts:
            for measured in tandem.evaluate([measure], own_queries(run, part), part.qrels):
                ids = (join_mode(query_id, measured.mode) for query_id in measured.query_ids)
                value_of |= zip(ids, measured.values.tolist(), strict=True)
        return np.array([value_of[query_id] for query_id in self.query_ids])

    def worst(self, values: np.ndarray, kept: np.ndarray | None = None) -> dict[int, float]:
        """The smallest value of each group that has an instance left, by code; kept  (n,) bool, all where it is None."""
        lowest = np.full(len(self.names), np.inf)
        rows = slice(None) if kept is None else kept
        np.minimum.at(lowest, self.groups[rows], values[rows])
        return {code: value for code, value in enumerate(lowest.tolist()) if value < np.inf}

    def sums(self, values: np.ndarray, kept: np.ndarray | None = None) -> Sums:
        """The sum of an instance's value over each group, and how many there are in it; kept as in `worst`."""
        weights = np.ones(len(values)) if kept is None else kept.astype(float)
        count = len(self.names)
        return Sums(np.bincount(self.groups, values * weights, count), np.bincount(self.groups, weights, count))

    def worst_sums(self, values: np.ndarray, kept: np.ndarray | None = None) -> Sums:
        """The same for the mean of the worst values: a group's smallest, and 1 where it has an instance left."""
        worst = self.worst(values, kept)
        present = np.array([code in worst for code in range(len(self.names))], float)
        return Sums(np.array([worst.get(code, 0.0) for code in range(len(self.names))]), present)


def mean(values: Sequence[float]) -> float:
    """The exact mean, so that the order of queries does not change the last digit; NaN over nothing."""
    return math.fsum(values) / len(values) if len(values) else math.nan


def random_numbers(seed: int) -> np.random.Generator:
    """What draws; ToolkitError for a seed below 0."""
    if seed < 0:
        raise ToolkitError(f"the seed is {seed}", "--seed is a whole number from 0 on")
    return np.random.default_rng(seed)


def bootstrap(of: Sums, seed: int, minus: Sums | None = None) -> Interval:
    """The interval of a mean (minus another over the same groups): whole groups are drawn with replacement, 2,000 times.

    The instances of one core query resemble each other: drawn one by one they would make the interval too narrow.
    """
    count = len(of.values)
    draws = random_numbers(seed).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    with np.errstate(invalid="ignore"):  # a draw in which nothing is left
        means = (draws @ of.values) / (draws @ of.sizes)
        if minus is not None:
            means -= (draws @ minus.values) / (draws @ minus.sizes)
    if np.isnan(means).all():
        return Interval(math.nan, math.nan)
    low, high = np.nanpercentile(means, INTERVAL)
    return Interval(float(low), float(high))
