"""analyze stance: the golden values, as a function and as a command."""

import json
import math
from pathlib import Path

import pytest
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation.analyses.stance import stance
from toolkit.evaluation.scores.judgments import Judgments, Part, from_files
from toolkit.evaluation.scores.run_inputs import as_sources
from toolkit.evaluation.scores.stance import by_stance, read_stances
from toolkit.files.formats import read_run

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "stance"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
CLASSES = {"supporting": "SupportingOnly@5", "opposing": "OpposingOnly@5", "both": "Both@5", "neither": "Neither@5"}


def judged(name="qrels.subtopics.txt"):
    return from_files(as_sources(str(GOLDEN / name)))


@pytest.fixture(scope="module")
def scores():
    runs = {form: read_run(GOLDEN / f"run.{form}.trec") for form in ("question", "supporting", "opposing")}
    return stance(runs, judged(), by_query=True)


@pytest.fixture(scope="module")
def nothing():
    return stance({"question": read_run(GOLDEN / "null.run.trec")}, judged("null.qrels.subtopics.txt"), by_query=True)


def found(scores, form):
    """The numbers of one form in the shape of the golden file."""

    def value(measure):
        number = scores.value(f"{measure}@5", mode=form)
        return None if math.isnan(number) else pytest.approx(number, abs=1e-12)

    def by_query(measure):
        rows = [row for row in scores.rows if (row.mode, row.measure) == (form, measure) and row.query_id]
        return {row.query_id: None if math.isnan(row.value) else row.value for row in rows}

    counts = [by_query(f"{what}@5") for what in ("SupportingDocuments", "OpposingDocuments", "Documents")]
    bounded = next(row for row in scores.rows if (row.mode, row.measure, row.query_id) == (form, "BoundedLean@5", ""))
    questions = len(counts[0])
    return {
        "questions": questions,
        "stance": {name: value(measure.removesuffix("@5")) for name, measure in CLASSES.items()},
        "lean": {
            "supporting_documents": sum(counts[0].values()),
            "opposing_documents": sum(counts[1].values()),
            "documents": sum(counts[2].values()),
            **{"p": value("P"), "n": value("N"), "delta": value("Lean")},
        },
        "bounded_lean": {"mean": value("BoundedLean"), "undefined": questions - bounded.queries},
        "per_query_class": {
            query_id: next(name for name, measure in CLASSES.items() if by_query(measure)[query_id]) for query_id in counts[0]
        },
        "per_query_counts": {query_id: [its[query_id] for its in counts] for query_id in counts[0]},
        "per_query_bounded_lean": by_query("BoundedLean@5"),
    }


def expected(name):
    return {key: value for key, value in EXPECTED[name].items() if key != "left_out"}


@pytest.mark.parametrize("form", ["question", "supporting", "opposing"])
def test_golden_values(scores, form):
    assert found(scores, form) == expected(form)


def test_golden_shifts_of_the_lean(scores):
    for form, shift in EXPECTED["shift"].items():
        assert scores.value("Lean@5", mode=f"{form} - question") == pytest.approx(shift, abs=1e-12)


def test_golden_values_where_nothing_supports(nothing):
    assert found(nothing, "question") == expected("null")
    assert math.isnan(nothing.value("Lean@5", mode="question"))


def test_left_out_and_undefined_are_counted(scores):
    assert "20 of 24 questions count; 4 have another number of perspectives and are left out" in scores.notes
    (note,) = [note for note in scores.notes if note.startswith("supporting (")]
    assert note.endswith("93 documents; BoundedLean undefined for 3 questions, 1 questions absent from the run (S21)")


QRELS = Qrels.from_rows([Qrel("q", "a", 1, "1"), Qrel("q", "b", 1, "2"), Qrel("r", "a", 1, "10"), Qrel("r", "b", -1, "9")])
JUDGED = Judgments("files", Modes(), (Part("all", QRELS),), ())
RUN = Run.from_dict({"q": {"a": 1.0}, "r": {"a": 1.0, "b": 0.5}}, tag="x")


