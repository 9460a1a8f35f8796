"""The record of a file lies beside it, in a form that people read; it is read, compared and written in one place."""

import gzip
import os
import time

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.files.formats import read_qrels, read_run, write_run
from toolkit.files.provenance import (
    Output,
    Provenance,
    agreed,
    file_digest,
    last_step,
    read_record,
    read_recorded,
    record_path,
    system_name,
    write_record,
)
from toolkit.files.provenance import record as module

RUN = Run.from_dict({"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}}, tag="mine")
OTHER = Run.from_dict({"q1": {"b": 1.0}}, tag="mine")
MADE = Provenance({"retrieval": [{"name": "bm25"}]}, {"topics": {"name": "made-up"}})


def write(run, path, provenance=MADE, beside=None, **how):
    counts = {"queries": len(run.query_ids), "lines": len(run)}
    given = {"tag": "mine", "counts": counts, "started": time.time(), **how}
    Output.at(path, beside).write(lambda place: write_run(run, place), provenance, **given)


@pytest.fixture
def path(tmp_path):
    """A run with its record."""
    write(RUN, tmp_path / "run.trec")
    return tmp_path / "run.trec"


def test_a_record_is_written_beside_the_run_in_ir_metadatas_order(tmp_path):
    run = tmp_path / "run.trec"
    record = {
        "wall time": 1.5,
        "method": {"score": "bm25", "k1": 0.9, "automatic": True},
        "data": {"topics": "été", "sha256": "0012"},
        "platform": {"cores": 2, "gpu": None},
    }
    assert write_record(run, record) == record_path(run) == tmp_path / "run.trec.yaml"
    assert record_path(run).read_text() == (
        "platform:\n  cores: 2\n  gpu: null\n"
        "method:\n  score: bm25\n  k1: 0.9\n  automatic: true\n"
        "data:\n  topics: été\n  sha256: '0012'\n"
        "wall time: 1.5\n"
    )
    assert read_record(run) == record


def test_a_run_without_record_has_none(tmp_path):
    assert read_record(tmp_path / "run.trec") is None


TAG = "tag:yaml.org,2002:python/name:os.x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method:\n  k1: [0.9\nb: 1\n", ", line 3: not YAML: did not find expected ',' or ']'"),
        ("- a list\n", ": expected a mapping, found list"),
        ("!!python/name:os.x ''\n", f", line 1: not YAML: could not determine a constructor for the tag '{TAG}'"),
        ("tag: \udcff\n", ", line 1: not UTF-8 text"),
    ],
)
def test_what_is_no_record_is_refused_with_the_run(path, text, message):
    record_path(path).write_bytes(text.encode(errors="surrogateescape"))
    for read in (read_record, lambda path: read_recorded(path, read_run)):
        with pytest.raises(ToolkitError) as caught:
            read(path)
        assert caught.value.message == f"{path}.yaml{message}"


def test_a_record_that_cannot_be_written_leaves_what_was_there(tmp_path):
    write_record(tmp_path / "run.trec", {"tag": "old"})
    with pytest.raises(Exception, match="object"):
        write_record(tmp_path / "run.trec", {"tag": object()})
    assert read_record(tmp_path / "run.trec") == {"tag": "old"}
    assert os.listdir(tmp_path) == ["run.trec.yaml"]


def test_what_is_written_is_read_with_its_record(path, capsys):
    recorded = read_recorded(path, read_run)
    assert recorded.content.to_dict() == RUN.to_dict()
    assert recorded.provenance.method == {"automatic": True, **MADE.method}
    assert recorded.provenance.data["topics"] == {"name": "made-up"}
    facts = {"file": "run.trec", "sha256": file_digest(path), "queries": 2, "lines": 3}
    assert recorded.provenance.data["run"] == facts
    assert recorded.facts == {**facts, "tag": "mine"}
    assert capsys.readouterr().err == ""


def test_a_record_of_another_run_is_left_out_and_that_is_said_once(path, capsys):
    write_run(OTHER, path)
    recorded = read_recorded(path, read_run)
    assert (recorded.record, recorded.provenance) == ({}, Provenance())
    assert recorded.facts["sha256"] == file_digest(path)
    assert capsys.readouterr().err == f"warning: {path}.yaml is the record of another file: left out\n"


def test_a_record_that_names_no_file_says_nothing_of_this_one(path, capsys):
    write_record(path, {"method": {"retrieval": [{"name": "bm25"}]}, "data": ["unknown"]})
    assert read_recorded(path, read_run).provenance == Provenance()
    assert capsys.readouterr().err == f"warning: {path}.yaml is the record of another file: left out\n"


def test_the_record_of_a_run_is_none_of_qrels(tmp_path, capsys):
    path = tmp_path / "x.txt"
    path.write_text("q1 1 a 1\n")
    for what, found in (("qrels", {"sha256": file_digest(path)}), ("run", None)):
        write_record(path, {"data": {what: {"sha256": file_digest(path)}}})
        assert read_recorded(path, read_qrels, "qrels").provenance.data.get("qrels") == found
    assert capsys.readouterr().err.count("record of another file") == 1


