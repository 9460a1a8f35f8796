"""A measure is one row and one function: direction, needs and exports come from the row."""

import math
from types import SimpleNamespace

import ir_measures
import pytest
from ir_measures import Qrel, ScoredDoc, nDCG
from ir_measures.measures import registry as known_to_ir_measures

from toolkit import metrics, registry
from toolkit.core.modes import Modes
from toolkit.core.runs import Run
from toolkit.core.specs import MeasureSpec
from toolkit.evaluation import evaluate
from toolkit.metrics import definitions
from toolkit.metrics.compute import function_of
from toolkit.metrics.families import paired, perspectives
from toolkit.reporting.report.differences import best
from toolkit.reporting.report.model import Key

ROW = {"title": "A toy", "text": "A toy.", "source": "this test"}
CUTOFF = {"cutoff": {"type": "int", "default": 2, "text": "k"}, "ties": {"type": "str", "default": "trec", "text": "order"}}


@pytest.fixture
def add(monkeypatch):
    """Adds a row for the time of a test, and gives its measure."""

    def added(function, module, **row):
        spec = MeasureSpec("Toy", function=f"{module.__name__.removeprefix('toolkit.metrics.')}.toy", **ROW, **row)
        monkeypatch.setattr(module, "toy", function, raising=False)
        monkeypatch.setitem(registry.measures(), "Toy", spec)
        measure = definitions.define(spec)
        for names in (definitions.MEASURES, known_to_ir_measures):
            monkeypatch.setitem(names, "Toy", measure)
        return measure

    return added


def best_of(measure, values):
    """Which of these runs a report marks as the best."""
    runs = [SimpleNamespace(name=name, value=lambda *_, value=value: value) for name, value in values.items()]
    found = best(SimpleNamespace(judgments=SimpleNamespace(modes=Modes())), runs, Key("all", measure, ""))
    return found


def test_every_row_names_a_function_and_measures_that_exist():
    for spec in registry.measures().values():
        assert callable(function_of(spec)), spec.name
        for other in spec.related:
            assert other in registry.measures() or other in known_to_ir_measures, spec.name
        assert spec.over == "aggregate" or (spec.name in metrics.__all__ and str(getattr(metrics, spec.name)) == spec.name)


def test_a_measure_of_one_mode_is_a_row_and_a_function(add):
    def toy(found, cutoff):
        """How many judged documents stand in the top k."""
        return found.total(~found.missing & (found.ranks <= cutoff))

    toy = add(toy, perspectives, over="mode", worst=0.0, direction="lower", parameters=CUTOFF)
    qrels = [Qrel("q", "a", 1), Qrel("q", "b", 0), Qrel("p", "a", 1)]
    run = [ScoredDoc("q", "a", 3.0), ScoredDoc("q", "x", 2.0), ScoredDoc("q", "b", 1.0), ScoredDoc("p", "x", 1.0)]
    assert str(ir_measures.parse_measure("Toy@3")) == "Toy@3"
    assert ir_measures.calc_aggregate([toy, toy @ 3, nDCG @ 1], qrels, run) == {toy: 0.5, toy @ 3: 1.0, nDCG @ 1: 0.5}
    scores = evaluate(Run.from_rows(run, tag="mine"), qrels=metrics.evaluation.as_qrels(qrels), measures=["Toy@3"])
    assert scores.value("Toy@3", mode="", group="all", run="mine") == 1.0
    assert best_of("Toy@3", {"first": 0.1, "second": 0.2}) == ["first"]


def test_a_paired_measure_has_its_needs_and_its_worst_value_from_the_row(add):
    def toy(pairs):
        """By how many ranks gold documents rise when instructed."""
        return pairs.mean((pairs.ranks[:, 0] - pairs.ranks[:, 1]).astype(float), pairs.gold)

    row = {"over": "paired", "needs": ["gold"], "modes": ["base", "instructed"], "worst": -9.0, "direction": "none"}
    toy = add(toy, paired, **row, parameters={"ties": CUTOFF["ties"]})
    qrels = [Qrel(f"{q}-{mode}", "g", 1) for q in ("a", "b") for mode in ("ori", "ins")] + [
        Qrel("c-ori", "n", 1),
        Qrel("c-ins", "n", 0),
    ]
    # a: 2 -> 1; b is absent when instructed; c has no gold document
    ranked = {"a-ori": "xg", "a-ins": "gx", "b-ori": "g", "c-ori": "n", "c-ins": "n"}
    run = [ScoredDoc(q, doc, -float(i)) for q, docs in ranked.items() for i, doc in enumerate(docs)]
    assert {m.query_id: m.value for m in toy.iter_calc(qrels, run)} == {"a": 1.0, "b": -9.0}
    scores = evaluate(Run.from_rows(run, tag="mine"), qrels=metrics.evaluation.as_qrels(qrels), measures=["Toy"])
    assert scores.value("Toy", mode="paired", group="all", run="mine") == (1 - 9) / 2
    assert "mine: 1 query (c) without a gold document: left out of Toy" in scores.notes
    assert best_of("Toy", {"first": 0.1, "second": 0.2}) == []


def test_what_needs_a_reversed_mode_is_left_out_without_one(add):
    toy = add(lambda pairs: pairs.mean(np_ones(pairs), pairs.gold), paired, over="paired", needs=["gold", "reversed"],
              parameters={"ties": CUTOFF["ties"]})  # fmt: skip
    qrels = [Qrel(f"a-{mode}", "g", 1) for mode in ("ori", "ins", "rev")]
    run = [ScoredDoc(qrel.query_id, "g", 1.0) for qrel in qrels]
    assert toy.calc_aggregate(qrels, run) == 1.0
    assert math.isnan(toy.calc_aggregate(qrels[:2], run))


def np_ones(pairs):
    """One a document."""
    return pairs.ranks[:, 0] * 0.0 + 1
