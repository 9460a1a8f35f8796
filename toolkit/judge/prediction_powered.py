"""Measures that rest on a judge's labels, corrected by what people labelled; intervals include the judge's error.

Prediction-powered inference: Angelopoulos, Bates, Fannjiang, Jordan, Zrnic 2023 (Science 382). Numpy in, numbers out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Estimate(NamedTuple):
    """A corrected value with its interval; values of shares are clipped to 0 and 1."""

    value: float
    low: float
    high: float


def corrected_mean(
    judged: Sequence[float],
    judged_labelled: Sequence[float],
    labelled: Sequence[float],
    *,
    groups: Sequence[object] | None = None,
    labelled_groups: Sequence[object] | None = None,
    level: float = 0.95,
) -> Estimate:
    """The mean of what people would say, from what the judge says of many and people of a few (PPI, section 2).

    judged           (n,) the judge's values for all units
    judged_labelled  (m,) the judge's values for the units that people labelled, `labelled` theirs
    groups           what each unit belongs to, where units of one group are not independent (documents of a question)

    The value is mean(judged) - mean(judged_labelled - labelled); its variance is the sum of the two means' (of clusters, where
    there are groups), and Student's t with the degrees of freedom of the smaller number of groups gives the interval. Assumed:
    labelled units are a random sample of those that are judged. With one labelled group the interval is all of [0, 1].
    """
    from scipy.stats import t

    judged, ours, theirs = (np.asarray(values, float) for values in (judged, judged_labelled, labelled))
    rectifier = ours - theirs
    value = judged.mean() - rectifier.mean()
    first, many = _variance_of_mean(judged, groups)
    second, few = _variance_of_mean(rectifier, labelled_groups)
    if min(many, few) < 2:
        return Estimate(_share(value), 0.0, 1.0)
    reach = t.ppf((1 + level) / 2, min(many, few) - 1) * math.sqrt(first + second)
    return Estimate(_share(value), _share(value - reach), _share(value + reach))


def _variance_of_mean(values: np.ndarray, groups: Sequence[object] | None) -> tuple[float, int]:
    """The variance of the mean, and the number of groups: residuals are summed within a group (cluster-robust)."""
    codes = np.arange(len(values)) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    count = int(codes.max()) + 1
    if count < 2:
        return math.inf, count
    sums = np.bincount(codes, values - values.mean())
    return float((sums**2).sum() / len(values) ** 2 * count / (count - 1)), count


def _share(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))
