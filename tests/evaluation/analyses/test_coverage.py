"""analyze coverage: the golden values, as a function and as a command."""

import json
import math
from pathlib import Path

import pytest
from command import tandem

from toolkit import metrics
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation.analyses.coverage import coverage
from toolkit.evaluation.scores.judgments import Judgments, Part, from_files
from toolkit.evaluation.scores.run_inputs import as_sources
from toolkit.files.formats import read_run

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "coverage"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())


@pytest.fixture(scope="module")
def judged():
    return from_files(as_sources(str(GOLDEN / "qrels.subtopics.txt")))


@pytest.fixture(scope="module")
def runs():
    return [read_run(GOLDEN / f"run.{name}.trec") for name in "ab"]


def by_query(scores, run, measure):
    rows = [row for row in scores.rows if (row.run, row.measure) == (run, measure) and row.query_id]
    return {row.query_id: None if math.isnan(row.value) else row.value for row in rows}


def test_golden_values(judged, runs):
    scores = coverage(runs, judged, by_query=True)
    for run, expected in ((run.tag, EXPECTED[name]) for run, name in zip(runs, "ab", strict=True)):
        assert by_query(scores, run, "CoveringPrefix@100") == expected["smallest_prefix"]
        assert scores.value("CoveringPrefix@100", mode="", run=run) == expected["mean_smallest_prefix"]
        assert scores.value("Covered@100", mode="", run=run) == expected["share_covered"]
    assert by_query(scores, "union", "Covered@100") == EXPECTED["union"]["per_query"]
    assert scores.value("Covered@100", mode="", run="union") == pytest.approx(EXPECTED["union"]["aggregate"], abs=1e-15)


def test_every_number_has_its_denominator(judged, runs):
    scores = coverage(runs, judged)
    counts = {(row.run, row.measure): row.queries for row in scores.rows}
    a, b = (run.tag for run in runs)
    expected = {(tag, measure): count for tag in (a, b) for measure, count in (("CoveringPrefix@100", 8), ("Covered@100", 12))}
    assert counts == expected | {("union", "Covered@100"): 12}
    assert f"{b}: covers 8 of 12 questions; 1 are absent from the run (C10)" in scores.notes


@pytest.mark.parametrize(("depth", "measure"), [(5, "MRecall@5"), (100, "MRecall@100")])
def test_mrecall_of_the_golden_values(judged, runs, depth, measure):
    for run, name in zip(runs, "ab", strict=True):
        (part,) = metrics.evaluate([measure], run, judged.qrels)
        assert float(part.values.mean()) == pytest.approx(EXPECTED[name][measure], abs=1e-15)


def test_unanswered_pairs_hold_nothing_and_are_counted():
    qrels = Qrels.from_rows([Qrel("q", "a", 1, "1"), Qrel("q", "b", -1, "2")])
    scores = coverage(
        [Run.from_dict({"q": {"a": 2.0, "b": 1.0}}, tag="x")], Judgments("files", Modes(), (Part("all", qrels),), ())
    )
    assert math.isnan(scores.value("CoveringPrefix@100", mode=""))
    assert scores.value("Covered@100", mode="") == 0
    assert any(note.startswith("1 of 2 pairs of a document and a perspective are unanswered") for note in scores.notes)


def test_groups_and_their_average():
    parts = [
        Part(group, Qrels.from_rows([Qrel(f"{group}{n}", "a", 1, "1") for n in range(2)] + [Qrel(f"{group}0", doc, 1, "2")]))
        for group, doc in (("x", "b"), ("y", "absent"))
    ]
    run = Run.from_dict({query: {"a": 2.0, "b": 1.0} for query in ("x0", "x1", "y0", "y1")}, tag="r")
    scores = coverage([run], Judgments("files", Modes(), tuple(parts), ()))
    # x: 2 and 1 documents; y: y0 is never covered
    assert {row.group: row.value for row in scores.rows if row.measure == "CoveringPrefix@100"} == {
        "x": 1.5,
        "y": 1.0,
        "average": 1.25,
    }
    assert {row.group: row.value for row in scores.rows if row.measure == "Covered@100"} == {"x": 1, "y": 0.5, "average": 0.75}


def test_qrels_without_perspectives_are_refused(runs):
    plain = Judgments("files", Modes(), (Part("all", Qrels.from_rows([Qrel("q", "a", 1)], source="plain.txt")),), ())
    with pytest.raises(ToolkitError, match=r"plain.txt: the second column names no perspectives"):
        coverage(runs, plain)


def test_command_prints_a_table_or_rows():
    command = ["analyze", "coverage", "run.a.trec", "run.b.trec", "--qrels", "qrels.subtopics.txt"]
    table = tandem(*command, cwd=GOLDEN)
    assert table.returncode == 0, table.stderr
    assert [line.split()[-1] for line in table.stdout.splitlines()[2:7]] == ["18.7500", "0.6667", "37.6250", "0.6667", "0.8333"]
    done = tandem(*command, "--format", "json", "--by-query", cwd=GOLDEN)
    rows = json.loads(done.stdout)["rows"]
    assert [row["value"] for row in rows if row["query_id"] == "C02"] == [None, 0, 61, 1, 1]


def test_a_run_given_twice_is_refused(judged, runs):
    with pytest.raises(ToolkitError, match=r"run\.a\.trec is given twice"):
        coverage([runs[0], runs[0]], judged)
