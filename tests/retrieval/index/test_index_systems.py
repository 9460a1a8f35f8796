"""`python -m toolkit.index` as a user calls it, for the kinds of indexes that a model's vectors go into."""

import json

import numpy as np
import pytest
import yaml
from command import tandem
from tiny import TEXTS, tiny_bert, tiny_colbert
from workers import HereExecutor

from toolkit.core.specs import SystemSpec
from toolkit.files.formats.indexes import read_index_record, system_facts, write_index_record
from toolkit.files.formats.vectors import VectorStore
from toolkit.jobs.encode_jobs import IndexJob
from toolkit.retrieval.index import index_kind, verify_index


def index(*arguments, folder=None):
    return tandem("index", *arguments, cwd=folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a corpus, vectors of three documents, and systems of the user's own."""
    folder = tmp_path_factory.mktemp("place")
    rows = [{"id": f"d{number}", "text": text} for number, text in enumerate([*TEXTS, " "])]
    (folder / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = SystemSpec("small", "a system", "dense", parameters={"similarity": "cos"})
    store = VectorStore(folder / "vectors", {**system_facts(spec), "side": "passage", "precision": "fp32", "dimension": 3})
    store.add(["a", "b", "c"], np.eye(3, dtype=np.float32), "0" * 64)
    store.finish({"corpus": {"name": "letters"}, "empty": 0})
    return folder


def test_vectors_are_indexed_and_verified_with_nothing_on_standard_output(place):
    done = index("vectors", "--type", "faiss", "--factory", "HNSW8", "--output", "made", folder=place)
    said = "note: recall@10 is 1.0000 against exact search, 3 documents as queries\nmade: 3 documents\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", said)
    record = read_index_record(place / "made")
    assert (record["system"], record["factory"]) == ("small", "HNSW8")
    assert record["implementation"]["command"].startswith("python -m toolkit.index vectors --type faiss")
    assert index("verify", "made", folder=place).returncode == 0
    (place / "made" / "docid").write_text("a\nb\nx\n")
    done = index("verify", "made", folder=place)
    assert (done.returncode, done.stdout) == (1, "made: docid: changed\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["vectors"], "error: vectors holds vectors, which say what made them"),
        (["vectors", "--type", "faiss", "--system", "all-minilm-l6-v2"], "error: vectors holds vectors, which say what"),
        (["vectors", "--type", "faiss", "--factory", "Fat"], "error: no FAISS index 'Fat' for vectors of dimension 3"),
        (["vectors", "--type", "faiss", "--factory", "IVF9,Flat"], "error: cannot build a FAISS index 'IVF9,Flat' of 3 vec"),
        (["vectors", "--type", "faiss", "--tuning", "speed"], "error: a FAISS index 'Flat' cannot be tuned by 'speed'"),
        (["c.jsonl", "--type", "fais"], "error: no type of index 'fais'"),
        (["c.jsonl", "--type", "faiss"], "error: no system for an index of type faiss"),
        (["c.jsonl", "--type", "impact", "--system", "all-minilm-l6-v2"], "error: system all-minilm-l6-v2 searches indexes of"),
        (["c.jsonl", "--system", "all-minilm-l6-v2", "--language", "de"], "error: --language and --skip-invalid are Lucene's"),
        (["c.jsonl", "--system", "all-minilm"], "error: no system 'all-minilm'"),
        (["c.jsonl", "--system", "bge-reranker-v2-m3"], "error: system bge-reranker-v2-m3 is of kind cross-encoder, which"),
        (["nothing.jsonl", "--system", "all-minilm-l6-v2"], "error: no corpus 'nothing.jsonl'"),
        (["c.jsonl", "--batch-size", "0"], "error: batch size is 0"),
    ],
)
def test_wrong_usage_is_one_error_line_and_leaves_nothing(place, arguments, error):
    done = index(*arguments, "--output", "never", folder=place)
    assert done.returncode == 2
    first, hint = done.stderr.splitlines()
    assert first.startswith(error)
    assert hint.startswith("hint:  ")
    assert not list(place.glob("*never*"))


def test_dry_run_says_what_would_be_done_and_does_nothing(place):
    done = index("c.jsonl", "--system", "all-minilm-l6-v2", "--factory", "SQ8", "--output", "never", "--dry-run", folder=place)
    assert done.stdout == "encode c.jsonl with all-minilm-l6-v2; index it (faiss, SQ8) into never\n"
    assert not list(place.glob("*never*"))


