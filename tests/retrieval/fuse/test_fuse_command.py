"""`tandem fuse` as a user calls it."""

import hashlib
import os
import subprocess

import pytest
import yaml
from command import tandem

from toolkit.files.formats import read_run
from toolkit.files.provenance import write_record

A = "1 Q0 x 1 9.5 a\n1 Q0 y 2 1.5 a\n"
B = "1 Q0 y 1 0.5 b\n2 Q0 z 1 0.5 b\n"


def fuse(*arguments, folder, **options):
    return tandem("fuse", *arguments, cwd=folder, **options)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "a.trec").write_text(A)
    (tmp_path / "b.trec").write_text(B)
    return tmp_path


def test_standard_output_has_the_run_and_nothing_else(place):
    done = fuse("a.trec", "b.trec", "--output", "-", folder=place)
    assert (done.returncode, done.stderr) == (0, "note: a.trec has no lines for 1 of 2 queries (2)\n")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines == [
        ["1", "Q0", "y", "1", str(1 / 62 + 1 / 61), "a+b.rrf"],
        ["1", "Q0", "x", "2", str(1 / 61), "a+b.rrf"],
        ["2", "Q0", "z", "1", str(1 / 61), "a+b.rrf"],
    ]


def test_the_same_bytes_whatever_the_order_of_the_runs(place):
    one = fuse("a.trec", "b.trec", "--output", "-", "--tag", "t", folder=place).stdout
    other = fuse("b.trec", "-", "--output", "-", "--tag", "t", "--quiet", folder=place, input=A)
    assert (other.stdout, other.stderr) == (one, "")


def test_metadata_name_the_runs_what_they_agree_on_and_every_index(place):
    topics = {"name": "t", "queries": 2, "sha256": "0"}
    for name, text, index in (("a", A, "i"), ("b", B, "j")):
        digest = hashlib.sha256(text.encode()).hexdigest()
        method = {"retrieval": [{"name": name, "method": "bm25"}]}
        data = {"topics": topics, "indexes": [{"name": index}], "run": {"sha256": digest}}
        write_record(place / f"{name}.trec", {"tag": name, "method": method, "data": data})
    done = fuse(
        *("a.trec", "b.trec", "--method", "minmax:0.25,2", "--hits", 1, "--tag", "both", "--output", "both.trec.gz"),
        folder=place,
    )
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "both.trec.gz: 2 queries, 2 documents"
    run = read_run(place / "both.trec.gz")
    assert (run.tag, run.to_dict()) == ("both", {"1": {"y": 2.0}, "2": {"z": 2.0}})
    metadata = yaml.safe_load((place / "both.trec.gz.yaml").read_text())
    assert metadata["method"]["retrieval"] == [{"name": "a", "method": "bm25"}, {"name": "b", "method": "bm25"}]
    assert (metadata["method"]["fusion"], metadata["method"]["fusion hits"]) == ("minmax:0.25,2", 1)
    assert metadata["data"]["topics"] == topics
    assert metadata["data"]["indexes"] == [{"name": "i"}, {"name": "j"}]
    assert [facts["sha256"] for facts in metadata["data"]["runs"]] == [hashlib.sha256(t.encode()).hexdigest() for t in (A, B)]
    assert tandem("runs", "verify", "both.trec.gz", cwd=place).returncode == 0


@pytest.mark.process
def test_nothing_lies_beside_a_pipe(place):
    os.mkfifo(place / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=place, stdout=subprocess.PIPE, text=True)
    assert fuse("a.trec", "b.trec", "--output", "pipe", folder=place).returncode == 0
    assert len(reader.communicate()[0].splitlines()) == 3
    assert {path.name for path in place.iterdir()} == {"a.trec", "b.trec", "pipe"}


def test_metadata_of_another_run_are_left_out_and_said(place):
    write_record(place / "a.trec", {"tag": "a", "data": {"topics": {"name": "t"}, "run": {"sha256": "0"}}})
    done = fuse("a.trec", "b.trec", "--output", "both.trec", folder=place)
    assert "warning: a.trec.yaml is the record of another file: left out" in done.stderr
    assert "topics" not in yaml.safe_load((place / "both.trec.yaml").read_text())["data"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["a.trec"], "error: 1 run to fuse"),
        (["a.trec", "c.trec"], "error: no file c.trec"),
        (["a.trec", "b.trec", "--method", "borda"], "error: no fusion method 'borda'"),
        (["a.trec", "b.trec", "--method", "minmax:1"], "error: 1 weights for 2 runs"),
        (["a.trec", "broken.trec"], "error: broken.trec"),
    ],
)
def test_wrong_usage_is_one_error_and_one_hint_line_and_no_run(place, arguments, error):
    (place / "broken.trec").write_text("1 Q0 x 1\n")
    done = fuse(*arguments, "--output", "wrong.trec", folder=place)
    assert done.returncode == 2
    first, *_, hint = done.stderr.splitlines()
    assert first.startswith(error)
    assert hint.startswith("hint:  ")
    assert not list(place.glob("*wrong*"))
