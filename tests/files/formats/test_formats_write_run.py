"""Runs are written best first, read back as they were, and never half."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.files.formats import read_run, write_run


def test_lines_are_written_best_first_with_ranks_from_one(tmp_path):
    run = Run.from_dict({"q2": {"a": 1.0, "b": 2.5}, "q1": {"c": -0.125}}, tag="bm25")
    write_run(run, tmp_path / "run.trec")
    assert (tmp_path / "run.trec").read_text() == "q2 Q0 b 1 2.5 bm25\nq2 Q0 a 2 1 bm25\nq1 Q0 c 1 -0.125 bm25\n"


def test_queries_that_stand_apart_are_put_together(tmp_path):
    run = Run.from_columns(["q1", "q2", "q1"], ["a", "a", "b"], [1, 2, 3], tag="t")
    write_run(run, tmp_path / "run.trec")
    assert (tmp_path / "run.trec").read_text() == "q1 Q0 b 1 3 t\nq1 Q0 a 2 1 t\nq2 Q0 a 1 2 t\n"


def test_equal_scores_stand_as_trec_eval_orders_them_or_as_given(tmp_path):
    run = Run.from_dict({"q": {"a": 1.0, "c": 1.0, "b": 1.0}}, tag="t")
    write_run(run, tmp_path / "trec")
    write_run(run, tmp_path / "file", ties="file")
    assert [line.split()[2] for line in (tmp_path / "trec").read_text().splitlines()] == ["c", "b", "a"]
    assert [line.split()[2] for line in (tmp_path / "file").read_text().splitlines()] == ["a", "c", "b"]


def test_decimals_are_those_of_printf(tmp_path):
    values = [12.345678949, 2.5, 1e-9, -3.0000005]
    write_run(Run.from_columns(["q"] * 4, list("abcd"), values), tmp_path / "run.trec", decimals=6)
    assert [line.split()[4] for line in (tmp_path / "run.trec").read_text().splitlines()] == [
        f"{value:.6f}" for value in values
    ]


def test_with_decimals_the_order_is_that_of_the_scores_as_written(tmp_path):
    # both are written 0.50, and equal scores stand by document id, descending
    write_run(Run.from_dict({"q": {"a": 0.503, "b": 0.501}}, tag="t"), tmp_path / "run.trec", decimals=2)
    assert (tmp_path / "run.trec").read_text() == "q Q0 b 1 0.50 t\nq Q0 a 2 0.50 t\n"


def test_a_tag_can_be_given_and_is_never_empty(tmp_path):
    run = Run.from_dict({"q": {"a": 1.0}}, tag="old")
    write_run(run, tmp_path / "given", tag="new")
    assert read_run(tmp_path / "given").tag == "new"
    write_run(Run.from_dict({"q": {"a": 1.0}}), tmp_path / "none")
    assert read_run(tmp_path / "none").tag == "tandem"


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (Run.from_dict({"q 1": {"a": 1.0}}), "query_id 'q 1' cannot stand in a TREC file"),
        (Run.from_dict({"#q": {"a": 1.0}}), "query_id '#q' cannot stand in a TREC file"),
        (Run.from_dict({"q": {"": 1.0}}), "doc_id '' cannot stand in a TREC file"),
        (Run.from_dict({"q": {"a\vb": 1.0}}), r"doc_id 'a\x0bb' cannot stand in a TREC file"),
        (Run.from_dict({"q": {"a": 1.0}}, tag="my run"), "tag 'my run' cannot stand in a TREC file"),
        (Run.from_dict({"q": {"a": 1.0, "b": float("nan")}}), "score nan of document b in query q is not a finite number"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, run, message):
    with pytest.raises(ToolkitError) as caught:
        write_run(run, tmp_path / "run.trec")
    assert caught.value.message == message
    assert os.listdir(tmp_path) == []


def test_many_lines_are_written_in_several_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.files.runs.trec_runs.WRITTEN_AT_ONCE", 3)
    run = Run.from_dict({f"q{n}": {f"d{m}": float(n * m) for m in range(4)} for n in range(1, 5)}, tag="t")
    for decimals in (None, 6):
        write_run(run, tmp_path / "run.trec", decimals=decimals)
        again = read_run(tmp_path / "run.trec")
        assert again.to_dict() == run.to_dict()
        lines = (tmp_path / "run.trec").read_text().splitlines()
        assert [line.split()[3] for line in lines] == ["1", "2", "3", "4"] * 4


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\n\v\f\r "), min_size=1, max_size=5)
rankings = st.dictionaries(words, st.floats(min_value=-1e38, max_value=1e38), min_size=1, max_size=8)
runs = st.dictionaries(words.filter(lambda word: word[0] not in "#\ufeff"), rankings, min_size=1, max_size=5)


@given(runs, words, st.sampled_from(["run.trec", "run.trec.gz", "run.trec.zst"]))
@settings(deadline=None)
def test_a_run_is_read_back_as_it_was(tmp_path_factory, scores, tag, name):
    path = tmp_path_factory.mktemp("run") / name
    run = Run.from_dict(scores, tag=tag)
    write_run(run, path)
    again = read_run(path)
    assert list(again.rankings()) == list(run.rankings())
    assert again.tag == tag
    first = path.read_bytes()
    write_run(again, path)
    assert path.read_bytes() == first
