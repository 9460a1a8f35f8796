"""The area under the curve: pairs that a number orders rightly, within strata, with an interval over clusters."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score

from toolkit.core.tables.area_under_curve import Area, area_under_curve, stratified_area

numbers = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=12)  # small, so that many are tied


def alone(positive, others):
    """The area of two lists as one stratum, every item a cluster of its own."""
    scores = np.array([*positive, *others], float)
    labels = np.array([True] * len(positive) + [False] * len(others))
    return stratified_area(scores, labels, [""] * len(scores), range(len(scores)), samples=20)


def test_an_area_counts_pairs_and_ties_as_half():
    # 4 > 1, 4 > 3, 2 > 1, 2 < 3: three of four pairs
    assert area_under_curve(np.array([2, 4]), np.array([1, 3]))[0] == 0.75
    assert area_under_curve(np.array([1, 1]), np.array([1, 1, 1]))[0] == 0.5
    assert alone([2, 4], [1, 3]).value == 0.75
    assert alone([1, 1], [1, 1, 1]) == Area(0.5, 0.5, 0.5)


@given(numbers, numbers)
def test_it_is_mann_whitneys_u_by_the_number_of_pairs(positive, others):
    expected = mannwhitneyu(positive, others).statistic / (len(positive) * len(others))
    assert area_under_curve(np.array(positive), np.array(others))[0] == pytest.approx(expected)
    assert alone(positive, others).value == pytest.approx(expected)


@given(numbers, numbers)
def test_it_is_what_scikit_learn_computes(positive, others):
    expected = roc_auc_score([1] * len(positive) + [0] * len(others), [*positive, *others])
    assert alone(positive, others).value == pytest.approx(expected)


@given(numbers, numbers)
def test_it_is_symmetrical(positive, others):
    there, back = (area_under_curve(*map(np.array, each)) for each in ((positive, others), (others, positive)))
    assert there[0] + back[0] == pytest.approx(1)
    assert there[1] == pytest.approx(-back[1])


@given(numbers, numbers, st.randoms())
def test_the_order_of_items_changes_nothing(positive, others, random):
    items = [(score, True) for score in positive] + [(score, False) for score in others]
    shuffled = random.sample(items, len(items))
    areas = [
        stratified_area(*map(np.array, zip(*each, strict=True)), [""] * len(each), [0] * len(each))
        for each in (items, shuffled)
    ]
    assert areas[0] == areas[1]


def test_only_items_of_one_stratum_are_compared():
    # within a: 2 > 1; within b: 12 < 13. Over both, 2 of 4 pairs would be: 2 > 1, 12 > 1
    scores, positive = np.array([2.0, 1.0, 12.0, 13.0]), np.array([True, False, True, False])
    assert stratified_area(scores, positive, ["a", "a", "b", "b"], range(4)).value == 0.5
    assert stratified_area(scores, positive, ["a"] * 4, range(4)).value == 0.5
    scores[2] = 20
    assert stratified_area(scores, positive, ["a", "a", "b", "b"], range(4)).value == 1.0
    assert stratified_area(scores, positive, ["a"] * 4, range(4)).value == 0.75


def test_clusters_are_resampled_as_a_whole():
    # two core queries of one pair each, one ordered rightly: a resample has both, or one of them twice
    scores, positive = np.array([2.0, 1.0, 3.0, 4.0]), np.array([True, False, True, False])
    both = stratified_area(scores, positive, ["a", "a", "b", "b"], ["a", "a", "b", "b"])
    assert both == Area(0.5, 0.0, 1.0)
    one = stratified_area(scores, positive, ["a", "a", "b", "b"], ["same"] * 4)
    assert one == Area(0.5, 0.5, 0.5)


def test_an_interval_gets_narrower_with_more_clusters():
    generator = np.random.default_rng(1)

    def width(size):
        positive = np.arange(size) % 2 == 0
        area = stratified_area(generator.normal(size=size) + positive, positive, [""] * size, range(size))
        assert area.low < area.value < area.high
        return area.high - area.low

    assert width(800) < width(50) / 2


def test_without_a_pair_there_is_no_area():
    area = stratified_area(np.array([1.0, 2.0]), np.array([True, False]), ["a", "b"], [1, 2])
    assert math.isnan(area.value)
    assert not area.is_found


@pytest.mark.parametrize(
    ("area", "found"),
    [(Area(0.9, 0.6, 1.0), True), (Area(0.9, 0.5, 1.0), False), (Area(0.6, 0.55, 0.7), False), (Area(0.1, 0.0, 0.2), False)],
)
def test_an_area_is_found_where_it_is_large_and_sure(area, found):
    assert area.is_found is found
