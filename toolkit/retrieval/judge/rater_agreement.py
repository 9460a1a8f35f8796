"""How far several raters agree on items: majority share, coefficients of Cohen, Randolph and Krippendorff, with intervals.

Ratings are one mapping an item: who rated it -> number of the category, from 0. Not every rater has to have rated every item.
Intervals are Wilson's, of a mean over items between its smallest and largest value (raters of one item are not independent);
of a coefficient, that of the agreement that it is made of, agreement by chance held fixed: (bound - chance) / (1 - chance).
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from toolkit.core.errors import library
from toolkit.metrics.inference import wilson
from toolkit.retrieval.judge.corrected_measures import Estimate

UNKNOWN = Estimate(math.nan, math.nan, math.nan)
Ratings = Sequence[Mapping[str, int]]


def share(hits: int, count: int) -> Estimate:
    """A share of independent items; NaN of none."""
    return Estimate(hits / count, *wilson(hits / count, count, count - 1)) if count else UNKNOWN


def majority_share(ratings: Ratings) -> Estimate:
    """Mean over the items of the share of raters who chose the most frequent category."""
    return mean_of_items([max(Counter(item.values()).values()) / len(item) for item in rated_twice(ratings)])


def mean_of_items(values: Sequence[float], lowest: float = 0.0) -> Estimate:
    """The mean of a number between `lowest` and 1 that each item has; NaN of none."""
    if not values:
        return UNKNOWN
    mean = float(np.mean(values))
    bounds = wilson((mean - lowest) / (1 - lowest), len(values), len(values) - 1)
    return Estimate(mean, *(lowest + bound * (1 - lowest) for bound in bounds))


def _beyond_chance(observed: float, expected: float, items: int) -> Estimate:
    """(observed - expected) / (1 - expected), with the interval of the observed agreement over items."""
    ends = (observed, *wilson(observed, items, items - 1))
    return Estimate(*(max(-1.0, (end - expected) / (1 - expected)) for end in ends))


def cohens_kappa(first: Sequence[int], second: Sequence[int]) -> Estimate:
    """Cohen's kappa of two raters on the same items (Cohen 1960).

    NaN where there is nothing to agree on beyond chance: no items, or both have used one and the same category alone.
    """
    if len({*first, *second}) < 2:
        return UNKNOWN
    ours, theirs = np.asarray(first), np.asarray(second)
    size = int(max(ours.max(), theirs.max())) + 1
    shares = [np.bincount(each, minlength=size) / len(each) for each in (ours, theirs)]
    return _beyond_chance(float((ours == theirs).mean()), float(shares[0] @ shares[1]), len(ours))


def pairs_of_raters(ratings: Ratings) -> Iterator[tuple[str, str, list[int], list[int]]]:
    """Each two raters who have items in common, by name, and what both said of these."""
    for first, second in combinations(sorted({name for item in ratings for name in item}), 2):
        if both := [(item[first], item[second]) for item in ratings if first in item and second in item]:
            yield first, second, [one for one, _ in both], [other for _, other in both]


def randolphs_kappa(ratings: Ratings, categories: Sequence[int]) -> Estimate:
    """Randolph's free-marginal kappa (Randolph 2005): agreement beyond that of raters who choose all categories alike.

    categories  how many each item has

    Chance depends on the number of categories alone, so that the coefficient is the mean of what each item gives by itself
    (statsmodels), also where items have different numbers of raters or categories. NaN without items that two have rated.
    """
    inter_rater = library("statsmodels.stats.inter_rater", "agreement", "build")
    counts = [tuple(_counts(item, size)) for item, size in zip(ratings, categories, strict=True) if len(item) > 1]
    # many items have the same counts, and each call takes a millisecond
    alone = {each: float(inter_rater.fleiss_kappa([each], method="randolph")) for each in set(counts)}
    # two raters who disagree have -1 / (categories - 1)
    lowest = min((-1 / (len(each) - 1) for each in counts if len(each) > 1), default=0.0)
    return mean_of_items([alone[each] for each in counts], lowest)


def krippendorffs_alpha(ratings: Ratings) -> Estimate:
    """Krippendorff's alpha for categories without an order (Krippendorff 2011, C): of pairs of values, those that agree within
    an item beyond those that agree whatever their items.

    NaN where it is not defined: no item that two have rated, or one category alone.
    """
    rated = rated_twice(ratings)
    size = 1 + max((category for item in rated for category in item.values()), default=0)
    counts = np.array([_counts(item, size) for item in rated]).reshape(-1, size)  # how many raters chose each category
    totals = counts.sum(axis=0)
    if (totals > 0).sum() < 2:
        return UNKNOWN
    expected = float((totals * (totals - 1)).sum() / (totals.sum() * (totals.sum() - 1)))
    agreeing = (counts * (counts - 1)).sum(axis=1) / (counts.sum(axis=1) - 1)
    return _beyond_chance(float(agreeing.sum() / totals.sum()), expected, len(rated))


def rated_twice(ratings: Ratings) -> list[Mapping[str, int]]:
    """The items that two raters at least have rated."""
    return [item for item in ratings if len(item) > 1]


def _counts(item: Mapping[str, int], size: int) -> np.ndarray:
    return np.bincount(list(item.values()), minlength=size)
