"""Candidates pooled from several runs."""

import pytest
import yaml
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation.run_checks.pool import pool, reached
from toolkit.files.formats import read_run


def ranked(tag, **lists):
    return Run.from_dict({q: {doc: -float(place) for place, doc in enumerate(docs)} for q, docs in lists.items()}, tag=tag)


ONE = ranked("one", q1=["a", "b", "c", "d"], q2=["x"])
TWO = ranked("two", q1=["b", "e", "a", "f"])


def docs(run):
    return {query: [(doc.doc_id, doc.score) for doc in ranking] for query, ranking in run.rankings()}


def test_the_first_of_every_run_comes_before_the_second_of_any():
    # rounds: a b | b e | c a | d f
    assert docs(pool([ONE, TWO])) == {
        "q1": [("a", 6.0), ("b", 5.0), ("e", 4.0), ("c", 3.0), ("d", 2.0), ("f", 1.0)],
        "q2": [("x", 1.0)],
    }


def test_the_order_of_the_runs_counts():
    assert [doc for doc, _ in docs(pool([TWO, ONE]))["q1"]] == ["b", "a", "e", "c", "f", "d"]


def test_size_ends_a_pool_within_a_round_and_depth_every_list():
    assert [doc for doc, _ in docs(pool([ONE, TWO], size=3))["q1"]] == ["a", "b", "e"]
    assert [doc for doc, _ in docs(pool([ONE, TWO], depth=2))["q1"]] == ["a", "b", "e"]


def test_what_is_missing_is_said(capsys):
    pool([ONE, TWO], size=4)
    assert capsys.readouterr().err.splitlines() == [
        "note: two lacks 1 of 2 queries (q2)",
        "note: 1 of 2 queries have fewer than 4 documents (q2)",
    ]


def test_what_is_judged_and_what_is_relevant_is_counted_once_a_document():
    # pool of q1: a b e c d f; b is relevant to two subtopics, g and the query q3 are not there, e is judged and not relevant
    rows = [
        ("q1", "a", 1, "0"),
        ("q1", "b", 1, "0"),
        ("q1", "b", 1, "1"),
        ("q1", "e", 0, "0"),
        ("q1", "g", 1, "0"),
        ("q3", "a", 1, "0"),
    ]
    qrels = Qrels.from_rows([Qrel(*row) for row in rows], source="judged")
    found = reached(pool([ONE, TWO]), qrels)
    assert found == (6, 3, 2, 3, ("q3",))
    assert str(found) == (
        "3 of 6 documents are judged (50.0%), 2 of 3 relevant ones are reached (66.7%); the pool lacks 1 judged queries (q3)"
    )


def test_a_pool_of_other_queries_is_said_to_have_none():
    found = reached(pool([ONE]), Qrels.from_rows([Qrel("q9", "a", 1)]))
    assert str(found) == "0 of 0 documents are judged, 0 of 0 relevant ones are reached; the pool lacks 1 judged queries (q9)"


@pytest.mark.parametrize("numbers", [{"size": 0}, {"depth": 0}])
def test_numbers_start_at_one(numbers):
    with pytest.raises(ToolkitError, match="is 0"):
        pool([ONE], **numbers)


def test_the_command_records_the_runs_in_their_order(tmp_path):
    (tmp_path / "one.trec").write_text("q1 Q0 a 1 2 one\nq1 Q0 b 2 1 one\n")
    (tmp_path / "two.trec").write_text("q1 Q0 c 1 2 two\nq1 Q0 a 2 1 two\n")
    line = ["pool", "two.trec", "one.trec", "--depth", "2", "--size", "1000", "--output", "pool.trec"]
    done = tandem("runs", *line, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-1] == "pool.trec: 1 queries, 3 documents"
    assert docs(read_run(tmp_path / "pool.trec")) == {"q1": [("c", 3.0), ("a", 2.0), ("b", 1.0)]}
    metadata = yaml.safe_load((tmp_path / "pool.trec.yaml").read_text())
    assert metadata["method"]["pooling"] == {"rounds over": ["two", "one"], "depth": 2, "size": 1000}
    assert [run["file"] for run in metadata["data"]["runs"]] == ["two.trec", "one.trec"]
    assert metadata["tag"] == "pool"
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq1 0 z 1\nq1 0 b 0\n")
    done = tandem("runs", *line, "--qrels", "qrels.txt", cwd=tmp_path)
    assert "2 of 3 documents are judged (66.7%), 1 of 2 relevant ones are reached (50.0%)" in done.stderr
    metadata = yaml.safe_load((tmp_path / "pool.trec.yaml").read_text())
    counts = {"documents": 3, "judged": 2, "reached": 1, "relevant": 2, "lacking": 0}
    assert {name: metadata["method"]["pooling"]["judged"][name] for name in counts} == counts
