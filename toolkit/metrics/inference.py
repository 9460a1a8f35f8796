"""What a mean over core queries says: estimate, interval and p from one pivot, Holm's correction, pairs of systems, power.

Every command calls this module, so that one difference has one interval and one p everywhere. docs/guides/inference.md has the
reasons, and how often what is marked is chance.

The core query is the unit: the instructions of one core query are no independent evidence. A group's mean over queries is a
ratio, the sum over its core queries by their number of queries, with the linearised variance of a ratio (Cochran 1977, section
6.4); the average of several groups is the plain mean of theirs, with Welch's degrees of freedom. Where each core query has one
query this is Student's paired t test.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from toolkit.core.scores import SIGNIFICANT

LEVEL = 0.95
POWER = 0.8  # Cohen's convention: a difference of that size is seen four times of five
TOLERANCE = 1e-9  # sums closer to 0 than this are 0: they depend on the order of queries in their last digits
FEWEST = 6  # core queries that differ below which nothing is tested: fewer cannot reach p < 0.05 by their signs alone
MOST = 1_000_000  # core queries beyond which a number needed says nothing
EXACT = 16  # core queries up to which every assignment of signs is looked at: 65,536 of them
TESTED, SAME, FEW, UNKNOWN = "tested", "same", "too few differ", "unknown"

Bounds = tuple[float, float]


class Cores(NamedTuple):
    """A group's core queries.

    sums    (c,) or (c, m) float64, a column a mean: each core query's sum over its queries
    sizes   the same shape: how many queries that is; 0 for a core query that has none
    share   of values that are -1, 0 or 1 for every query the share that are not 0; NaN for other values
    """

    sums: np.ndarray
    sizes: np.ndarray
    share: float = math.nan

    @classmethod
    def of(cls, values: np.ndarray, cores: np.ndarray, share: float = math.nan) -> Cores:
        """values (n,) or (n, m), NaN for a query without one; cores (n,) int64, from 0 on: which core query each is of."""
        known = ~np.isnan(values)
        sums, sizes = (np.zeros((int(cores.max(initial=-1)) + 1, *values.shape[1:])) for _ in range(2))
        np.add.at(sums, cores, np.where(known, values, 0.0))
        np.add.at(sizes, cores, known)
        return cls(sums, sizes, share)


@dataclass(frozen=True, eq=False)
class Estimate:
    """A mean and how sure it is; numbers, or (m,) arrays of them.

    mean
    error         its standard error; infinite where a group has a single core query
    freedom       degrees of freedom of the error
    core_queries, queries, groups   that the mean is over
    differing     core queries whose sum is not 0
    share         as of `Cores`, over all groups
    """

    mean: float
    error: float
    freedom: float
    core_queries: int
    queries: int
    groups: int = 1
    differing: int = 0
    share: float = math.nan

    @property
    def state(self) -> str:
        """Of a difference, whether it is tested: `tested`, `same` where no core query differs, `too few differ`, or `unknown`
        where a single core query leaves the error unknown.
        """
        if not self.differing:
            return SAME
        return FEW if self.differing < FEWEST else TESTED if math.isfinite(self.error) else UNKNOWN

    @property
    def p(self) -> float:
        """Two-sided, of a difference of 0; NaN where nothing is tested."""
        from scipy import special

        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * special.stdtr(self.freedom, -np.abs(self.mean) / self.error)
        return np.where(self._tested, p, np.nan)[()]

    def interval(self, level: float = LEVEL) -> Bounds:
        """Of a difference: it leaves 0 out exactly where p is below 1 - level; NaN where nothing is tested."""
        margin = np.where(self._tested, _t(self.freedom, (1 + level) / 2) * self.error, np.nan)[()]
        return self.mean - margin, self.mean + margin

    @property
    def _tested(self) -> bool:
        return np.greater_equal(self.differing, FEWEST) & np.isfinite(self.error)

    def value_interval(self, lowest: float = -math.inf, highest: float = math.inf, *, binary: bool = False) -> Bounds | None:
        """Of a run's own value; None where a single core query, or values that are all equal, say nothing of others.

        lowest, highest  the measure's range
        binary           whether every query's value is 0 or 1: Wilson's interval with the effective number of queries
        """
        if not math.isfinite(self.error):
            return None
        if binary:
            spread = self.mean * (1 - self.mean)
            number = spread / self.error**2 if self.error > 0 else self.core_queries
            number = min(max(number, self.core_queries), self.queries)
            return wilson(self.mean, number, self.core_queries - self.groups)
        if not self.error:
            return None
        margin = _t(self.freedom, (1 + LEVEL) / 2) * self.error
        return max(self.mean - margin, lowest), min(self.mean + margin, highest)

    @property
    def effect(self) -> float:
        """Cohen's d: the mean in standard deviations of what core queries add to it; NaN where they do not vary."""
        return self.mean / (self.error * math.sqrt(self.core_queries)) if 0 < self.error < math.inf else math.nan

    def detectable(self, power: float = POWER) -> float:
        """The smallest true difference that is significant in a share `power` of samples of as many core queries; NaN where
        nothing is tested.
        """
        return self._shown_by(self.core_queries, LEVEL, power) if self.state == TESTED else math.nan

    def needed(self, gap: float, *, level: float = LEVEL, power: float = POWER) -> int | None:
        """How many core queries show a difference of `gap`; None for more than a million, and where nothing is tested."""
        if self.state != TESTED or not self.error or gap <= 0:
            return None
        n = bisect_left(range(MOST + 1), True, lo=2, key=lambda n: self._shown_by(n, level, power) <= gap)
        return n if n <= MOST else None

    def _shown_by(self, n: int, level: float, power: float) -> float:
        """The difference that n core queries show. Of values that are 0 or 1 the variance is that of a share at this
        difference, with the design effect that is observed: rare values that never differ now would, were there a difference.
        """
        freedom = max((self.freedom + self.groups) * n / self.core_queries - self.groups, 1.0)
        quantiles = _t(freedom, (1 + level) / 2) + _t(freedom, power)
        variance = quantiles**2 * self.error**2 * self.core_queries / n
        spread = self.share - self.mean**2
        if math.isnan(self.share) or spread <= 0:
            return math.sqrt(variance)
        # x**2 = (variance / spread) (differ - x**2), where at a difference of x at least the share x differs
        least = variance / (spread + variance)
        return math.sqrt(least * self.share) if least <= self.share else least


