"""Agreement of several raters: values worked out by hand, and what holds of any ratings."""

import math
import sys

import numpy as np
import pytest
from command import ROOT
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import MissingExtra
from toolkit.metrics.inference import wilson
from toolkit.retrieval.judge.agreement import agreement
from toolkit.retrieval.judge.rater_agreement import (
    cohens_kappa,
    krippendorffs_alpha,
    majority_share,
    mean_of_items,
    pairs_of_raters,
    randolphs_kappa,
    share,
)

# 50 items: both say 0 of 20, both 1 of 15, only the first 0 of 5, only the second 0 of 10
FIRST, SECOND = [0] * 25 + [1] * 25, [0] * 20 + [1] * 5 + [0] * 10 + [1] * 15
ITEMS = st.lists(st.dictionaries(st.sampled_from("ABCD"), st.integers(0, 2), max_size=4), min_size=1, max_size=12)


def test_cohens_kappa_is_agreement_beyond_that_of_both_ones_own_shares():
    # observed (20 + 15) / 50 = 0.7; expected 25/50 * 30/50 + 25/50 * 20/50 = 0.5; (0.7 - 0.5) / (1 - 0.5) = 0.4
    kappa = cohens_kappa(FIRST, SECOND)
    assert kappa.value == pytest.approx(0.4)
    low, high = wilson(0.7, 50, 49)
    assert (kappa.low, kappa.high) == pytest.approx(((low - 0.5) / 0.5, (high - 0.5) / 0.5))


def test_cohens_kappa_is_that_of_a_judge_and_people():
    assert cohens_kappa(FIRST, SECOND).value == pytest.approx(agreement(FIRST, SECOND).kappa)


def test_kappa_of_raters_who_all_said_the_same_is_not_defined():
    assert math.isnan(cohens_kappa([1, 1], [1, 1]).value)
    assert math.isnan(krippendorffs_alpha([{"A": 1, "B": 1}]).value)


def test_where_all_agree_the_interval_is_no_point():
    for estimate in (cohens_kappa([0, 1, 1], [0, 1, 1]), share(3, 3), majority_share([{"A": 1, "B": 1}] * 3)):
        assert estimate.value == estimate.high == 1
        assert estimate.low < 0.5


@pytest.mark.parametrize(
    ("items", "right", "share_of_first"), [(6, 0.85, 0.5), (11, 0.7, 0.5), (11, 0.95, 0.2), (30, 0.85, 0.2)]
)
def test_intervals_of_kappa_hold_the_truth_as_often_as_they_say(items, right, share_of_first):
    generator = np.random.default_rng(items)
    first = share_of_first * right + (1 - share_of_first) * (1 - right)
    expected = first**2 + (1 - first) ** 2
    kappa = (right**2 + (1 - right) ** 2 - expected) / (1 - expected)
    held = []
    for _ in range(400):
        truth = generator.random(items) < share_of_first
        both = [np.where(generator.random(items) < right, truth, ~truth).astype(int).tolist() for _ in range(2)]
        found = cohens_kappa(*both)
        if found.value == found.value:
            held.append(found.low <= kappa <= found.high)
    assert np.mean(held) >= 0.92


def test_randolphs_kappa_expects_an_equal_share_of_each_category():
    # three raters, two categories. All agree on the first item: pairs that agree 3/3. On the second 2 of 3 say 0: 1/3.
    # mean 2/3; expected 1/2; (2/3 - 1/2) / (1/2) = 1/3
    ratings = [{"A": 0, "B": 0, "C": 0}, {"A": 0, "B": 0, "C": 1}]
    assert randolphs_kappa(ratings, [2, 2]).value == pytest.approx(1 / 3)
    # with four categories expected 1/4: (2/3 - 1/4) / (3/4) = 5/9
    assert randolphs_kappa(ratings, [4, 4]).value == pytest.approx(5 / 9)


def test_randolphs_kappa_is_the_mean_over_items_of_unequal_raters_and_categories():
    # two raters of two categories who agree: 1; three of four categories, two agreeing: (1/3 - 1/4) / (3/4) = 1/9; an item
    # that one rater has seen tells nothing
    ratings = [{"A": 0, "B": 0}, {"A": 3, "B": 3, "C": 1}, {"A": 1}]
    assert randolphs_kappa(ratings, [2, 4, 2]).value == pytest.approx((1 + 1 / 9) / 2)