def test_fetch_of_a_prebuilt_faiss_index_says_its_size(place):
    done = index("fetch", "beir-v1.0.0-bioasq.contriever", "--dry-run", folder=place)
    assert done.stdout == "the prebuilt index beir-v1.0.0-bioasq.contriever, downloaded first (42.4 GB)\n"


@pytest.mark.model
@pytest.mark.parametrize(
    ("kind", "system_kind", "checkpoint"),
    [
        ("faiss", "dense", lambda folder: tiny_bert(folder)),
        ("multivector", "multivector", lambda folder: tiny_colbert(folder)),
        ("impact", "impact", lambda folder: tiny_bert(folder, "BertForMaskedLM")),
    ],
)
def test_a_corpus_is_encoded_and_indexed_in_one_command(place, kind, system_kind, checkpoint):
    about = {"name": f"tiny-{kind}", "description": "a tiny one", "kind": system_kind}
    about["checkpoint"] = str(checkpoint(place / f"checkpoint-{kind}"))
    parameters = {"dense": {"pooling": "cls", "similarity": "cos"}, "impact": {"quantization": 100}}
    about["parameters"] = parameters.get(system_kind, {"query_length": 12, "passage_length": 20})
    (place / f"{kind}.yaml").write_text(yaml.safe_dump(about))
    system = ["--system", f"tiny-{kind}", "--systems", f"{kind}.yaml", "--device", "cpu"]
    done = index("c.jsonl", *system, "--output", f"of-{kind}", folder=place)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.splitlines()[-1] == f"of-{kind}: 5 documents, 1 empty ones left out"
    assert index_kind(place / f"of-{kind}") == kind
    assert read_index_record(place / f"of-{kind}")["system"] == f"tiny-{kind}"
    assert not (place / f"of-{kind}.vectors").exists()
    assert index("verify", f"of-{kind}", folder=place).returncode == 0


@pytest.mark.model
@pytest.mark.parametrize("kind", ["faiss", "multivector", "impact"])
def test_any_workers_make_the_index_of_one_process_and_resume_it(place, tmp_path, monkeypatch, kind):
    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)
    monkeypatch.setattr("toolkit.retrieval.index.encoded_index.SHARD", 2)
    checkpoint = place / f"checkpoint-{kind}"
    if not checkpoint.exists():
        {"faiss": tiny_bert, "multivector": tiny_colbert}.get(kind, lambda path: tiny_bert(path, "BertForMaskedLM"))(checkpoint)
    about = {"name": "tiny", "description": "a tiny one", "checkpoint": str(checkpoint)}
    about["kind"] = {"faiss": "dense"}.get(kind, kind)
    parameters = {"faiss": {"pooling": "cls", "similarity": "cos"}, "impact": {"quantization": 100}}
    about["parameters"] = parameters.get(kind, {"query_length": 12, "passage_length": 20})
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(about))

    def job(name):
        return IndexJob(str(place / "c.jsonl"), tmp_path / name, system="tiny", systems=[tmp_path / "tiny.yaml"], device="cpu")

    job("local").make()
    again = job("workers")
    again.executor = HereExecutor(2, lost=[1])
    write, calls = write_index_record, []

    def interrupted(*arguments, **how):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return write(*arguments, **how)

    for module in ("encoded_index", "dense"):
        monkeypatch.setattr(f"toolkit.retrieval.index.{module}.write_index_record", interrupted)
    with pytest.raises(KeyboardInterrupt):
        again.make()
    assert again.executor.units == (2 if kind == "faiss" else 4), "a shard encoded and filled; two documents a unit, one lost"
    assert not (tmp_path / "workers").exists()
    again = job("workers")
    again.executor = HereExecutor(1)
    again.make()
    assert again.executor.units == 0, "all that was encoded is there"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    records = [read_index_record(tmp_path / name) for name in ("local", "workers")]
    for record in records:
        del record["implementation"], record["files"]
    assert records[0] == records[1]
    if kind != "impact":  # Lucene's files never come out equal
        names = {path.name for path in (tmp_path / "local").iterdir()} - {"tandem.yaml"}
        assert all((tmp_path / "local" / name).read_bytes() == (tmp_path / "workers" / name).read_bytes() for name in names)
    assert verify_index(tmp_path / "workers") == []