def test_a_run_that_is_compressed_has_the_digest_of_what_is_in_it(path):
    packed = path.with_name("run.trec.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    record_path(path).rename(record_path(packed))
    assert read_recorded(packed, read_run).provenance.method["retrieval"] == [{"name": "bm25"}]


def test_a_run_that_is_written_over_has_what_its_record_said_when_it_was_read(path):
    recorded = read_recorded(path, read_run)
    before = recorded.sha256
    write(OTHER, path, Provenance())
    assert recorded.provenance.data["topics"] == {"name": "made-up"}
    assert recorded.facts["sha256"] == before != file_digest(path)


def test_standard_input_has_no_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_record("-", {"data": {"run": {"sha256": ""}}, "method": {"retrieval": []}})
    recorded = read_recorded("-", lambda source: RUN)
    assert (recorded.record, recorded.sha256) == ({}, "")
    assert recorded.facts == {"of": "standard input", "tag": "mine", "queries": 2, "lines": 3}


def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert read_recorded(pipe, lambda source: RUN).facts["of"] == str(pipe)  # a second reader would wait for ever


def test_qrels_have_no_tag(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("q1 1 a 1\n")
    facts = read_recorded(path, lambda source: Qrels.from_rows([Qrel("q1", "a", 1)]), "qrels").facts
    assert facts == {"file": "x.txt", "sha256": file_digest(path), "queries": 1, "lines": 1}


class Killed(BaseException):
    pass


def killed(*given, **how):
    raise Killed


def test_a_run_that_fails_to_be_written_leaves_the_old_pair(path):
    before = [path.read_bytes(), record_path(path).read_bytes()]
    with pytest.raises(Killed):
        Output.at(path).write(killed, MADE, tag="new", counts={}, started=time.time())
    assert [path.read_bytes(), record_path(path).read_bytes()] == before
    assert sorted(os.listdir(path.parent)) == ["run.trec", "run.trec.yaml"]


def test_what_is_killed_between_run_and_record_is_seen_by_the_digest(path, monkeypatch, capsys):
    monkeypatch.setattr(module, "record_of", killed)
    with pytest.raises(Killed):
        write(OTHER, path)
    assert read_recorded(path, read_run).provenance == Provenance()
    assert "is the record of another file: left out" in capsys.readouterr().err
    assert sorted(os.listdir(path.parent)) == ["run.trec", "run.trec.yaml"]


def test_where_the_record_cannot_be_written_nothing_is(path):
    before = path.read_bytes()
    record_path(path).unlink()
    record_path(path).mkdir()
    with pytest.raises(ToolkitError, match=r"run.trec.yaml is a folder"):
        write(OTHER, path)
    assert path.read_bytes() == before


def test_a_stream_has_a_record_only_where_one_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(RUN, "/dev/null")
    assert os.listdir(tmp_path) == []
    write(RUN, "-", beside="named")
    assert os.listdir(tmp_path) == ["named.yaml"]
    assert read_record("named")["data"]["run"] == {"queries": 2, "lines": 3}  # no file that has a digest


def test_a_record_without_run(tmp_path):
    written = []
    Output.at(None, tmp_path / "alone").write(written.append, MADE, tag="x", counts={}, started=time.time())
    assert written == []
    assert read_record(tmp_path / "alone")["method"] == {"automatic": True, **MADE.method}


def test_wall_time_is_from_the_beginning_of_the_work(tmp_path):
    write(RUN, tmp_path / "run.trec", started=time.time() - 100)
    assert 100 <= read_record(tmp_path / "run.trec")["implementation"]["executable"]["wall time"] < 200


def test_steps_add_up_and_what_is_of_the_file_itself_is_not_inherited():
    first = MADE.step("reranking", {"name": "one"}).having(run={"lines": 1}, indexes=[{"name": "i"}], candidates={})
    second = first.inherited().step("reranking", {"name": "two"}).having(made_of={"lines": 1})
    assert second.method == {"retrieval": [{"name": "bm25"}], "reranking": [{"name": "one"}, {"name": "two"}]}
    assert second.data == {"topics": {"name": "made-up"}, "indexes": [{"name": "i"}], "made of": {"lines": 1}}
    assert MADE.method == {"retrieval": [{"name": "bm25"}]}


def test_runs_agree_on_topics_that_all_have_and_have_every_index_once():
    one = MADE.having(indexes=[{"name": "i"}], test_collection={"name": "c"})
    two = Provenance({"retrieval": [{"name": "dense"}]}, {"topics": {"name": "made-up"}, "indexes": [{"name": "i"}]})
    both = agreed([one, two])
    assert both.method == {"retrieval": [{"name": "bm25"}, {"name": "dense"}]}
    assert both.data == {"topics": {"name": "made-up"}, "indexes": [{"name": "i"}]}
    assert agreed([one, Provenance()]).data == {"indexes": [{"name": "i"}]}


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ({"retrieval": [{"name": "bm25"}]}, "bm25"),
        ({"retrieval": [{"name": "bm25"}], "reranking": [{"name": "one"}, {"name": "two"}]}, "two"),
        ({"retrieval": [{"name": "bm25"}, {"name": "dense"}], "fusion": "rrf"}, "tag"),
        ({"retrieval": "by hand"}, "tag"),
        ("by hand", "tag"),
    ],
)
def test_a_run_is_named_by_the_system_that_ranked_last(method, name):
    assert system_name("tag", {"method": method}) == name
    assert (last_step({"method": method}) == {}) == (name == "tag")