def test_alpha_of_krippendorffs_own_example():
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", C: four observers, twelve units, nominal: 0.743."""
    observers = {"A": "123321412...", "B": "1233224125.3", "C": ".3332342251.", "D": "12332441251."}
    units = zip(*observers.values(), strict=True)
    ratings = [{name: int(value) for name, value in zip(observers, unit, strict=True) if value != "."} for unit in units]
    alpha = krippendorffs_alpha(ratings)
    assert round(alpha.value, 3) == 0.743
    assert alpha.low < alpha.value < alpha.high


def test_alpha_of_two_raters_by_hand():
    # A: 0 0 1 1, B: 0 1 1 1. Coincidences, both orders: 00 2, 01 1, 10 1, 11 4; of 8 values three are 0, five are 1.
    # observed disagreement 2/8; expected 2 * 3 * 5 / (8 * 7) = 30/56; alpha = 1 - (2/8) / (30/56) = 0.5333
    ratings = [{"A": 0, "B": 0}, {"A": 0, "B": 1}, {"A": 1, "B": 1}, {"A": 1, "B": 1}]
    assert krippendorffs_alpha(ratings).value == pytest.approx(1 - (2 / 8) / (30 / 56))


def test_majority_share_is_the_mean_share_of_the_most_frequent_category():
    assert majority_share([{"A": 0, "B": 0, "C": 1}, {"A": 1, "B": 1}, {"A": 0}]).value == pytest.approx((2 / 3 + 1) / 2)


def test_wilsons_interval_of_a_share():
    # 8 of 10, t = 2.2622: (0.8 + 0.25587 ± 2.2622 * sqrt(0.016 + 0.01279)) / 1.51174 = 0.6984 ± 0.2539
    estimate = share(8, 10)
    assert (estimate.value, round(estimate.low, 4), round(estimate.high, 4)) == (0.8, 0.4445, 0.9524)
    assert math.isnan(share(0, 0).value)


def test_pairs_have_the_items_of_both():
    ratings = [{"A": 0, "B": 1}, {"A": 1}, {"B": 0, "C": 0, "A": 0}]
    assert list(pairs_of_raters(ratings)) == [("A", "B", [0, 0], [1, 0]), ("A", "C", [0], [0]), ("B", "C", [0], [0])]


@given(ITEMS)
def test_numbers_lie_where_they_can_and_need_no_order_of_items(ratings):
    for estimate, least in (
        (majority_share(ratings), 0),
        (randolphs_kappa(ratings, [3] * len(ratings)), -0.5),
        (krippendorffs_alpha(ratings), -1),
    ):
        assert math.isnan(estimate.value) or least - 1e-9 <= estimate.value <= 1 + 1e-9
        assert math.isnan(estimate.low) or estimate.low <= estimate.high
    shuffled = ratings[::-1]
    for measure in (majority_share, krippendorffs_alpha):
        one, other = measure(ratings).value, measure(shuffled).value
        assert math.isnan(one) == math.isnan(other)
        assert math.isnan(one) or one == pytest.approx(other)


@given(ITEMS)
def test_raters_who_agree_on_everything_agree_wholly(ratings):
    agreed = [dict.fromkeys(item, number % 2) for number, item in enumerate(ratings)]
    for estimate in (randolphs_kappa(agreed, [2] * len(agreed)), krippendorffs_alpha(agreed)):
        assert math.isnan(estimate.value) or estimate.value == pytest.approx(1)


def test_without_the_packages_it_is_said_how_to_install_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.stats.inter_rater", None)
    with pytest.raises(MissingExtra) as refused:
        randolphs_kappa([{"A": 0, "B": 1}], [2])
    assert refused.value.hint == f"pip install -e '{ROOT}[build]'"


def test_a_mean_of_items_between_minus_1_and_1():
    found = mean_of_items([1.0, -1.0, 1.0, 1.0], -1.0)
    low, high = wilson(0.75, 4, 3)
    assert found == pytest.approx((0.5, 2 * low - 1, 2 * high - 1))
