"""analyze order: the golden values of the InstructIR analyses, as a function and as a command."""

import csv
import io
import json
from pathlib import Path

import pytest
from command import tandem
from scipy import stats

from toolkit.evaluation.analyses.instances import FOUND
from toolkit.evaluation.analyses.order import order
from toolkit.evaluation.scores.judgments import from_files
from toolkit.evaluation.scores.run_inputs import as_sources
from toolkit.files.formats import read_run

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "instructed"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())["order"]
MEASURES = ("nDCG@10", "Robustness@10")


@pytest.fixture(scope="module")
def judged():
    return from_files(as_sources(str(GOLDEN / "qrels.txt")))


def runs(*names):
    return [read_run(GOLDEN / f"{name}.trec") for name in names]


@pytest.mark.parametrize(
    ("mode", "golden"), [("instruction-first", "original"), ("query-first", "query-first"), ("gap", "gap")]
)
def test_golden_values(judged, mode, golden):
    scores = order(*runs("original", "query-first"), judged)
    for measure in MEASURES:
        assert scores.value(measure, mode=mode) == pytest.approx(EXPECTED[golden][measure], abs=1e-12)


def test_rows_say_over_how_many_instances_and_groups(judged):
    scores = order(*runs("original", "query-first"), judged)
    assert {(row.measure, row.queries) for row in scores.rows} == {("nDCG@10", 72), ("Robustness@10", 12)}


def test_an_instance_that_one_run_lacks_is_named(judged):
    scores = order(*runs("original", "query-first"), judged)
    assert any(note.startswith("query-first, q: 1 query (87_6)") for note in scores.notes)


def test_a_run_against_itself_has_no_gap_and_is_not_tested(judged):
    original = runs("original")[0]
    scores = order(original, original, judged)
    assert {scores.value(measure, mode="gap") for measure in MEASURES} == {0.0}
    assert {str(scores.value(measure, mode=mode)) for measure in MEASURES for mode in FOUND} == {"nan"}
    assert "nDCG@10: 0 of 12 core queries differ: not tested" in scores.notes


def test_the_gap_of_core_queries_of_one_size_has_students_interval(judged):
    first, second = runs("original", "query-first")
    scores = order(first, second, judged, by_query=True)
    gaps = [row.value for row in scores.rows if (row.measure, row.mode) == ("nDCG@10", "gap") and row.query_id]
    low, high, p = (
        next(row.value for row in scores.rows if (row.measure, row.mode) == ("nDCG@10", mode) and not row.query_id)
        for mode in FOUND
    )
    found = stats.ttest_1samp(gaps, 0)
    assert p == pytest.approx(found.pvalue)
    assert (low, high) == pytest.approx(tuple(found.confidence_interval()))


def test_the_command_prints_the_long_table():
    command = ["analyze", "order", GOLDEN / "original.trec", GOLDEN / "query-first.trec"]
    command += ["--qrels", str(GOLDEN / "qrels.txt"), "--format", "csv", "--by-query"]
    done = tandem(*command, check=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0]) == ["run", "group", "mode", "measure", "value", "queries", "query_id"]
    total = [row for row in rows if row["mode"] == "gap" and row["measure"] == "nDCG@10"]
    assert float(total[0]["value"]) == pytest.approx(EXPECTED["gap"]["nDCG@10"], abs=1e-12)
    of_groups = sum(float(row["value"]) * int(row["queries"]) for row in total[1:])
    assert of_groups / 72 == pytest.approx(EXPECTED["gap"]["nDCG@10"], abs=1e-12)
    assert "of 72 instances 17 score higher query first, 39 lower, 16 equally" in done.stderr


def test_a_run_of_something_else_is_refused(tmp_path):
    other = tmp_path / "other.trec"
    other.write_text("q1 Q0 d1 1 2.0 x\n")
    command = ["analyze", "order", other, GOLDEN / "query-first.trec"]
    done = tandem(*command, "--qrels", GOLDEN / "qrels.txt")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {other} has no query of ")
