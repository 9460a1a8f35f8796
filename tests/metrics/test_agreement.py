"""Whether measures order systems alike."""

import json
import math

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.tables.aligned_table import to_text
from toolkit.metrics.agreement import MOVEMENT, Graded, agreement, between_groups, lay_out, lay_out_between, long_forms, orders
from toolkit.registry import benchmark
from toolkit.registry.published.paper_tables import graded


def published(paper, table=None):
    return [Graded(*row) for row in graded(paper, table)], benchmark(paper).modes


def test_table_1_of_infosearch_agrees_with_the_movement_of_the_gold_document_so_far():
    rows = agreement(orders(*published("infosearch")))
    found = {row.first: row.tau for row in rows if row.second == MOVEMENT}
    assert {name: round(tau, 2) for name, tau in found.items()} == {
        "pMRR": 0.14,
        "WISE": 0.48,
        "SICR": 0.49,
        "nDCG@10 ins": 0.41,
        "Robustness@10 ins": 0.34,
        MOVEMENT: 1.0,
    }
    assert {row.systems for row in rows} == {18}


def test_both_tables_of_mfollowir_have_orders_of_their_own():
    taus = [agreement(orders(*published("mfollowir", table)))[1].tau for table in ("3", "4")]
    assert taus[0] != taus[1]
    assert orders(*published("mfollowir", "3")).keys() == {"nDCG@20", "pMRR"}


def test_the_instructed_mode_counts_and_ranks_count_as_movement():
    rows = [
        Graded("a", "nDCG@10", "ori", 0.9),
        Graded("a", "nDCG@10", "ins", 0.1),
        Graded("a", "GoldRank", "ori", 5.0),
        Graded("a", "GoldRank", "ins", 2.0),
        Graded("a", "GoldRank", "rev", 6.0),
        Graded("b", "GoldRank", "ins", 2.0),  # no reversed mode
        Graded("a", "WISE@20", "", 0.3),
        Graded("a", "WISE_ideal@20", "", 0.9),
        Graded("a", "SICR", "", math.nan),
    ]
    assert orders(rows, benchmark("infosearch").modes) == {
        "nDCG@10 ins": {"a": 0.1},
        "WISE@20": {"a": 0.3},
        MOVEMENT: {"a": 4.0},
    }


def test_opposite_orders_equal_orders_and_ties():
    columns = {"x": {"a": 1, "b": 2, "c": 3}, "y": {"a": 3, "b": 2, "c": 1}, "z": {"a": 1, "b": 1, "c": 2}}
    taus = {(row.first, row.second): row.tau for row in agreement(columns)}
    assert taus["x", "x"] == 1
    assert taus["x", "y"] == -1
    assert taus["x", "z"] == pytest.approx(2 / math.sqrt(3 * 2))  # tau-b: 2 pairs agree, 1 of 3 is tied in z


def test_systems_that_lack_a_measure_are_left_out_of_its_pairs():
    columns = {"x": {"a": 1, "b": 2, "c": 3}, "y": {"a": 2, "b": 1}}
    found = {(row.first, row.second): (row.tau, row.systems) for row in agreement(columns)}
    assert found["x", "y"] == (-1, 2)
    assert found["x", "x"] == (1, 3)


@pytest.mark.parametrize("columns", [{}, {"x": {"a": 1, "b": 2}}, {"x": {"a": 1}, "y": {"a": 1}}])
def test_one_system_or_one_measure_has_nothing_to_agree_with(columns):
    with pytest.raises(ToolkitError, match="orders to compare"):
        agreement(columns)


def test_a_measure_that_is_the_same_for_all_has_no_order():
    rows = agreement({"x": {"a": 1, "b": 2}, "y": {"a": 0, "b": 0}})
    assert math.isnan(rows[1].tau)
    assert to_text([lay_out(rows)]).splitlines()[2].split() == ["x", "1.00", "-"]
    assert json.loads(long_forms(rows, ["a note"])["json"]())["rows"][1] == {
        "first": "x",
        "second": "y",
        "tau": None,
        "systems": 2,
    }
    assert long_forms(rows)["csv"]().splitlines()[2] == "x,y,,2"


def test_public_results_on_sister_sets_agree_in_ndcg_and_hardly_in_p_mrr():
    """The figures of 200 public models, to two decimals."""
    rows, notes = between_groups("followir")
    found = {(row.kind, row.measure, row.mode): [] for row in rows}
    for row in rows:
        found[row.kind, row.measure, row.mode].append(round(row.tau, 2))
    assert found["", "pMRR", ""] == [0.32, 0.37, 0.34]
    assert found["", "nDCG@20", "og"] == [0.76, 0.82, 0.78]
    assert found["", "nDCG@20", "changed"] == [0.79, 0.75, 0.70]
    assert found["", "AP@1000", "og"] == [0.80, 0.84, 0.76]
    assert found["1.18.0", "pMRR", ""] == [0.16, 0.26, 0.22]
    assert found["1.18.0", "nDCG@20", "og"] == [0.66, 0.75, 0.70]
    signs = [row.same_sign for row in rows if (row.kind, row.measure) == ("", "pMRR")]
    assert [round(share, 2) for share in signs] == [0.67, 0.51, 0.52]
    assert {row.systems for row in rows if row.kind == "1.18.0"} == {127}
    assert notes == ["pMRR: |mean over groups| is below 0.02 for 102, below 0.05 for 187 of 200 systems"]
    assert all(row.same_sign is None for row in rows if row.measure != "pMRR")
    assert "1.18.0      pMRR              core17  news21    0.16" in to_text([lay_out_between(rows, notes)])


def test_a_table_of_averages_alone_has_no_groups_to_compare():
    with pytest.raises(ToolkitError, match="no table of instructir has scores of two groups"):
        between_groups("instructir")
    assert {row.first for row in between_groups("infosearch", "2")[0]} >= {"audience", "keyword"}
