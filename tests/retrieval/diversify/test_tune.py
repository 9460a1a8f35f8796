"""Lambda tuned for macro MRecall@5."""

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.jobs.diversify_job import DiversifyJob
from toolkit.retrieval.diversify.diversify_step import best_lambda, check_judged, macro_mrecall, tune


def judged(source, **questions):
    """question -> the documents that hold perspectives 1, 2, ..."""
    rows = [Qrel(q, doc_id, 1, str(n)) for q, docs in questions.items() for n, doc_id in enumerate(docs, start=1)]
    return Qrels.from_rows(rows, source=source)


FIRST = judged("first", a1=["x", "y"], a2=["x", "y"], a3=["x", "y"])
SECOND = judged("second", b1=["x", "y"])


def run(**questions):
    return Run.from_dict({q: {doc_id: -rank for rank, doc_id in enumerate(docs)} for q, docs in questions.items()})


def test_data_sets_count_alike_and_absent_questions_count_0():
    # first: a1 is covered in the top 5, a2 only below, a3 is absent: 1/3; second: 1
    found = run(a1="xy", a2="xabcdey", b1="yx")
    assert macro_mrecall(found, [FIRST, SECOND]) == (1 / 3 + 1) / 2


def test_unanswered_pairs_do_not_hold():
    qrels = Qrels.from_rows([Qrel("a", "x", 1, "1"), Qrel("a", "y", -1, "2")])
    assert macro_mrecall(run(a="xy"), [qrels]) == 0


def test_of_equal_lambdas_the_largest():
    runs = {0.5: run(b1="xy"), 0.9: run(b1="yx"), 0.99: run(b1="xabcdey")}
    values = tune(runs, [SECOND])
    assert values == {0.5: 1, 0.9: 1, 0.99: 0}
    assert best_lambda(values) == 0.9


def test_data_sets_are_apart_and_judge_the_runs():
    check_judged(["a1", "b1"], [FIRST, SECOND])
    with pytest.raises(ToolkitError, match=r"again: 1 questions are judged twice \(b1\)"):
        check_judged(["b1"], [SECOND, judged("again", b1=["x"])])
    with pytest.raises(ToolkitError, match="first judges no question of the runs to tune on"):
        check_judged(["b1"], [SECOND, FIRST])


def test_groups_of_the_topics_are_the_data_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, query_id in (("one", "a"), ("other", "b")):
        (tmp_path / f"{name}.tsv").write_text(f"{query_id}\tquestion\n")
    (tmp_path / "dev.trec").write_text("a Q0 x 1 2 r\nb Q0 x 1 2 r\n")
    (tmp_path / "run.trec").write_text("a Q0 x 1 2 r\n")
    (tmp_path / "all.qrels").write_text("a 1 x 1\nb 1 x 1\nb 2 y 1\n")
    given = {"dev": ["dev.trec"], "qrels": ["all.qrels"], "vectors": "vectors"}
    together = DiversifyJob(["run.trec"], **given)
    assert [qrels.query_ids for qrels in together.step.judged] == [("a", "b")]
    apart = DiversifyJob(["run.trec"], **given, topics=["one.tsv", "other.tsv"])
    assert [qrels.query_ids for qrels in apart.step.judged] == [("a",), ("b",)]
