"""Outcomes, and what is said of queries that moved."""

import math

import pytest

from toolkit.core.runs import Run
from toolkit.studies.regress.replay import Check, changed_queries, near, worst


@pytest.mark.parametrize(
    ("got", "tolerance", "deterministic", "outcome"),
    [
        (0.5, 0, True, "OK"),
        (0.5000000000000001, 0, True, "FAIL"),
        (0.5000000000000001, 0, False, "OKish"),
        (0.5004, 0, False, "OKish"),
        (0.5006, 0, False, "FAIL"),
        (0.501, 0.01, True, "OK"),
        (None, 0, False, "FAIL"),
        (math.nan, 0, False, "FAIL"),
    ],
)
def test_a_number_is_ok_near_for_models_alone_or_a_failure(got, tolerance, deterministic, outcome):
    assert near("AP", 0.5, got, tolerance=tolerance, deterministic=deterministic).outcome == outcome


def test_an_undefined_number_is_expected_to_be_undefined():
    assert near("AP", math.nan, math.nan, tolerance=0, deterministic=True).outcome == "OK"


@pytest.mark.parametrize(
    ("outcomes", "whole"),
    [
        ([], "OK"),
        (["OK", ""], "OK"),
        (["OK", "OKish"], "OKish"),
        (["OKish", "MISSING"], "MISSING"),
        (["MISSING", "FAIL", "OK"], "FAIL"),
    ],
)
def test_the_worst_outcome_is_that_of_the_whole(outcomes, whole):
    assert worst(Check("", "", "", outcome) for outcome in outcomes) == whole


def test_each_query_that_moved_is_told_with_its_first_rank():
    before = Run.from_dict({"q1": {"a": 3, "b": 2}, "q2": {"a": 1}, "q3": {"a": 2, "b": 1}, "q4": {"a": 1}})
    after = Run.from_dict({"q5": {"a": 1}, "q3": {"a": 2}, "q2": {"a": 1}, "q1": {"b": 3, "a": 2}})
    assert changed_queries(before, after) == [
        "q1: 2 of 2 ranks differ, first rank 1: a 3.0 -> b 3.0",
        "q3: 1 of 2 ranks differ, first rank 2: b 1.0 -> nothing",
        "q4: is not in the new run",
        "q5: is not in the baseline",
    ]


def test_equal_runs_moved_nothing_whatever_the_order_of_queries():
    run = Run.from_dict({"q1": {"a": 2, "b": 1}, "q2": {"a": 1}})
    assert changed_queries(run, Run.from_dict({"q2": {"a": 1}, "q1": {"a": 2, "b": 1}})) == []
