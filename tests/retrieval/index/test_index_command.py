"""`python -m toolkit.index` as a user calls it."""

import json

import pytest
from command import process, tandem


def index(*arguments, stdin=None):
    return tandem("index", *arguments, input=stdin)


def test_list_names_prebuilt_indexes_with_kind_size_and_documents():
    done = index("list", "msmarco-v1-passage-slim")
    name, kind, size, documents, _ = done.stdout.splitlines()[0].split("\t")
    assert (name, kind, documents) == ("msmarco-v1-passage-slim", "lucene", "8841823")
    assert size.endswith(" GB")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["corpus.jsonl"], "error: no folder for the index"),
        (["no-such-corpus", "--output", "o"], "error: no corpus 'no-such-corpus': neither a file"),
        (["a", "b", "--output", "o"], "error: 2 corpora"),
        (["fetch", "msmarco-v1-pasage"], "error: no index 'msmarco-v1-pasage'"),
        (["verify", "nowhere"], "error: nowhere holds no index"),
    ],
)
def test_wrong_usage_is_one_error_line_and_status_2(arguments, error):
    done = index(*arguments)
    assert done.returncode == 2
    first, hint = done.stderr.splitlines()
    assert first.startswith(error)
    assert hint.startswith("hint:  ")
    assert done.stdout == ""


@pytest.mark.lucene
def test_standard_input_is_indexed_and_verified_with_nothing_on_standard_output(tmp_path):
    rows = [{"_id": number, "text": f"document number {number}"} for number in range(5)]
    done = index("-", "--output", tmp_path / "o", stdin="".join(json.dumps(row) + "\n" for row in rows))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"{tmp_path / 'o'}: 5 documents\n")
    assert index("verify", tmp_path / "o").returncode == 0
    next((tmp_path / "o").glob("*.fdt")).write_bytes(b"")
    done = index("verify", tmp_path / "o")
    assert (done.returncode, done.stdout) == (1, f"{tmp_path / 'o'}: _0.fdt: changed\n")


@pytest.mark.lucene
def test_unknown_language_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "c.jsonl").write_text('{"id": "1", "text": "x"}\n')
    done = index(tmp_path / "c.jsonl", "--output", tmp_path / "o", "--language", "fas")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: no analyzer for language 'fas'")
    assert [path.name for path in tmp_path.iterdir()] == ["c.jsonl"]


@pytest.mark.lucene
def test_debug_shows_anserinis_log_on_standard_error_alone(tmp_path):
    (tmp_path / "c.jsonl").write_text('{"id": "1", "text": "x"}\n')
    done = process("index", tmp_path / "c.jsonl", "--output", tmp_path / "o", "--debug")
    assert done.returncode == 0
    assert done.stdout == ""
    *log, last = done.stderr.splitlines()
    assert last == f"{tmp_path / 'o'}: 1 documents"
    assert "org.apache.lucene." in "".join(log)
