"""How far several raters agree on items: majority share, coefficients of Cohen, Randolph and Krippendorff, with intervals.

Ratings are one mapping an item: who rated it -> number of the category, from 0. Not every rater has to have rated every item.
Where an interval is a bootstrap's, items are drawn anew `draws` times (percentiles): raters of one item are not independent.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from toolkit.core.errors import missing_extra
from toolkit.judge.prediction_powered import Estimate

DRAWS = 1000
LEVEL = 0.95
UNKNOWN = Estimate(math.nan, math.nan, math.nan)
Ratings = Sequence[Mapping[str, int]]


def share(hits: int, count: int) -> Estimate:
    """A share of independent items, with Wilson's interval (statsmodels); NaN of none."""
    if not count:
        return UNKNOWN
    low, high = _statsmodels("stats.proportion").proportion_confint(hits, count, alpha=1 - LEVEL, method="wilson")
    return Estimate(hits / count, float(low), float(high))


def majority_share(ratings: Ratings, draws: int = DRAWS, seed: int = 0) -> Estimate:
    """Mean over the items of the share of raters who chose the most frequent category."""
    shares = [max(Counter(item.values()).values()) / len(item) for item in rated_twice(ratings)]
    return bootstrap_mean(shares, draws, seed)


def cohens_kappa(first: Sequence[int], second: Sequence[int]) -> Estimate:
    """Cohen's kappa of two raters on the same items (Cohen 1960), with the interval of its asymptotic variance (Fleiss, Cohen
    and Everitt 1969; statsmodels).

    NaN where there is nothing to agree on beyond chance: no items, or both have used one and the same category alone.
    """
    if len({*first, *second}) < 2:
        return UNKNOWN
    inter_rater = _statsmodels("stats.inter_rater")
    size = max(*first, *second) + 1
    table = np.zeros((size, size))
    np.add.at(table, (np.asarray(first), np.asarray(second)), 1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # tests against 0, which nobody asked for, divide by 0
        warnings.simplefilter("ignore")
        result = inter_rater.cohens_kappa(table)
    kappa = float(result.kappa)
    # where all agree, the variance is 0, and may come out a little below it
    low, high = (kappa if math.isnan(bound) else float(bound) for bound in (result.kappa_low, result.kappa_upp))
    return Estimate(kappa, max(-1.0, low), min(1.0, high))


def pairs_of_raters(ratings: Ratings) -> Iterator[tuple[str, str, list[int], list[int]]]:
    """Each two raters who have items in common, by name, and what both said of these."""
    names = sorted({name for item in ratings for name in item})
    for first, second in combinations(names, 2):
        if both := [(item[first], item[second]) for item in ratings if first in item and second in item]:
            yield first, second, [one for one, _ in both], [other for _, other in both]


def randolphs_kappa(ratings: Ratings, categories: Sequence[int], draws: int = DRAWS, seed: int = 0) -> Estimate:
    """Randolph's free-marginal kappa (Randolph 2005): agreement beyond that of raters who choose all categories alike.

    categories  how many each item has

    Chance depends on the number of categories alone, so that the coefficient is the mean of what each item gives by itself
    (statsmodels), also where items have different numbers of raters or categories. NaN without items that two have rated.
    """
    inter_rater = _statsmodels("stats.inter_rater")
    counts = [tuple(_counts(item, size)) for item, size in zip(ratings, categories, strict=True) if len(item) > 1]
    # many items have the same counts, and each call takes a millisecond
    alone = {each: float(inter_rater.fleiss_kappa([each], method="randolph")) for each in set(counts)}
    return bootstrap_mean([alone[each] for each in counts], draws, seed)


def krippendorffs_alpha(ratings: Ratings, draws: int = DRAWS, seed: int = 0) -> Estimate:
    """Krippendorff's alpha for categories without an order (Krippendorff 2011; the package `krippendorff`).

    NaN where it is not defined: no item that two have rated, or one category alone. Draws in which it is not are left out.
    """
    rated = rated_twice(ratings)
    size = 1 + max((category for item in rated for category in item.values()), default=0)
    counts = np.array([_counts(item, size) for item in rated])
    value = _alpha(counts)
    if math.isnan(value):
        return UNKNOWN
    rng = np.random.default_rng(seed)
    drawn = [_alpha(counts[rng.integers(len(counts), size=len(counts))]) for _ in range(draws)]
    return Estimate(value, *_interval([each for each in drawn if not math.isnan(each)]))


def rated_twice(ratings: Ratings) -> list[Mapping[str, int]]:
    """The items that two raters at least have rated."""
    return [item for item in ratings if len(item) > 1]


def bootstrap_mean(each: Sequence[float], draws: int = DRAWS, seed: int = 0) -> Estimate:
    """The mean of a number that each item has, with the percentiles of the bootstrap; NaN of none."""
    if not each:
        return UNKNOWN
    values, rng = np.asarray(each, float), np.random.default_rng(seed)
    means = [values[rng.integers(len(values), size=len(values))].mean() for _ in range(draws)]
    return Estimate(float(values.mean()), *_interval(means))


def _interval(values: Sequence[float]) -> tuple[float, float]:
    if not values:  # every draw may have had one category alone
        return math.nan, math.nan
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _counts(item: Mapping[str, int], size: int) -> np.ndarray:
    return np.bincount(list(item.values()), minlength=size)


def _alpha(counts: np.ndarray) -> float:
    """counts: (items, categories), how many raters chose each."""
    if not len(counts) or (counts.sum(0) > 0).sum() < 2:
        return math.nan
    try:
        import krippendorff
    except ImportError as missing:
        raise missing_extra("agreement", "build") from missing
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def _statsmodels(module: str):
    import importlib

    try:
        return importlib.import_module(f"statsmodels.{module}")
    except ImportError as missing:
        raise missing_extra("agreement", "build") from missing