def estimate(groups: Sequence[Cores]) -> Estimate:
    """The mean of one group, or the plain mean of the means of several."""
    parts = [_residuals(group) for group in groups]
    share = math.fsum(group.share for group in groups) / len(groups)
    differing = sum((np.abs(group.sums) > TOLERANCE).sum(axis=0) for group in groups)
    return _combined(parts, differing, sum(group.sizes.sum(axis=0) for group in groups), share)


def crossed(variants: Sequence[Sequence[Cores]]) -> Estimate:
    """The mean over several variants of a system, such as its templates: core queries and variants are both samples.

    variants  (t) the groups of each, parallel in all, with the same core queries

    Two-way random effects: the variance over core queries, plus that over variants, less what is counted in both, the variance
    of what is left of a value (Cameron, Gelbach and Miller 2011), and no less than either. Satterthwaite's degrees of freedom.
    """
    groups = [Cores(sum(each.sums for each in own), sum(each.sizes for each in own)) for own in zip(*variants, strict=True)]
    whole, t = estimate(groups), len(variants)
    if t < 2:
        return whole
    between = float(np.var([estimate(own).mean for own in variants], ddof=1)) / t
    both = 0.0
    for own in zip(*variants, strict=True):
        left = np.array([_residuals(each)[1] for each in own])
        count = left.shape[1]
        left = left - left.mean(axis=0)
        both += count / (count - 1) * float((left**2).sum()) / (t * (t - 1)) / len(groups) ** 2 if count > 1 else 0.0
    over = float(whole.error) ** 2
    variance = max(over + between - both, over, between)
    weights = over**2 / whole.freedom + between**2 / (t - 1)
    freedom = max(variance**2 / weights, 1.0) if weights and math.isfinite(over) else whole.freedom
    return replace(whole, error=math.sqrt(variance), freedom=freedom)


def ratio_difference(first: Cores, second: Cores) -> Estimate:
    """The mean of the second minus that of the first, of which either may be over other queries of the same core queries."""
    (before, *_), (after, *_) = parts = [_residuals(first), _residuals(second)]
    residuals = parts[1][1] - parts[0][1]
    present = np.asarray((first.sizes > 0) | (second.sizes > 0))
    differ = (np.abs(second.sums - first.sums) > TOLERANCE) | (first.sizes != second.sizes)
    return _combined([(after - before, residuals, present.sum(axis=0))], differ.sum(axis=0), first.sizes.sum(axis=0), math.nan)


