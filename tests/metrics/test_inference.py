"""The one inference: golden values, scipy where it has the same, and what must hold of every difference."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from toolkit.metrics.inference import (
    Cores,
    estimate,
    holm,
    is_binary,
    pairs,
    randomisation,
    ratio_difference,
    signed_ranks,
    wilcoxon,
    wilson,
)

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
CASES = json.loads((GOLDEN / "inference" / "cases.json").read_text())["cases"]
INPUTS, EXPECTED = (json.loads((GOLDEN / "stats" / f"{name}.json").read_text()) for name in ("inputs", "expected"))
NAMES = {"mean": "mean", "se": "error", "core_queries": "core_queries", "queries": "queries", "groups": "groups"}
NAMES |= {"df": "freedom", "differing": "differing", "state": "state", "p": "p"}
DIFFERENCES = arrays.arrays(np.float64, st.integers(2, 30), elements=st.integers(-8, 8).map(lambda number: number / 8))


def cores_of(groups):
    return [Cores(np.array(group["sums"], float), np.array(group["sizes"], float)) for group in groups]


def of(values):
    return Cores(np.asarray(values, float), np.ones(len(values)))


@pytest.mark.parametrize("case", [case for case in CASES if "groups" in case["input"]], ids=lambda case: case["id"])
def test_golden_estimates(case):
    asked, expected = case["input"], case["output"]
    found = estimate(cores_of(asked["groups"]))
    for name, attribute in NAMES.items():
        if expected.get(name) is not None and not (name == "state" and asked.get("binary")):
            wanted = expected[name] if isinstance(expected[name], str) else pytest.approx(expected[name], abs=1e-9)
            assert getattr(found, attribute) == wanted, name
    binary = asked.get("binary")
    bounds = found.value_interval(0, 1, binary=True) if binary else found.interval(1 - 0.05 / asked.get("family", 1))
    if expected["low"] is None:
        assert all(map(math.isnan, (*bounds, found.p)))
    else:
        assert bounds == pytest.approx((expected["low"], expected["high"]), abs=1e-9)
    if "detectable" in expected:
        assert found.detectable() == pytest.approx(expected["detectable"], abs=1e-9)


@pytest.mark.parametrize("case", [case for case in CASES if "p" in case["input"]], ids=lambda case: case["id"])
def test_golden_families(case):
    values, expected = (
        each if isinstance(each, list) else list(each.values()) for each in (case["input"]["p"], case["output"]["holm"])
    )
    assert holm(values) == pytest.approx(expected, abs=1e-9)


def test_one_query_a_core_query_is_students_paired_test():
    values = np.random.default_rng(0).normal(0.2, 1, 30)
    found, wanted = estimate([of(values)]), stats.ttest_1samp(values, 0)
    assert found.p == pytest.approx(wanted.pvalue)
    assert found.interval() == pytest.approx(tuple(wanted.confidence_interval()))
    assert found.effect == pytest.approx(values.mean() / values.std(ddof=1))


def test_two_groups_have_welchs_degrees_of_freedom():
    generator = np.random.default_rng(2)
    groups = [generator.normal(0, spread, n) for spread, n in ((1, 20), (3, 8))]
    found, welch = estimate([of(each) for each in groups]), stats.ttest_ind(groups[0], -groups[1], equal_var=False)
    assert found.p == pytest.approx(welch.pvalue)
    assert found.freedom == pytest.approx(welch.df)


def test_core_queries_of_other_sizes_have_the_error_of_a_ratio():
    # sums 3, 0 over 3, 1 queries: mean 3/4; residuals (3 - 9/4, 0 - 3/4) / 4; 2/1 times the sum of their squares
    found = estimate([Cores.of(np.array([1.0, 1.0, 1.0, 0.0]), np.array([0, 0, 0, 1]))])
    assert (found.mean, found.core_queries, found.queries) == (0.75, 2, 4)
    assert found.error == pytest.approx(math.sqrt(2 * 2 * (0.75 / 4) ** 2))


@given(DIFFERENCES)
def test_p_is_below_5_percent_exactly_where_the_interval_leaves_0_out(values):
    found = estimate([of(values)])
    low, high = found.interval()
    assert bool(found.p < 0.05) == bool(low > 0 or high < 0)
    assert math.isnan(found.p) == (found.state != "tested")


@given(DIFFERENCES)
def test_of_signs_flipped_too(values):
    p, low, high = randomisation([of(values)], samples=300)
    assert (p < 0.05) == (low > 0 or high < 0)


@given(DIFFERENCES)
def test_the_sign_of_all_differences_is_no_matter(values):
    for test in (lambda each: estimate([of(each)]).p, lambda each: wilcoxon([of(each)])):
        assert test(values) == pytest.approx(test(-values), nan_ok=True)


def test_fewer_than_six_that_differ_are_not_tested_and_none_is_the_same():
    assert estimate([of([0.5] * 5 + [0.0] * 20)]).state == "too few differ"
    assert estimate([of([0.0] * 20)]).state == "same"
    assert estimate([of([1e-12] * 20)]).state == "same"
    assert estimate([of([1.0] * 6)]).p == 0
    assert estimate([of([0.5])] * 7).state == "unknown"  # a single core query a group


@pytest.mark.parametrize("name", ["n8", "n40", "n40_ties"])
def test_tests_of_the_papers_against_golden_values(name):
    values, expected = np.array(INPUTS[name]["a"]) - np.array(INPUTS[name]["b"]), EXPECTED[name]
    assert estimate([of(values)]).p == pytest.approx(expected["t"]["p"], abs=1e-12)
    assert signed_ranks(values) == pytest.approx(expected["wilcoxon"]["p"], abs=1e-12)
    p, drawn = expected["randomisation"]["p"], 20_000
    near = 1e-12 if name == "n8" else 4 * math.sqrt(p * (1 - p) / drawn) + 1 / drawn
    assert abs(randomisation([of(values)], samples=drawn)[0] - p) <= near


@pytest.mark.parametrize("family", ["holm_1", "holm_2"])
def test_holm(family):
    assert holm(INPUTS[family]) == pytest.approx(EXPECTED[family], abs=1e-12)
    assert holm([math.nan, 0.02, 0.5])[1:] == [0.04, 0.5]  # what is not tested does not count


def test_a_pair_of_systems_has_the_p_that_it_has_alone():
    generator = np.random.default_rng(4)
    groups = [(generator.normal((0, 0, 1, 2), 1, (24, 4)), np.repeat(np.arange(12), 2)) for _ in range(2)]
    groups[0][0][3, 1] = np.nan  # a query that one system lacks
    found = pairs(groups)
    for first in range(4):
        for second in range(first):
            alone = estimate([Cores.of(values[:, first] - values[:, second], cores) for values, cores in groups])
            assert found.p[first, second] == found.p[second, first] == pytest.approx(alone.p)
            assert found.difference[first, second] == pytest.approx(alone.mean)
    for system, (first, last) in enumerate(found.ranks()):
        assert (first, last) == (1 + found.better[:, system].sum(), 4 - found.better[system].sum())
    assert found.better[3, 0]
    assert not pairs(groups, higher=False).better[3, 0]


def test_what_is_detectable_is_found_so_often():
    population = np.random.default_rng(1).normal(0, 1, 40)
    population -= population.mean()
    size = estimate([of(population)]).detectable()
    drawn = np.random.default_rng(2).normal(size, population.std(ddof=1), (40, 4000))
    assert (estimate([Cores(drawn, np.ones(drawn.shape))]).p < 0.05).mean() == pytest.approx(0.8, abs=0.02)


def test_rare_values_are_detectable_as_a_share_at_the_alternative():
    # 8 of 100 queries are won: were x more won, about sqrt(x (1 - x)) is the spread
    values = np.r_[np.ones(8), np.zeros(92)]
    found = estimate([Cores.of(values - 0.0, np.arange(100), 0.08)])
    size = found.detectable()
    drawn = (np.random.default_rng(3).random((100, 4000)) < size).astype(float)
    assert (estimate([Cores(drawn, np.ones(drawn.shape))]).p < 0.05).mean() == pytest.approx(0.8, abs=0.05)
    assert math.isnan(estimate([Cores.of(np.r_[np.ones(2), np.zeros(98)], np.arange(100), 0.02)]).detectable())


def test_the_smallest_detectable_difference_needs_as_many_as_there_are():
    found = estimate([of(np.random.default_rng(5).normal(0, 1, 50))])
    assert found.needed(found.detectable(0.9) * 1.0001, power=0.9) == 50
    assert found.needed(1e-9) is None


def test_a_ratio_over_other_queries_of_the_same_core_queries():
    values, kept = np.array([1.0, 0.0, 1.0, 0.0] * 6), np.array([True, False, True, True] * 6)
    cores = np.repeat(np.arange(12), 2)
    found = ratio_difference(Cores.of(values, cores), Cores.of(np.where(kept, values, np.nan), cores))
    assert found.mean == pytest.approx(values[kept].mean() - values.mean())
    assert found.core_queries == 12


def test_wilsons_interval_of_no_success_is_no_point():
    assert wilson(0.0, 12, 11)[0] == 0
    assert 0.2 < wilson(0.0, 12, 11)[1] < 0.3
    assert is_binary(np.array([0.0, 1.0]), 0.0)
    assert not is_binary(np.array([0.0, 1.0]), -1.0)
