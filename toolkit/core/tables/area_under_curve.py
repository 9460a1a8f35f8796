"""How well a number tells one class from another: the area under the receiver's curve, alone, by strata, with an interval."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

FAR = 0.15  # an area this far from 0.5 is more than taste
BOUNDS = (0.5, 99.5)  # per cent of the resamples: of a model's scores, whose training is not resampled, 95 % are too narrow
SAMPLES = 1000  # of a bootstrap
SEED = 19450801  # any constant: the same items get the same interval


class Area(NamedTuple):
    """An area with the interval of a bootstrap: 99 % of the resampled areas lie in it. NaN where no pair can be compared."""

    value: float
    low: float
    high: float

    @property
    def is_found(self) -> bool:
        """Whether it is above 0.5, by more than taste and beyond what other core queries might have given."""
        return self.low > 0.5 and self.value - 0.5 >= FAR


def area_under_curve(positive: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """The area under the curve of a number against being positive, ties as half, and its distance from 0.5 in deviations.

    positive, others  (n,), (m,) numbers, neither empty
    source            Mann and Whitney 1947, without correction for ties
    """
    n, m = len(positive), len(others)
    ordered = np.sort(others)
    below, up_to = (np.searchsorted(ordered, positive, side) for side in ("left", "right"))
    area = float((below + up_to).sum()) / (2 * n * m)
    return area, (area - 0.5) / math.sqrt((n + m + 1) / (12 * n * m))


def stratified_area(
    scores: np.ndarray, positive: np.ndarray, strata: Sequence[object], clusters: Sequence[object], samples: int = SAMPLES
) -> Area:
    """The share of pairs (one positive, one not, of the same stratum) that the score orders rightly, ties as half.

    scores    (n,) numbers
    positive  (n,) bool
    strata    (n,) only items of one stratum are compared
    clusters  (n,) what is resampled as a whole, with replacement: items of one cluster are not independent
    """
    codes, names = _codes(clusters)
    drawn = np.random.default_rng(SEED).integers(len(names), size=(samples, len(names)))
    # row 0 is what there is: every cluster once
    weights = np.vstack([np.ones(len(names)), *(np.bincount(row, minlength=len(names)) for row in drawn)])[:, codes]
    rightly, pairs = np.zeros(samples + 1), np.zeros(samples + 1)
    of_item, all_strata = _codes(strata)
    for stratum in range(len(all_strata)):
        here = of_item == stratum
        more = _ordered_pairs(scores[here], positive[here], weights[:, here])
        rightly, pairs = rightly + more[0], pairs + more[1]
    areas = np.divide(rightly, pairs, out=np.full(samples + 1, np.nan), where=pairs > 0)
    resampled = areas[1:][~np.isnan(areas[1:])]
    low, high = np.percentile(resampled, BOUNDS) if len(resampled) else (math.nan, math.nan)
    return Area(float(areas[0]), float(low), float(high))


def _codes(values: Sequence[object]) -> tuple[np.ndarray, list[object]]:
    """The place of each value among the distinct ones, in order of first appearance."""
    known: dict[object, int] = {}
    codes = np.array([known.setdefault(value, len(known)) for value in values], np.int64)
    return codes, list(known)


def _ordered_pairs(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(samples,) pairs of a positive and another item that are ordered rightly, and all pairs; weights  (samples, n)."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0)  # where equal scores begin
    wanted, others = weights[:, order] * positive[order], weights[:, order] * ~positive[order]
    wanted, others = np.add.reduceat(wanted, starts, axis=1), np.add.reduceat(others, starts, axis=1)
    below = np.cumsum(others, axis=1) - others
    return (wanted * (below + others / 2)).sum(axis=1), wanted.sum(axis=1) * others.sum(axis=1)
