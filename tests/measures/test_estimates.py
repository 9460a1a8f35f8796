"""A mean over core queries, against scipy and by hand; and how often its numbers of core queries are enough."""

import math

import numpy as np
import pytest
from scipy import stats

from toolkit.measures.estimates import Estimate, average, of_core_queries


def test_queries_of_their_own_have_students_interval():
    values = np.random.default_rng(0).normal(0.1, 1, 30)
    found = of_core_queries(values, np.arange(30))
    assert found.interval(0.9) == pytest.approx(stats.t.interval(0.9, 29, values.mean(), stats.sem(values)))


def test_core_queries_of_one_size_are_their_means():
    values = np.random.default_rng(1).normal(0, 1, (12, 3))
    found = of_core_queries(values.ravel(), np.repeat(np.arange(12), 3))
    assert found.interval() == pytest.approx(stats.t.interval(0.95, 11, values.mean(), stats.sem(values.mean(axis=1))))


def test_core_queries_of_other_sizes_have_the_error_of_a_ratio():
    # sums 3, 0 over 3, 1 queries: mean 3/4; deviations (3 - 9/4, 0 - 3/4) by the mean size 2 are 3/8 and -3/8
    found = of_core_queries(np.array([1.0, 1.0, 1.0, 0.0]), np.array([0, 0, 0, 1]))
    assert found.mean == 0.75
    assert found.deviations.tolist() == [0.375, -0.375]
    assert found.error == pytest.approx(math.sqrt((0.375**2 + 0.375**2) / 2))


def test_what_does_not_move_is_known_and_one_core_query_says_nothing():
    assert of_core_queries(np.zeros(4), np.arange(4)).interval() == (0.0, 0.0)
    one = of_core_queries(np.array([0.5, -0.5, 0.1]), np.zeros(3, int))
    assert one.interval() == (-math.inf, math.inf)
    assert one.needed(0.1) is None
    assert math.isnan(one.detectable())


def test_the_average_is_over_samples_that_have_nothing_to_do_with_each_other():
    generator = np.random.default_rng(2)
    samples = [generator.normal(0, spread, n) for spread, n in ((1, 20), (3, 8))]
    found = average([of_core_queries(values, np.arange(len(values))) for values in samples])
    welch = stats.ttest_ind(samples[0], -samples[1], equal_var=False)
    assert found.mean == pytest.approx((samples[0].mean() + samples[1].mean()) / 2)
    assert found.mean / found.error == pytest.approx(welch.statistic)
    assert found.freedom == pytest.approx(welch.df)
    n = found.core_queries
    assert math.sqrt(found.deviations @ found.deviations / (n * (n - 1))) == pytest.approx(found.error)


def test_so_many_as_are_needed_show_the_difference_as_often_as_was_asked():
    values = np.random.default_rng(3).normal(0, 1, 40)
    found = of_core_queries(values, np.arange(40))
    for power in (0.8, 0.9):
        n = found.needed(0.5, power=power)
        drawn = np.random.default_rng(4).normal(0.5, found.error * math.sqrt(40), (20_000, n))
        low = drawn.mean(axis=1) - stats.t.ppf(0.975, n - 1) * stats.sem(drawn, axis=1)
        assert abs((low > 0).mean() - power) < 0.015


def test_the_smallest_detectable_difference_needs_as_many_as_there_are():
    found = of_core_queries(np.random.default_rng(5).normal(0, 1, 50), np.arange(50))
    assert found.needed(found.detectable(power=0.9) * 1.0001, power=0.9) == 50


def test_a_difference_that_no_sample_shows_has_no_number():
    assert Estimate(0.0, 1.0, 9, np.zeros(10)).needed(1e-9) is None
    assert Estimate(0.0, 1.0, 9, np.zeros(10)).needed(0.0) is None
