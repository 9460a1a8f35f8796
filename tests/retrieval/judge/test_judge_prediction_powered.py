"""Corrected values and their intervals, on made-up judges whose truth is known."""

import numpy as np
import pytest

from toolkit.retrieval.judge.corrected_measures import corrected_mean


def test_the_corrected_mean_is_the_judges_less_its_mean_error():
    # the judge says 0.75 of all; on four labelled units it says 1, 1, 0, 1 where people say 1, 0, 0, 0
    found = corrected_mean([1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 0, 0])
    assert found.value == pytest.approx(0.75 - 0.5)
    assert found.low <= found.value <= found.high


def test_a_judge_that_never_erred_may_err_elsewhere():
    values = [0, 1, 1, 1, 0, 1, 0, 1]
    found = corrected_mean(values * 20, values, values)
    # the variance of the mean alone, 160/159 * 5/8 * 3/8 / 160 by hand, with t(7) = 2.3646; and none of eight by Wilson
    reach = 2.364624 * (5 / 8 * 3 / 8 / 159) ** 0.5 + 2.364624**2 / (8 + 2.364624**2)
    assert found == pytest.approx((0.625, 0.625 - reach, min(0.625 + reach, 1)), abs=1e-5)


def test_one_labelled_unit_says_nothing():
    assert corrected_mean([1, 0], [1], [0])[1:] == (0.0, 1.0)


def test_intervals_of_means_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    truth, hits, naive, repeats = 0.3, 0, 0, 400
    for _ in range(repeats):
        true = rng.random(1000) < truth
        said = np.where(true, rng.random(1000) < 0.8, rng.random(1000) < 0.2)  # says yes to 0.38
        found = corrected_mean(said[100:], said[:100], true[:100])
        hits += found.low <= truth <= found.high
        naive += abs(said.mean() - truth) <= 1.96 * said.std() / 1000**0.5
    assert 0.93 <= hits / repeats <= 0.97
    assert naive / repeats < 0.02
