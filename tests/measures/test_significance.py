"""The paired tests against the golden values, scipy, and what must hold of any test."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from toolkit.measures.significance import draws, effect_size, holm, randomisation, resampled_means, t_test, wilcoxon

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "stats"
INPUTS, EXPECTED = (json.loads((GOLDEN / f"{name}.json").read_text()) for name in ("inputs", "expected"))
SETS = ("n8", "n40", "n40_ties")


def differences(name):
    return np.array(INPUTS[name]["a"]) - np.array(INPUTS[name]["b"])


def test_randomisation_is_exact_where_it_is_small():
    assert randomisation(differences("n8")[:, None])[0] == EXPECTED["n8"]["randomisation"]["p"]


@pytest.mark.parametrize("name", ["n40", "n40_ties"])
@pytest.mark.parametrize("seed", range(5))
def test_drawn_assignments_come_near_the_exact_share(name, seed):
    p, samples = EXPECTED[name]["randomisation"]["p"], 20_000
    drawn = randomisation(differences(name)[:, None], samples=samples, seed=seed)[0]
    assert abs(drawn - p) <= 4 * math.sqrt(p * (1 - p) / samples) + 1 / samples


def test_columns_share_their_assignments_and_stay_apart():
    both = np.stack([differences("n40"), differences("n40_ties")], axis=1)
    together = randomisation(both, samples=2000, seed=3)
    alone = [randomisation(both[:, [column]], samples=2000, seed=3)[0] for column in range(2)]
    assert together[0] == alone[0]
    assert abs(together[1] - alone[1]) < 0.05  # without its zeros the second column draws fewer signs


@pytest.mark.parametrize("name", SETS)
def test_wilcoxon_and_t_are_scipys(name):
    assert wilcoxon(differences(name)) == pytest.approx(EXPECTED[name]["wilcoxon"]["p"], abs=1e-12)
    assert t_test(differences(name)) == pytest.approx(EXPECTED[name]["t"]["p"], abs=1e-12)


@given(arrays.arrays(np.float64, st.integers(2, 80), elements=st.integers(-40, 40).map(lambda number: number / 8)))
def test_tied_or_not_wilcoxon_and_t_are_scipys(values):
    moved = values[values != 0]
    if len(moved):
        exact = len(np.unique(np.abs(moved))) == len(moved) <= 50
        method = "exact" if exact else "asymptotic"
        wanted = stats.wilcoxon(moved, zero_method="wilcox", correction=False, method=method).pvalue
        assert wilcoxon(values) == pytest.approx(wanted, rel=1e-12)
    if np.ptp(values):
        assert t_test(values) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 13, 50])
def test_wilcoxon_is_exact_up_to_fifty_pairs(n):
    values = np.random.default_rng(n).permutation(np.arange(1, n + 1)) * np.random.default_rng(n).choice([-1.0, 1.0], n)
    wanted = stats.wilcoxon(values, zero_method="wilcox", correction=False, method="exact").pvalue
    assert wilcoxon(values) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("family", ["holm_1", "holm_2"])
def test_holm(family):
    assert holm(INPUTS[family]) == pytest.approx(EXPECTED[family], abs=1e-12)


@given(arrays.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1, 1)))
def test_the_sign_of_all_differences_is_no_matter(values):
    ours = [randomisation(values[:, None], samples=200)[0], wilcoxon(values), t_test(values)]
    theirs = [randomisation(-values[:, None], samples=200)[0], wilcoxon(-values), t_test(-values)]
    np.testing.assert_allclose(ours, theirs)
    assert all(0 <= p <= 1 or math.isnan(p) for p in ours)


def test_no_difference_is_no_evidence():
    nothing = np.zeros(20)
    assert (randomisation(nothing[:, None])[0], wilcoxon(nothing), t_test(nothing)) == (1, 1, 1)
    assert math.isnan(effect_size(nothing))
    assert math.isnan(effect_size(np.full(3, 2 / 3)))  # whose standard deviation is 1e-16


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_only_raises_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert all(ours >= given and ours <= 1 for ours, given in zip(adjusted, p_values, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert list(np.array(adjusted)[order]) == sorted(adjusted)


def test_queries_of_one_core_query_are_drawn_together():
    # ten clusters whose queries all say the same: as uncertain as ten queries, not as a hundred
    values = np.repeat(np.random.default_rng(1).normal(size=10), 10)
    generator = np.random.default_rng
    together = resampled_means([(values, np.repeat(np.arange(10), 10))], samples=4000, generator=generator(0))
    alone = resampled_means([(values, np.arange(100))], samples=4000, generator=generator(0))
    assert together.std() == pytest.approx(values.std() / math.sqrt(10), rel=0.1)
    assert alone.std() == pytest.approx(values.std() / math.sqrt(100), rel=0.1)


def test_as_many_core_queries_are_drawn_as_there_are(monkeypatch):
    monkeypatch.setattr("toolkit.measures.significance.DRAWN", 21)  # 3 rows at a time
    rows = np.concatenate(list(draws(7, 500, np.random.default_rng(0))))
    assert rows.shape == (500, 7)
    assert (rows.sum(axis=1) == 7).all()
    assert rows.mean(axis=0) == pytest.approx(np.ones(7), abs=0.15)
    assert rows.var() == pytest.approx(6 / 7, abs=0.1)  # binomial: 7 draws, each with one chance in 7


def test_columns_of_the_same_core_queries_share_their_draws():
    values = np.random.default_rng(1).normal(size=12)
    alone = (values, np.arange(12))
    doubled = (np.repeat(values, 2), np.repeat(np.arange(12), 2))
    means = resampled_means([alone, doubled], samples=300, generator=np.random.default_rng(0))
    np.testing.assert_allclose(means[:, 0], means[:, 1])