def _residuals(group: Cores) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean of a group, what each core query adds to its difference from the true one, and the number of core queries."""
    total = group.sizes.sum(axis=0)
    mean = group.sums.sum(axis=0) / total
    return mean, (group.sums - mean * group.sizes) / total, (group.sizes > 0).sum(axis=0)


def _combined(parts, differing: np.ndarray, queries: np.ndarray, share: float) -> Estimate:
    """parts  of groups: mean, residuals and number of core queries."""
    mean, variance, weights, core_queries = 0.0, 0.0, 0.0, 0
    for of_group, residuals, count in parts:
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(count > 1, count / (count - 1.0) * (residuals**2).sum(axis=0), np.inf) / len(parts) ** 2
            weights = weights + np.where(np.isfinite(own), own**2 / (count - 1.0), 0.0)
        mean, variance, core_queries = mean + of_group / len(parts), variance + own, core_queries + count
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where((weights > 0) & np.isfinite(variance), variance**2 / weights, core_queries - len(parts))
    numbers = (np.asarray(each)[()] for each in (mean, np.sqrt(variance), freedom, core_queries, queries))
    return Estimate(*numbers, len(parts), np.asarray(differing)[()], share)


def _t(freedom: float, share: float) -> float:
    """Student's quantile."""
    from scipy import special

    return special.stdtrit(np.maximum(freedom, 1e-9), share)


def wilson(share: float, number: float, freedom: float) -> Bounds:
    """Wilson's interval of a share of `number` (maybe a fraction), with Student's quantile; 0 to 1 where freedom is below 1."""
    if freedom < 1:
        return 0.0, 1.0
    squared = float(_t(freedom, (1 + LEVEL) / 2)) ** 2
    middle = (share + squared / (2 * number)) / (1 + squared / number)
    reach = math.sqrt(squared * (share * (1 - share) / number + squared / (4 * number**2))) / (1 + squared / number)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def is_binary(values: np.ndarray, lowest: float) -> bool:
    """Whether every value is 0 or 1, of a measure that is never below 0."""
    return lowest == 0 and bool(np.isin(values, (0.0, 1.0)).all())


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted for their number (Holm 1979), in the order given: the running maximum of p_(i) (m - i + 1), at most 1. NaN, of
    what is not tested, does not count and stays.
    """
    p = np.asarray(p_values, np.float64)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1)
    return adjusted.tolist()


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of k systems by one number; (k, k) float64 each, NaN where nothing is tested.

    difference  of the system in the row minus that in the column
    p, holm     of that, and corrected over all pairs
    higher      whether more is better
    """

    difference: np.ndarray
    p: np.ndarray
    holm: np.ndarray
    higher: bool = True

    @property
    def better(self) -> np.ndarray:
        """(k, k) bool: whether the system in the row is significantly better than that in the column."""
        return (self.holm < SIGNIFICANT) & ((self.difference > 0) == self.higher)

    def ranks(self) -> list[tuple[int, int]]:
        """First and last rank of each system: one below those that are significantly better, one above those that are worse."""
        better = self.better
        first, last = 1 + better.sum(axis=0), len(better) - better.sum(axis=1)
        return list(zip(first.tolist(), last.tolist(), strict=True))


def pairs(groups: Sequence[tuple[np.ndarray, np.ndarray]], *, higher: bool = True) -> Pairs:
    """All pairs of systems.

    groups  values (n, k) of n queries by k systems, NaN where a system lacks one; and (n,) which core query each is of
    """
    k = groups[0][0].shape[1]
    first, second = np.triu_indices(k, 1)
    found = estimate([Cores.of(values[:, first] - values[:, second], cores) for values, cores in groups])
    difference, p, corrected = np.zeros((k, k)), np.full((k, k), np.nan), np.full((k, k), np.nan)
    difference[first, second], difference[second, first] = found.mean, -found.mean
    p[first, second] = p[second, first] = found.p
    corrected[first, second] = corrected[second, first] = holm(found.p)
    return Pairs(difference, p, corrected, higher)


# the papers' own tests


