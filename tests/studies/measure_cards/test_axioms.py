"""Stored counterexamples are some, and where none is stored hypothesis finds none either."""

import functools
import json
import runpy
from dataclasses import replace

import pytest
from command import ROOT, tandem
from hypothesis import given
from hypothesis import strategies as st

import tandem_ir
from toolkit import registry
from toolkit.core.specs import MeasureSpec
from toolkit.studies.measure_cards import card_tables
from toolkit.studies.measure_cards.axioms import AXIOMS, Case, contradicted, counterexamples, forms, held, values

SCRIPT = runpy.run_path(str(ROOT / "scripts" / "find_counterexamples"))
BY_NAME = {axiom.name: axiom for axiom in AXIOMS}
STORED = [(axiom, measure) for axiom, rows in counterexamples().items() for measure in rows]


@pytest.mark.parametrize(("axiom", "measure"), STORED)
def test_a_stored_case_contradicts_its_axiom_with_the_stored_values(axiom, measure):
    stored = counterexamples()[axiom][measure]
    found = contradicted(BY_NAME[axiom], [measure], stored.case)
    assert found[measure] == pytest.approx((stored.before, stored.after), abs=1e-8)


@pytest.mark.parametrize("axiom", AXIOMS, ids=lambda axiom: axiom.name)
def test_no_other_measure_is_contradicted(axiom):
    others = [measure for measure in held() if measure not in counterexamples()[axiom.name]]

    @given(st.integers(2, 6).flatmap(functools.partial(SCRIPT["cases"], axiom.name)))
    def holds(case: Case):
        # a new measure, or one that changed: run scripts/find_counterexamples, and look at what it found
        assert contradicted(axiom, others, case) == {}

    holds()


def test_every_stored_name_is_an_axiom_and_a_measure_that_is_held_to_it():
    assert list(counterexamples()) == list(BY_NAME)
    for axiom, measure in STORED:
        assert measure in held()
        assert BY_NAME[axiom].is_about(registry.measure(measure))


def test_an_axiom_that_a_measure_breaks_is_seen():
    """GoldRank with its direction exchanged breaks `rise` in the simplest case: b relevant, below a, moves up."""
    labels = {"ori": {"b": 1}, "ins": {"b": 1}, "rev": {"a": 1}}
    case = Case(dict.fromkeys(("ori", "ins", "rev"), ("a", "b")), labels, {"doc": "b"})
    rise = BY_NAME["rise"]
    assert contradicted(rise, ["GoldRank"], case) == {}
    higher = replace(rise, broken=lambda spec, before, after: after < before)
    assert contradicted(higher, ["GoldRank"], case) == {"GoldRank": (2.0, 1.0)}


def test_wise_takes_half_a_point_from_a_gold_document_that_rises():
    """(R_ori, R_ins, R_rev): (2, 2, 1) gives 0 by the fifth case of WISE, (2, 1, 1) gives (1 - 2) / 2 by the sixth."""
    labels = {"ori": {"a": 0, "b": 1}, "ins": {"a": 0, "b": 1}, "rev": {"a": 0, "b": 0}}
    case = Case({"ori": ("a", "b"), "ins": ("a", "b"), "rev": ("b", "a")}, labels, {"doc": "b"})
    assert contradicted(BY_NAME["rise"], ["WISE"], case) == {"WISE": (0.0, -0.5)}


def test_a_change_that_is_none_contradicts_nothing():
    case = Case(dict.fromkeys(("ori", "ins", "rev"), ("a", "b")), {"ori": {"a": 1}, "ins": {"a": 1}, "rev": {}}, {"doc": "a"})
    assert contradicted(BY_NAME["rise"], held(), case) == {}  # a is first


def test_equal_scores_that_keep_the_order_of_the_file_do_change_a_value():
    labels = {"ori": {"a": 1, "b": 1}, "ins": {"a": 1, "b": 0}, "rev": {"a": 0, "b": 1}}
    case = Case(dict.fromkeys(("ori", "ins", "rev"), ("a", "b")), labels, {"order": ("b", "a")})
    assert contradicted(BY_NAME["ties"], ["pMRR(ties='file')"], case)
    assert contradicted(BY_NAME["ties"], ["pMRR"], case) == {}


def test_a_measure_is_held_in_every_variant():
    assert forms(registry.measures()["SICR"]) == ["SICR", "SICR(variant='release')"]
    assert forms(registry.measures()["Robustness"]) == ["Robustness@3"]
    unknown = MeasureSpec("X", title="", text="", function="", over="mode", source="")
    assert forms(unknown) == ["X"]


def test_values_are_those_of_the_instructed_mode():
    lists = {"ori": ("a", "b"), "ins": ("b", "a"), "rev": ("a", "b")}
    found = values(["GoldRank", "WISE"], Case(lists, {mode: {"a": 1, "b": 0} for mode in lists}))
    assert found == {"GoldRank": 2.0, "WISE": -0.5}


def test_the_table_has_every_measure_and_axiom():
    shown = json.loads(tandem("measures", "axioms", "--format", "json").stdout)["rows"]
    assert [row["measure"] for row in shown] == list(held())
    assert {(axiom, row["measure"]) for row in shown for axiom in BY_NAME if row[axiom] == "no"} == set(STORED)


def test_a_card_prints_its_counterexamples():
    shown = tandem("measures", "show", "WISE").stdout
    stored = counterexamples()["rise"]["WISE"]
    assert card_tables.in_words(BY_NAME["rise"], stored) in shown
    assert "axiom" not in tandem("measures", "show", "WISE_per").stdout


def test_python_has_the_same_table():
    frame = tandem_ir.measure_axioms().to_frame().set_index("measure")
    assert {(axiom, measure) for axiom in BY_NAME for measure in frame.index[frame[axiom] == "no"]} == set(STORED)
