"""Measures that rest on a judge's labels, corrected by what people labelled; intervals include the judge's error.

Prediction-powered inference: Angelopoulos, Bates, Fannjiang, Jordan, Zrnic 2023 (Science 382). Numpy in, numbers out.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from toolkit.metrics.inference import LEVEL, wilson


class Estimate(NamedTuple):
    """A corrected value with its interval; values of shares are clipped to 0 and 1."""

    value: float
    low: float
    high: float


def corrected_mean(
    judged: Sequence[float], judged_labelled: Sequence[float], labelled: Sequence[float], *, level: float = LEVEL
) -> Estimate:
    """The mean of what people would say, from what the judge says of many and people of a few (PPI, section 2).

    judged           (n,) the judge's values for all units
    judged_labelled  (m,) the judge's values for the units that people labelled, `labelled` theirs

    The value is mean(judged) - mean(judged_labelled - labelled); its variance is the sum of the two means', and Student's t
    with the degrees of freedom of the smaller number of units gives the interval. Assumed: labelled units are a random sample
    of those that are judged. Where the judge errs alike in all m, how often it would not is bounded by Wilson's interval of
    none in m.
    """
    judged, ours, theirs = (np.asarray(values, float) for values in (judged, judged_labelled, labelled))
    rectifier = ours - theirs
    value = judged.mean() - rectifier.mean()
    fewest = min(len(judged), len(rectifier))
    if fewest < 2:
        return Estimate(_share(value), 0.0, 1.0)
    variance = sum(values.var(ddof=1) / len(values) for values in (judged, rectifier))
    unseen = 0.0 if np.ptp(rectifier) else wilson(0.0, len(rectifier), len(rectifier) - 1, level)[1]
    reach = stdtrit(fewest - 1, (1 + level) / 2) * math.sqrt(variance) + unseen
    return Estimate(_share(value), _share(value - reach), _share(value + reach))


def _share(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))
