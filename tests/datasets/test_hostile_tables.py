"""A local copy that somebody made to hurt: one line, in time, and nothing stored or written elsewhere."""

import gzip
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import tandem
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.system import files
from toolkit.datasets.copies import data_files
from toolkit.datasets.copies.data_files import read_table

PAIRS = [f"{number}-1" for number in range(3)]
ROWS = {
    "corpus": [{"_id": f"{pair}_doc{n}", "title": "", "text": f"text {n}"} for pair in PAIRS for n in (1, 2)],
    "queries": [{"_id": f"{pair}_q{n}", "text": f"question {n}"} for pair in PAIRS for n in (1, 2)],
    "default": [{"query-id": f"{pair}_q{n}", "corpus-id": f"{pair}_doc{n}", "score": 1} for pair in PAIRS for n in (1, 2)],
    "top_ranked": [
        {"query-id": f"{pair}_q{n}", "corpus-ids": [f"{pair}_doc1", f"{pair}_doc2"]} for pair in PAIRS for n in (1, 2)
    ],
}


@pytest.fixture
def copy(tmp_path):
    folder = tmp_path / "copy"
    folder.mkdir()
    for name, rows in ROWS.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def fetch(folder):
    home = folder.parent / "home"
    done = tandem("benchmarks", "fetch", "nevir", "--from", folder, env=dict(os.environ, TANDEM_HOME=str(home)))
    stored = sorted(path.name for path in home.rglob("*") if path.is_file() and "locks" not in path.parts)
    return done, stored


def test_a_good_copy_is_stored(copy):
    done, stored = fetch(copy)
    assert done.returncode == 0, done.stderr
    assert "corpus.jsonl" in stored


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to(path)])
def test_what_is_no_file_is_no_table(copy, make):
    (copy / "corpus.jsonl").unlink()
    make(copy / "corpus.jsonl")
    done, stored = fetch(copy)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {copy} has no table 'corpus'")
    assert stored == []


def test_an_archive_in_place_of_a_table_is_one_line(copy):
    (copy / "corpus.jsonl").unlink()
    (copy / "corpus.jsonl.gz").write_bytes(b"PK\x03\x04" + bytes(500))
    done, stored = fetch(copy)
    assert done.returncode == 2
    assert "damaged after line 0" in done.stderr
    assert stored == []


@given(st.sampled_from(sorted(ROWS)), st.integers(0, 5), st.data())
def test_a_table_that_was_mutated_is_read_or_refused_in_a_line(tmp_path_factory, table, row, data):
    folder = tmp_path_factory.mktemp("mutated") / "copy"
    folder.mkdir()
    values = st.sampled_from(
        ["", "a b", "\x1b[31m", "../../x", "\ud800", None, 5, 1.5, True, 10**400, float("nan"), [], [["a"]], {"a": 1}]
    )
    for name, rows in ROWS.items():
        changed = [dict(each) for each in rows]
        if name == table:
            key = data.draw(st.sampled_from(sorted(changed[row])))
            changed[row][data.draw(st.sampled_from([key, "other"]))] = data.draw(values)
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in changed), encoding="utf-8")
    done, _ = fetch(folder)
    assert done.returncode in (0, 2)
    assert (done.returncode == 0) != done.stderr.startswith("error: ")
    assert "\x1b" not in done.stderr
    assert {path.name for path in folder.parent.iterdir()} <= {"copy", "home"}


def bomb(folder, form):
    if form == "jsonl.gz":
        (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(b'{"a": "%s"}\n' % (b"x" * 1000) * 3000))
    elif form == "line":
        (folder / "corpus.jsonl").write_bytes(b"x" * 300_000)
    else:
        table = pa.table({"_id": ["x" * 2000] * 5000})
        pq.write_table(table, folder / "corpus.parquet", use_dictionary=form == "dictionary", compression="zstd")


@pytest.mark.parametrize("form", ["jsonl.gz", "dictionary", "pages"])
def test_a_table_that_unpacks_to_far_more_than_its_file_is_refused(tmp_path, monkeypatch, form):
    for module in (files, data_files):
        monkeypatch.setattr(module, "SAFE", 1_000_000)
    bomb(tmp_path, form)
    with pytest.raises(ToolkitError, match="unpacks to more than 200 times its size"):
        list(read_table(tmp_path, "corpus"))


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(data_files, "LONGEST", 1 << 17)
    bomb(tmp_path, "line")
    with pytest.raises(ToolkitError, match="line 1: more than 0 MB"):
        list(read_table(tmp_path, "corpus"))
