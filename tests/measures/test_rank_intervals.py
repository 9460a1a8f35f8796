"""Rank intervals by hand, what must hold of them, and how often they hold the true ranks in a small simulation."""

import sys

import numpy as np
import pytest
from command import ROOT
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from toolkit.measures.rank_intervals import rank_intervals
from toolkit.measures.significance import randomisation

sys.path.insert(0, str(ROOT / "scripts" / "bench"))
import simulate_ranks

SHAPES = st.tuples(st.integers(2, 20), st.integers(2, 5))
VALUES = arrays.arrays(np.float64, SHAPES, elements=st.integers(0, 8).map(lambda number: number / 8))


def bounds(values, **how):
    return [(each.low, each.high) for each in rank_intervals([values], **how)]


def test_two_systems_are_apart_where_the_randomisation_test_says_so():
    for seed in range(20):
        values = np.random.default_rng(seed).normal([0.0, 0.5], 1, (14, 2))
        p = randomisation(values[:, [1]] - values[:, [0]])[0]
        assert (bounds(values) == [(1, 2), (1, 2)]) == (p > 0.05)


def test_a_system_that_is_better_in_every_core_query_needs_six_of_them():
    for count, apart in ((5, False), (6, True)):  # of 2 ** n assignments two are as extreme: 2 / 32 and 2 / 64
        values = np.stack([np.ones(count), np.zeros(count)], axis=1)
        assert bounds(values) == ([(1, 1), (2, 2)] if apart else [(1, 2), (1, 2)])


def test_equal_systems_are_tied_and_share_what_they_win():
    values = np.repeat(np.random.default_rng(0).random((30, 1)), 3, axis=1)
    found = rank_intervals([values])
    assert [str(each) for each in found] == ["1-3"] * 3
    assert [each.won for each in found] == pytest.approx([1 / 3] * 3)


@given(VALUES)
def test_intervals_hold_the_observed_ranks_and_wins_add_up(values):
    found = rank_intervals([values], samples=200)
    means = values.sum(axis=0)
    for system, each in enumerate(found):
        assert 1 <= each.low <= 1 + (means > means[system] + 1e-9).sum()
        assert len(found) - (means < means[system] - 1e-9).sum() <= each.high <= len(found)
    assert sum(each.won for each in found) == pytest.approx(1)


@given(VALUES, st.randoms())
def test_the_order_of_systems_and_a_constant_do_not_matter(values, chance):
    order = list(range(values.shape[1]))
    chance.shuffle(order)
    found = bounds(values, samples=200)
    shifted = values[:, order] + 4 * np.arange(len(values))[:, None]
    assert bounds(shifted, samples=200) == [found[system] for system in order]


def test_groups_are_resampled_by_themselves():
    # in its own group each system is better by the same in all core queries: no resample moves the sum
    first, second = np.tile([2.0, 0.0], (8, 1)), np.tile([0.0, 1.0], (8, 1))
    assert [each.won for each in rank_intervals([first, second])] == [1.0, 0.0]


@pytest.mark.parametrize("noise", ["normal", "reciprocal ranks"])
def test_they_hold_the_true_ranks_where_percentiles_of_the_bootstrap_do_not(noise):
    shares = {name: its for name, *its in simulate_ranks.simulate(systems=5, n=30, noise=noise, times=150, samples=300)}
    assert min(ours for ours, _ in shares.values()) >= 0.91  # 95 %, and chance
    assert shares["all tied"][0] <= 0.99
    assert shares["all tied"][1] < 0.7
