"""Search by Ray's workers for real: the Java of BM25 and the vectors of a dense system in processes of their own."""

import pytest
from command import process, tandem

TOPICS = ("--topics", "infosearch-mini-audience", "--topics", "infosearch-mini-format", "--hits", 20)
ENGINE = ("--engine", "ray", "--workers", 2)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.lucene
@pytest.mark.usefixtures("ray_alone")
def test_bm25_of_two_workers_is_that_of_one_process(tmp_path):
    for name, engine in (("local", ()), ("ray", ENGINE)):
        done = (process if engine else tandem)("search", *TOPICS, "--output", f"{name}.trec", *engine, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "ray.trec").read_bytes() == (tmp_path / "local.trec").read_bytes()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.model
@pytest.mark.usefixtures("ray_alone")
def test_shards_of_vectors_are_searched_by_two_workers_as_one_index_by_one_process(tmp_path):
    dense = ("--system", "all-minilm-l6-v2", "--topics", "infosearch-mini-audience", "--hits", 20)
    # the same vectors: last bits depend on which documents are encoded together
    tandem("encode", "infosearch-mini-audience", *dense[:2], "--output", "vectors", cwd=tmp_path, check=True)
    for name, size in (("whole", ()), ("shards", ("--shard-size", 10))):
        tandem("index", "vectors", "--type", "faiss", *size, "--output", name, cwd=tmp_path, check=True)
    runs = {"whole": ("--threads-per-worker", 1, "--index", "whole"), "shards": (*ENGINE, "--index", "shards")}
    for name, how in runs.items():
        done = (process if name == "shards" else tandem)("search", *dense, "--output", f"{name}.trec", *how, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    [run] = {(tmp_path / f"{name}.trec").read_bytes() for name in runs}
    assert run
    assert not list(tmp_path.glob(".*"))
