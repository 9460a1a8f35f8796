"""What Python users have for a run and qrels is taken as it is, and anything else is one clear error."""

from collections import namedtuple

import ir_measures
import numpy as np
import pandas
import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run, ScoredDoc
from toolkit.evaluation import evaluate
from toolkit.files.formats import write_qrels, write_run
from toolkit.files.runs.conversion import as_qrels, as_run

ROWS = [("7", "a", 2.0), ("7", "007", 1.0), ("8", "a", 0.5)]
SCORES = {"7": {"a": 2.0, "007": 1.0}, "8": {"a": 0.5}}
LABELS = [("7", "007", 1), ("8", "a", 2)]
JUDGED = {"7": {"007": 1}, "8": {"a": 2}}


class RanxRun:
    """As ranx has it: neither a dictionary nor a DataFrame."""

    def __init__(self, content, name=None):
        self.run, self.name = content, name

    def to_dict(self):
        return self.run


class RanxQrels(RanxRun):
    def __init__(self, content):
        self.qrels, self.name = content, None

    def to_dict(self):
        return self.qrels


def frame(rows, *names):
    return pandas.DataFrame(rows, columns=names)


Listed = namedtuple("Listed", "query_id doc_id score")  # ir_datasets' GenericScoredDoc
RUNS = {
    "Run": Run.from_dict(SCORES),
    "frame": frame(ROWS, "query_id", "doc_id", "score"),
    "PyTerrier": frame(ROWS, "qid", "docno", "score").assign(docid=[1, 2, 1], rank=[0, 1, 0]),
    "ranx frame": frame(ROWS, "q_id", "doc_id", "score"),
    "numbers": frame([(int(q), d, s) for q, d, s in ROWS], "qid", "docid", "score"),
    "categories": frame(ROWS, "qid", "docno", "score").astype({"qid": "category"}),
    "float32": frame(ROWS, "qid", "docno", "score").astype({"score": np.float32}),
    "dictionary": SCORES,
    "integers": {7: SCORES["7"], 8: SCORES["8"]},
    "ranx": RanxRun(SCORES, "bm25"),
    "our documents": [ScoredDoc(*row) for row in ROWS],
    "ir_measures' documents": [ir_measures.ScoredDoc(*row) for row in ROWS],
    "ir_datasets' documents": [Listed(*row) for row in ROWS],
    "tuples": ROWS,
    "lists": [list(row) for row in ROWS],
    "numpy's numbers": [(q, d, np.float32(s)) for q, d, s in ROWS],
}
QRELS = {
    "Qrels": Qrels.from_rows([Qrel(*row) for row in LABELS]),
    "frame": frame(LABELS, "query_id", "doc_id", "relevance"),
    "PyTerrier": frame(LABELS, "qid", "docno", "label"),
    "ranx frame": frame(LABELS, "q_id", "doc_id", "score"),
    "whole floats": frame(LABELS, "qid", "docno", "label").astype({"label": float}),
    "dictionary": JUDGED,
    "ranx": RanxQrels(JUDGED),
    "our judgments": [Qrel(*row) for row in LABELS],
    "ir_measures' judgments": [ir_measures.Qrel(*row) for row in LABELS],
    "tuples": LABELS,
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_run_is_the_same_run(run):
    assert as_run(run).to_dict() == SCORES
    assert as_run(run).tag == ("bm25" if isinstance(run, RanxRun) else "")


@pytest.mark.parametrize("qrels", QRELS.values(), ids=QRELS)
def test_every_qrels_are_the_same_qrels(qrels):
    assert list(as_qrels(qrels)) == [Qrel(*row) for row in LABELS]


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_run_is_evaluated_by_itself_and_among_several(run):
    assert evaluate(run, qrels=JUDGED, measures=["RR"])["RR"] == 0.75  # (1/2 + 1) / 2
    other = Run.from_dict({"7": {"007": 1.0}, "8": {"a": 1.0}}, tag="best")
    scores = evaluate([run, other], qrels=JUDGED, measures=["RR"])
    assert scores.value("RR", run="best") == 1
    assert sorted(row.value for row in scores.rows) == [0.75, 1]


@pytest.mark.parametrize("qrels", QRELS.values(), ids=QRELS)
def test_every_qrels_judge(qrels):
    assert evaluate(SCORES, qrels=qrels, measures=["RR"])["RR"] == 0.75


def test_paths_are_read(tmp_path):
    write_run(Run.from_dict(SCORES), tmp_path / "run")
    write_qrels(as_qrels(LABELS), tmp_path / "qrels")
    for path in (tmp_path, str(tmp_path)):
        assert as_run(f"{path}/run").to_dict() == SCORES
    assert list(as_qrels(tmp_path / "qrels")) == [Qrel(*row) for row in LABELS]


def test_a_generator_and_iterations_and_a_tag_column():
    assert as_run(row for row in ROWS).to_dict() == SCORES
    assert as_qrels(frame([("q", "d", 1, "side")], "qid", "docno", "label", "iteration")).iterations == ("side",)
    assert as_qrels([("q", "d", 1, "side")]).iterations == ("side",)
    assert as_run(frame([(*row, "my model") for row in ROWS], "qid", "docno", "score", "tag")).tag == "my-model"
    assert as_run(Run.from_dict(SCORES).to_frame()).to_dict() == SCORES


def test_modes_are_told_from_queries():
    scores = evaluate(
        {"ori": {"a-1": {"d": 1.0}}, "ins": [("a-1", "d", 2.0)]},
        qrels={"ori": {"a-1": {"d": 1}}, "ins": [("a-1", "d", 0)]},
        measures=["RR"],
    )
    assert [scores.value("RR", mode) for mode in ("ori", "ins")] == [1, 0]


@pytest.mark.parametrize(
    "value",
    [None, 3, {"q": 1.0}, {"q": ["d"]}, ["q", "d", "e"], [("q", "d")], [("q", "d", "best")], [{"query_id": "q"}], Qrels],
    ids=str,
)
def test_anything_else_is_one_error_with_the_forms(value):
    for convert, noun in ((as_run, "run"), (as_qrels, "qrels")):
        with pytest.raises(ToolkitError, match=f"no {noun}: {type(value).__name__}") as caught:
            convert(value)
        assert "DataFrame" in caught.value.hint


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (frame([("q", "d")], "query_id", "doc_id"), "no column score"),
        (frame([("q", "d", 1.0)], "query", "document", "score"), "no column query_id, doc_id"),
        (frame([(7.0, "d", 1.0)], "qid", "docno", "score"), "query_id 7.0 is no id"),
        (frame([(None, "d", 1.0)], "qid", "docno", "score"), "query_id .* is no id"),
        (frame([("q", "d", "best")], "qid", "docno", "score"), "score is no number"),
        ([("q", "d", 1.0), ("q", "d", 2.0)], "a query has the same document twice"),
        ({"q": {"d": float("nan")}}, "score nan of document d in query q is not a finite number"),
        ({"q": {"d": None}}, "score nan|score is no number"),
    ],
)
def test_what_is_wrong_with_a_run_is_named(value, message):
    with pytest.raises(ToolkitError, match=message):
        as_run(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"q": {"d": 0.5}}, "relevance 0.5 is not a whole number"),
        ([("q", "d", 1), ("q", "d", 2)], "document d of query q has two labels"),
        ([("q", "d", 1), ("q", "e", 1, "side")], "qrels with rows of 3 and of 4 columns"),
        ({"q": {"d": True}, "r": {True: 1}}, "doc_id True is no id"),
    ],
)
def test_what_is_wrong_with_qrels_is_named(value, message):
    with pytest.raises(ToolkitError, match=message):
        as_qrels(value)


def test_equal_judgments_twice_and_of_two_perspectives_stay():
    rows = [("q", "d", 1, "a"), ("q", "d", 1, "a"), ("q", "d", 0, "b")]
    assert len(as_qrels(rows)) == 3
