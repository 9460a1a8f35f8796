"""Measures that rest on a judge's labels, corrected by pairs that people labelled; intervals include the judge's error.

Prediction-powered inference: Angelopoulos, Bates, Fannjiang, Jordan, Zrnic 2023 (Science 382). Numpy in, numbers out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

DRAWS = 2000  # of the bootstrap


class Estimate(NamedTuple):
    """A corrected value with its interval; values of shares are clipped to 0 and 1."""

    value: float
    low: float
    high: float


class Answers(NamedTuple):
    """What a judge said of one question's best documents: for each perspective, the number of its yes, and of its no."""

    yes: tuple[int, ...]
    no: tuple[int, ...]


class Confusion(NamedTuple):
    """Labelled pairs by what the judge said of them and what people say: `yes_true` is said to hold, and does."""

    yes_true: int
    yes_false: int
    no_true: int
    no_false: int


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


def corrected_mrecall(
    answers: Sequence[Answers], confusion: Confusion, k: int, *, level: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """MRecall@k as people would find it, from the judge's answers and its errors on labelled pairs.

    answers    one a question, over its best k documents
    confusion  of the labelled pairs

    Of a pair that the judge says yes to, the perspective is held with the share of such pairs that people agree to; of a no,
    with the share that people do not. A question counts with the probability that its best k documents then cover all m
    perspectives (at least k, where m > k). The interval is the bootstrap's percentiles: questions are drawn anew, and both
    shares from their Beta posteriors (Jeffreys prior), `draws` times. Assumed: labelled pairs are a random sample of judged
    ones, and the judge errs on each pair independently. Where its misses come together on the same perspectives, the value
    is too high.
    """
    if not answers:
        raise ValueError("no questions")
    rng = np.random.default_rng(seed)
    yes, no = _padded(answers)
    named = np.array([len(each.yes) for each in answers])
    right, missed = _rate(confusion.yes_true, confusion.yes_false), _rate(confusion.no_true, confusion.no_false)
    value = covered(yes, no, named, k, right, missed).mean()
    shares = np.empty(draws)
    for draw in range(draws):
        right = rng.beta(confusion.yes_true + 0.5, confusion.yes_false + 0.5)
        missed = rng.beta(confusion.no_true + 0.5, confusion.no_false + 0.5)
        chosen = rng.integers(len(answers), size=len(answers))
        shares[draw] = covered(yes[chosen], no[chosen], named[chosen], k, right, missed).mean()
    low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(_share(value), float(low), float(high))


def covered(yes: np.ndarray, no: np.ndarray, named: np.ndarray, k: int, right: float, missed: float) -> np.ndarray:
    """(questions,) the probability that at least min(m, k) perspectives are held by one of the documents at least.

    yes, no  (questions, most perspectives) documents that the judge says yes and no to, 0 where there are fewer perspectives
    named    (questions,) how many perspectives each has
    right    the probability that a yes is one; missed: that a no is a yes
    """
    held = 1 - (1 - right) ** yes * (1 - missed) ** no
    exactly = np.zeros((len(yes), yes.shape[1] + 1))  # [question, n]: n perspectives are held (Poisson binomial)
    exactly[:, 0] = 1
    for column in held.T:
        exactly[:, 1:] = exactly[:, 1:] * (1 - column[:, None]) + exactly[:, :-1] * column[:, None]
        exactly[:, 0] *= 1 - column
    enough = np.arange(exactly.shape[1]) >= np.minimum(named, k)[:, None]
    return (exactly * enough).sum(1)


def _padded(answers: Sequence[Answers]) -> tuple[np.ndarray, np.ndarray]:
    most = max(len(each.yes) for each in answers)
    yes, no = np.zeros((2, len(answers), most))
    for row, each in enumerate(answers):
        yes[row, : len(each.yes)], no[row, : len(each.no)] = each.yes, each.no
    return yes, no


def _rate(true: int, false: int) -> float:
    """The share of true ones; of none at all, what the prior says."""
    return true / (true + false) if true + false else 0.5


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
