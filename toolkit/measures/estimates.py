"""A mean over core queries: its standard error and interval, the smallest difference that they show, and how many it takes.

Queries of one core query are one piece of evidence: a mean over queries is a ratio, the sum over core queries by the number
of queries, and has the linearised standard error of a ratio (Cochran 1977, section 6.4). Where all core queries have the same
number of queries this is Student's t over the means of core queries.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
POWER = 0.8  # Cohen's convention: a difference of that size is seen four times of five
MOST = 1_000_000  # core queries beyond which a number needed says nothing


@dataclass(frozen=True, eq=False)
class Estimate:
    """A mean and how far it can be trusted.

    mean
    error       its standard error; infinite where a single core query leaves it unknown, 0 where all values are 0
    freedom     degrees of freedom of the error
    deviations  (n,) float64, one a core query, mean 0: what the core query adds to the mean; their standard deviation by the
                root of n is the error
    """

    mean: float
    error: float
    freedom: float
    deviations: np.ndarray

    @property
    def core_queries(self) -> int:
        """How many the mean is over."""
        return len(self.deviations)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Student's: the mean lies in such intervals in a share `level` of all samples."""
        margin = _t(self.freedom, (1 + level) / 2) * self.error if 0 < self.error < math.inf else self.error
        return self.mean - margin, self.mean + margin

    def detectable(self, *, level: float = LEVEL, power: float = POWER) -> float:
        """The smallest true difference that lies outside such an interval around 0 in a share `power` of all samples of as
        many core queries; NaN where the error is unknown, or 0 because nothing differs.
        """
        if not self.error or math.isinf(self.error):
            return math.nan
        return (_t(self.freedom, (1 + level) / 2) + _t(self.freedom, power)) * self.error

    def needed(self, gap: float, *, level: float = LEVEL, power: float = POWER) -> int | None:
        """How many core queries show a difference of `gap`; None for more than a million, and where the error is unknown."""
        spread = self.error * math.sqrt(self.core_queries)
        if not math.isfinite(spread) or gap <= 0:
            return None

        def enough(n: int) -> bool:
            return (_t(n - 1, (1 + level) / 2) + _t(n - 1, power)) * spread <= gap * math.sqrt(n)

        n = bisect_left(range(MOST + 1), True, lo=2, key=enough)
        return n if n <= MOST else None


def of_core_queries(values: np.ndarray, cores: np.ndarray) -> Estimate:
    """The mean of values (n,) over queries; cores  (n,) int64, from 0 on: which core query each is of."""
    sums, sizes = np.bincount(cores, values), np.bincount(cores)
    n, mean = len(sums), float(values.mean())
    deviations = (sums - mean * sizes) / sizes.mean()
    if not values.any():
        return Estimate(0.0, 0.0, max(n - 1, 1), deviations)
    error = math.sqrt(float(deviations @ deviations) / (n * (n - 1))) if n > 1 else math.inf
    return Estimate(mean, error, max(n - 1, 1), deviations)


def average(groups: Sequence[Estimate]) -> Estimate:
    """The plain mean of the means of groups, whose samples have nothing to do with each other (Welch's degrees of freedom)."""
    if len(groups) == 1:
        return groups[0]
    shares = [(group.error / len(groups)) ** 2 for group in groups]
    error = math.sqrt(math.fsum(shares))
    weights = math.fsum(share**2 / group.freedom for share, group in zip(shares, groups, strict=True))
    freedom = error**4 / weights if 0 < error < math.inf else 1.0
    n = sum(group.core_queries for group in groups)
    deviations = [
        # a group's standard error is over its own number of core queries less one
        group.deviations * math.sqrt(n * (n - 1) / max(size * (size - 1), 1)) / len(groups)
        for group, size in ((group, group.core_queries) for group in groups)
    ]
    mean = math.fsum(group.mean for group in groups) / len(groups)
    return Estimate(mean, error, max(freedom, 1.0), np.concatenate(deviations))


def _t(freedom: float, share: float) -> float:
    """Student's quantile."""
    from scipy import special

    return float(special.stdtrit(freedom, share))