def test_the_first_perspective_is_that_with_the_lower_number_and_unanswered_pairs_hold_nothing():
    scores = stance({"question": RUN}, JUDGED)
    # q: its first supports; r: a holds 10, the second, and nobody knows what b holds
    assert [scores.value(f"{what}@5", mode="question") for what in ("SupportingOnly", "OpposingOnly")] == [0.5, 0.5]
    assert any("are unanswered" in note for note in scores.notes)


def test_stances_of_a_judge_and_a_question_without():
    scores = stance({"question": RUN}, JUDGED, {"r": "10"})
    assert scores.value("SupportingOnly@5", mode="question") == 1
    assert "the supporting perspective is unknown in 1 more: left out (q)" in scores.notes
    with pytest.raises(ToolkitError, match="perspective 3 of q is said to support"):
        stance({"question": RUN}, JUDGED, {"q": "3"})
    with pytest.raises(ToolkitError, match=r"the supporting perspective is unknown in all of 2 questions \(q, r\)"):
        stance({"question": RUN}, JUDGED, {"other": "1"})


def test_pairs_without_a_line_are_told_of_the_questions_that_count():
    # q2 has three perspectives, and a document x without a line
    more = [*QRELS, *(Qrel("q2", "a", 1, number) for number in "123")]
    judged = Judgments("files", Modes(), (Part("all", Qrels.from_rows(more)),), ())
    run = Run.from_dict({"q": {"a": 1.0, "x": 0.5}, "q2": {"x": 1.0}}, tag="x")
    assert (
        "question: 3 of 4 pairs of a top 5 document and a perspective have no judgment: counted as negative"
        in stance({"question": run}, judged).notes
    )


def test_lists_of_perspectives_are_divided_by_the_side_they_take():
    lists = Run.from_dict({f"{name}": {f"d{name}": 1.0} for name in ("q.1", "q.2", "r.9", "r.10", "other.1")}, tag="x")
    divided = by_stance(lists, JUDGED, {"q": "2", "r": "9"})
    assert {form: run.to_dict() for form, run in divided.items()} == {
        "supporting": {"q": {"dq.2": 1.0}, "r": {"dr.9": 1.0}},
        "opposing": {"q": {"dq.1": 1.0}, "r": {"dr.10": 1.0}},
    }
    with pytest.raises(ToolkitError, match="no list of the supporting perspective"):
        by_stance(lists.select(["q.2"]), JUDGED)


def test_stances_are_read(tmp_path):
    (tmp_path / "s.tsv").write_text("# by hand\nq\t2\nr\t10\n")
    assert read_stances(tmp_path / "s.tsv") == {"q": "2", "r": "10"}
    for text, message in (("q 2\n", "line 1: expected"), ("q\t1\nq\t2\n", "line 2: q comes twice")):
        (tmp_path / "s.tsv").write_text(text)
        with pytest.raises(ToolkitError, match=message):
            read_stances(tmp_path / "s.tsv")


def test_no_question_with_two_sides():
    qrels = Qrels.from_rows([Qrel("q", "a", 1, str(n)) for n in range(3)], source="three.txt")
    with pytest.raises(ToolkitError, match=r"three.txt: no question has two sides"):
        stance({"question": RUN}, Judgments("files", Modes(), (Part("all", qrels),), ()))


def test_command_prints_a_column_a_form():
    forms = ("--supporting", "run.supporting.trec", "--opposing", "run.opposing.trec")
    command = ["analyze", "stance", "run.question.trec", *forms, "--qrels", "qrels.subtopics.txt"]
    table = tandem(*command, cwd=GOLDEN)
    assert table.returncode == 0, table.stderr
    (lean,) = [line.split()[-5:] for line in table.stdout.splitlines() if " Lean@5 " in line]
    assert lean == ["0.5800", "0.7273", "-2.4000", "0.1473", "-2.9800"]
    null = [*command[:2], "null.run.trec", "--qrels", "null.qrels.subtopics.txt", "--format", "json"]
    rows = json.loads(tandem(*null, cwd=GOLDEN).stdout)["rows"]
    assert [row["value"] for row in rows if row["measure"] == "Lean@5"] == [None]