def randomisation(groups: Sequence[Cores], *, samples: int = 10_000, seed: int = 0) -> tuple[float, float, float]:
    """Fisher's randomisation test with the studentised mean (`mean / error` of `estimate`), and its interval by inversion.

    Two-sided p, and the bounds of all differences that are not rejected; NaN where nothing is tested.

    p is the share of assignments of signs to core queries whose statistic is at least as far from 0 as the one observed: of
    all assignments up to 16 core queries, else of `samples` drawn ones and the observed, (1 + extreme) / (1 + samples). Of one
    group whose core queries are of one size it is the unstudentised test.
    """
    found = estimate(groups)
    if found.state != TESTED:
        return math.nan, math.nan, math.nan
    counts = [len(group.sums) for group in groups]
    signs = _signs(sum(counts), samples, seed)
    ends = np.cumsum(counts)
    flips = [_moments(group, signs[:, end - count : end]) for group, end, count in zip(groups, ends, counts, strict=True)]

    def p_of(difference: float) -> float:
        means, variances = (sum(each) for each in zip(*(moments(difference) for moments in flips), strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = np.abs(means / len(flips)) / np.sqrt(np.maximum(variances, 0)) * len(flips)
        # the first row has all signs as they are; of differences that are all equal the statistic is infinite, or 0 / 0
        statistics = np.where(np.isnan(statistics), 0.0, statistics)
        return float((statistics >= statistics[0] * (1 - TOLERANCE)).mean())

    p = p_of(0.0)
    reach = 8 * max(found.error, abs(found.mean), TOLERANCE)
    bounds = [_last_accepted(p_of, found.mean, side * reach, 1 - LEVEL) for side in (-1, 1)]
    return p, *map(float, bounds)


def _moments(group: Cores, signs: np.ndarray) -> Callable[[float], tuple[np.ndarray, np.ndarray]]:
    """For a difference that is taken away first, a group's mean and variance under every assignment of signs: (rows,) each."""
    sums, sizes = group.sums, group.sizes
    of_sums, of_sizes, of_products, of_squares = (signs @ column for column in (sums, sizes, sums * sizes, sizes**2))
    n, total = len(sums), sizes.sum()

    def moments(difference: float) -> tuple[np.ndarray, np.ndarray]:
        shifted, means = sums - difference * sizes, (of_sums - difference * of_sizes) / total
        squares = (shifted**2).sum() - 2 * means * (of_products - difference * of_squares) + means**2 * (sizes**2).sum()
        return means, n / (n - 1) * squares / total**2

    return moments


def _signs(n: int, samples: int, seed: int) -> np.ndarray:
    """(rows, n) of 1 and -1, in the first row 1 alone: every assignment up to 16, else `samples` drawn ones behind it."""
    if n <= EXACT:
        return 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    drawn = np.random.default_rng(seed).integers(0, 2, (samples, n), np.int8)
    return np.concatenate([np.ones((1, n)), 1.0 - 2.0 * drawn])


def _last_accepted(p_of, inside: float, reach: float, alpha: float) -> float:
    """How far from `inside`, towards `inside + reach`, a difference may be until it is rejected. 0 is looked at first where it
    lies on the way, so that interval and p agree about it.
    """
    outside = inside + reach
    while p_of(outside) >= alpha:
        outside += reach
    if min(inside, outside) < 0 < max(inside, outside):
        inside, outside = (0.0, outside) if p_of(0.0) >= alpha else (inside, 0.0)
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if p_of(middle) >= alpha else (inside, middle)
    return inside


def wilcoxon(groups: Sequence[Cores]) -> float:
    """p of Wilcoxon's signed-rank test of the core queries' means, as mFollowIR tests p-MRR: of the symmetry of differences
    about 0, not of the mean that is printed. Zeros are dropped; NaN where nothing is tested.
    """
    if estimate(groups).state != TESTED:
        return math.nan
    return signed_ranks(np.concatenate([group.sums / group.sizes for group in groups]))


def signed_ranks(differences: np.ndarray) -> float:
    """The same of differences (n,); exact for up to 50 pairs without ties, else normal with tie-corrected variance."""
    from scipy import stats

    moved = differences[np.abs(differences) > TOLERANCE]
    exact = len(np.unique(np.abs(moved))) == len(moved) <= 50
    return float(stats.wilcoxon(moved, correction=False, method="exact" if exact else "asymptotic").pvalue)
