"""Corrected values and their intervals, on made-up judges whose truth is known."""

import itertools

import numpy as np
import pytest

from toolkit.judge.prediction_powered import Answers, Confusion, corrected_mean, corrected_mrecall, covered


def test_the_corrected_mean_is_the_judges_less_its_mean_error():
    # the judge says 0.75 of all; on four labelled units it says 1, 1, 0, 1 where people say 1, 0, 0, 0
    found = corrected_mean([1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 0, 0])
    assert found.value == pytest.approx(0.75 - 0.5)
    assert found.low <= found.value <= found.high


def test_a_judge_that_agrees_everywhere_leaves_its_own_interval():
    values = [0, 1, 1, 1, 0, 1, 0, 1]
    found = corrected_mean(values, values, values)
    # no error: the variance is that of the mean alone, 5/8 * 3/8 / 7 by hand, with t(7) = 2.3646
    reach = 2.364624 * (5 / 8 * 3 / 8 / 7) ** 0.5  # 0.43: the upper end stays a share
    assert found == pytest.approx((0.625, 0.625 - reach, 1.0), abs=1e-5)


def test_units_of_one_group_count_once():
    labelled = [1, 0, 1, 1]
    alone = corrected_mean(labelled * 5, labelled * 5, [0, 0, 1, 1] * 5)
    groups = list(range(4)) * 5
    together = corrected_mean(labelled * 5, labelled * 5, [0, 0, 1, 1] * 5, groups=groups, labelled_groups=groups)
    assert together.value == alone.value
    assert together.high - together.low > alone.high - alone.low


def test_one_labelled_group_says_nothing():
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


def test_the_probability_of_covering_is_that_of_all_outcomes():
    # perspective 1: two yes, one no; perspective 2: three no; perspective 3: one yes, two no
    yes, no, right, missed = [2, 0, 1], [1, 3, 2], 0.9, 0.1
    held = [1 - 0.1**y * 0.9**n for y, n in zip(yes, no, strict=True)]
    for k in (1, 2, 3, 5):
        expected = 0
        for outcome in itertools.product([0, 1], repeat=3):
            if sum(outcome) >= min(3, k):
                expected += np.prod([p if o else 1 - p for p, o in zip(held, outcome, strict=True)])
        found = covered(np.array([yes]), np.array([no]), np.array([3]), k, right, missed)
        assert found == pytest.approx([expected])


def test_a_judge_without_error_leaves_mrecall_as_it_is():
    answers = [Answers((1, 2), (4, 3)), Answers((0, 1), (5, 4)), Answers((1,) * 7, (4,) * 7)]
    found = corrected_mrecall(answers, Confusion(1000, 0, 0, 1000), 5)
    assert found.value == pytest.approx(2 / 3)


def test_fewer_perspectives_than_the_widest_question_are_not_counted_as_lacking():
    alone = corrected_mrecall([Answers((1,), (0,))], Confusion(10, 0, 0, 10), 5)
    wide = corrected_mrecall([Answers((1,), (0,)), Answers((0, 0, 0), (1, 1, 1))], Confusion(10, 0, 0, 10), 5)
    assert (alone.value, wide.value) == (1.0, 0.5)


def test_intervals_of_mrecall_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(1)
    k, questions, repeats, hits, naive = 5, 100, 80, 0, 0
    rate, sensitivity, false = 0.15, 0.8, 0.1

    def pairs(count):
        true = rng.random((count, k)) < rate
        return true, np.where(true, rng.random(true.shape) < sensitivity, rng.random(true.shape) < false)

    # a perspective is held by one of five documents with 1 - 0.85**5; all of two are
    truth = (1 - (1 - rate) ** k) ** 2
    for _ in range(repeats):
        said = [pairs(2)[1] for _ in range(questions)]
        true, told = (part.ravel() for part in pairs(120))  # 600 labelled pairs
        confusion = Confusion(*(int(((told == y) & (true == t)).sum()) for y in (1, 0) for t in (1, 0)))
        answers = [Answers(tuple(one.sum(1)), tuple(k - one.sum(1))) for one in said]
        found = corrected_mrecall(answers, confusion, k, draws=150)
        hits += found.low <= truth <= found.high
        plain = np.array([one.any(1).all() for one in said])
        naive += abs(plain.mean() - truth) <= 1.96 * plain.std() / questions**0.5
    assert 0.9 <= hits / repeats <= 0.99
    assert naive / repeats < 0.9
