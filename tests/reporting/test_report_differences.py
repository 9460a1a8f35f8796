"""Differences between runs of a report: the same numbers as `evaluate --baseline`, from any run as baseline."""

from dataclasses import astuple
from pathlib import Path

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation.comparison.comparison import Baseline
from toolkit.evaluation.scores.evaluation import prepare
from toolkit.reporting.report import differences as module
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.differences import differences
from toolkit.reporting.report.model import Key

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
PATHS = [BASELINES / f"mfollowir-mini.{name}.v2.trec.gz" for name in ("bm25", "all-minilm-l6-v2")]
QUERIES = [f"q{number:02}" for number in range(12)]
QRELS = Qrels.from_rows([Qrel(query_id, "good", 1) for query_id in QUERIES])


def ranked(tag, second):
    """The relevant document first, in the first `second` queries second."""
    lists = {False: {"good": 2.0, "bad": 1.0}, True: {"bad": 2.0, "good": 1.0}}
    return Run.from_dict({query_id: lists[place < second] for place, query_id in enumerate(QUERIES)}, tag=tag)


@pytest.mark.parametrize("baseline", ["bm25", "all-minilm-l6-v2"])
def test_differences_are_those_of_evaluate_from_either_run(baseline):
    (model,) = collect(PATHS, ["mfollowir-mini"], baseline=baseline)
    found = differences(model)
    assert found.baselines[0] == baseline
    scores = prepare(PATHS, "mfollowir-mini", None, None, "tandem").scores(None, baseline=Baseline(baseline))
    wanted = {(run, Key(group, measure, mode)): change for (run, group, mode, measure), change in scores.changes.items()}
    (other,) = {run for run, _ in wanted}
    assert {(other, key) for key in found.changes[baseline, other]} == set(wanted)
    for (run, key), change in wanted.items():
        own = found.change(baseline, run, key)
        assert (own.state, own.queries, own.up, own.down) == (change.state, change.queries, change.up, change.down)
        numbers = [tuple(value for value in astuple(each) if isinstance(value, float)) for each in (own, change)]
        assert numbers[0] == pytest.approx(numbers[1], abs=1e-9, nan_ok=True)


def test_nothing_differs_from_itself_and_what_no_run_has_is_none():
    (model,) = collect([ranked("a", 0), ranked("b", 6)], qrels=QRELS, measures=["RR"])
    found = differences(model)
    assert found.change("a", "a", Key("all", "RR", "")) is None
    assert found.change("a", "b", Key("all", "RR", "")).difference == -0.25
    assert found.change("b", "a", Key("all", "RR", "")).difference == 0.25
    assert found.change("a", "b", Key("all", "AP", "")) is None


def test_the_baseline_is_bm25s_run_or_the_first_or_the_one_that_is_named():
    runs = [ranked("a", 0), ranked("bm25", 6)]
    assert [each.baseline for each in collect(runs, qrels=QRELS, measures=["RR"])] == ["bm25"]
    assert [each.baseline for each in collect(runs, qrels=QRELS, measures=["RR"], baseline="a")] == ["a"]
    assert [each.baseline for each in collect(runs[:1], qrels=QRELS, measures=["RR"])] == ["a"]
    with pytest.raises(ToolkitError, match="no run is called c") as raised:
        collect(runs, qrels=QRELS, measures=["RR"], baseline="c")
    assert "a, bm25" in raised.value.hint


def test_of_many_runs_the_chosen_one_and_the_best_are_baselines(monkeypatch):
    monkeypatch.setattr(module, "EVERY", 3)
    runs = [ranked(f"r{number}", number) for number in range(4)]
    (model,) = collect(runs, qrels=QRELS, measures=["RR"], baseline="r2")
    found = differences(model)
    assert found.baselines == ("r2", "r0")
    assert set(found.changes) == {(base, f"r{other}") for base in ("r2", "r0") for other in "0123" if base != f"r{other}"}
