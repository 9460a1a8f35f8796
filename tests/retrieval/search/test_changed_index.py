"""One changed bit in a file of an index that was made here: no run, whatever kind the index is and whatever file it was."""

import json
import os

import pytest
import yaml
from command import tandem
from tiny import TEXTS, tiny_bert, tiny_colbert

from toolkit.files.formats.indexes import NAME

CHECKPOINTS = {
    "lucene": None,
    "faiss": ("dense", tiny_bert, {"pooling": "cls", "similarity": "cos"}),
    "multivector": ("multivector", tiny_colbert, {"query_length": 12, "passage_length": 20}),
    "impact": ("impact", lambda folder: tiny_bert(folder, "BertForMaskedLM"), {"quantization": 100}),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    rows = [{"id": f"d{number}", "contents": text} for number, text in enumerate(TEXTS)]
    (folder / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "topics.tsv").write_text("q1\ta cat in the house\nq2\tlong river\n")
    return folder


def system_of(place, kind):
    """The options that name the system of a kind of index."""
    if CHECKPOINTS[kind] is None:
        return []
    system_kind, make, parameters = CHECKPOINTS[kind]
    if not (place / f"{kind}.yaml").exists():
        about = {"name": f"tiny-{kind}", "description": "a tiny one", "kind": system_kind, "parameters": parameters}
        about["checkpoint"] = str(make(place / f"checkpoint-{kind}"))
        (place / f"{kind}.yaml").write_text(yaml.safe_dump(about))
    return ["--system", f"tiny-{kind}", "--systems", str(place / f"{kind}.yaml"), "--device", "cpu"]


def search(place, folder, system, *more):
    index = ("--topics", str(place / "topics.tsv"), "--index", "index", "--output", "run.trec")
    return tandem("search", *index, *system, *more, cwd=folder)


def flip(path):
    """Change a bit in the middle of a file, and leave its size and its time as they are."""
    data, before = bytearray(path.read_bytes()), path.stat()
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.lucene
@pytest.mark.model
@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_a_changed_bit_in_any_file_is_one_error_and_no_run(place, tmp_path, monkeypatch, kind):
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    system = system_of(place, kind)
    tandem("index", str(place / "c.jsonl"), *system, "--output", str(tmp_path / "index"), cwd=tmp_path, check=True)
    assert search(place, tmp_path, system).returncode == 0
    (tmp_path / "run.trec").unlink()
    names = sorted(path.name for path in (tmp_path / "index").iterdir() if path.name != NAME and path.stat().st_size)
    assert names
    for name in names:
        flip(tmp_path / "index" / name)
        done = search(place, tmp_path, system)
        message = f"error: the files in index are not as they were: {name}: changed"
        assert (done.returncode, done.stderr.splitlines()[-2]) == (2, message), (name, done.stderr)
        assert not (tmp_path / "run.trec").exists(), name
        flip(tmp_path / "index" / name)
    assert search(place, tmp_path, system).returncode == 0
    record = yaml.safe_load((tmp_path / "run.trec.yaml").read_text())
    assert record["data"]["indexes"][0]["compared"] == "SHA-256 of its files"


@pytest.mark.lucene
def test_nothing_is_claimed_of_an_index_without_a_record(place, tmp_path, monkeypatch):
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    tandem("index", str(place / "c.jsonl"), "--output", str(tmp_path / "index"), cwd=tmp_path, check=True)
    (tmp_path / "index" / NAME).unlink()
    assert search(place, tmp_path, []).returncode == 0
    assert "compared" not in yaml.safe_load((tmp_path / "run.trec.yaml").read_text())["data"]["indexes"][0]


@pytest.mark.lucene
def test_each_question_s_own_index_is_compared(place, tmp_path, monkeypatch):
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    rows = [{"id": f"d{number}", "contents": text, "query_id": f"q{number % 2 + 1}"} for number, text in enumerate(TEXTS)]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tandem("index", "c.jsonl", "--per-question", "--output", "index", cwd=tmp_path, check=True)
    assert search(place, tmp_path, []).returncode == 0
    [changed] = (tmp_path / "index" / "q00002").glob("*.fdt")
    flip(changed)
    done = search(place, tmp_path, [])
    assert (done.returncode, f"q00002/{changed.name}: changed" in done.stderr) == (2, True), done.stderr


@pytest.mark.lucene
def test_texts_are_not_read_from_a_changed_index(place, tmp_path, monkeypatch):
    from toolkit.core.errors import ToolkitError
    from toolkit.datasets import TopicSet
    from toolkit.retrieval.texts import texts_from

    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    tandem("index", str(place / "c.jsonl"), "--output", str(tmp_path / "index"), cwd=tmp_path, check=True)
    source = texts_from(TopicSet("topics", [], None), index=str(tmp_path / "index"))("all")
    assert source.find(["d1"])["d1"].text == TEXTS[1]
    [changed] = (tmp_path / "index").glob("*.fdt")
    flip(changed)
    with pytest.raises(ToolkitError, match=rf"not as they were: {changed.name}: changed"):
        source.find(["d1"])


@pytest.mark.lucene
def test_the_index_of_two_fields_is_compared(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("TANDEM_HOME", str(home))
    asked = ("search", "--topics", "instructir-mini", "--recipe", "instructir", "--output", "run.trec", "--hits", "10")
    tandem(*asked, cwd=tmp_path, check=True)
    [folder] = (home / "indexes" / "own").glob("*.fields")
    (tmp_path / "run.trec").unlink()
    [changed] = folder.glob("*.doc")
    flip(changed)
    done = tandem(*asked, cwd=tmp_path)
    assert (done.returncode, f"{changed.name}: changed" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "run.trec").exists()
