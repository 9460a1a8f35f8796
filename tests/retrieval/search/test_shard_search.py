"""Search of an index in shards by workers: the run of one index, to the last bit."""

from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workers import HereExecutor

import tandem_ir
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic
from toolkit.files.formats import write_run
from toolkit.files.formats.indexes import system_facts
from toolkit.files.formats.vectors import VectorStore
from toolkit.jobs.file_job import make_by
from toolkit.jobs.search_jobs import search_job
from toolkit.models.vectors.faiss_index import TOGETHER
from toolkit.retrieval.index import Index, build_dense_index
from toolkit.retrieval.search.divided import SEARCHED as IN_BLOCKS
from toolkit.retrieval.search.divided import _units
from toolkit.retrieval.search.encoded_queries import Known
from toolkit.retrieval.search.engines import Search
from toolkit.retrieval.search.neural_engine import search_dense
from toolkit.retrieval.search.shard_search import SEARCHED as IN_SHARDS
from toolkit.retrieval.search.shard_search import SearchShards, search_shards

SPEC = SystemSpec("small", "a system", "dense", revision="1", parameters={"similarity": "cos"}, templates={"query": "{query}"})
TIED = np.random.default_rng(3).integers(-1, 2, (200, 6)).astype(np.float32)  # many documents have one score
TOPICS = [Topic(f"q{number}", f"text {number % 9}") for number in range(12)]


@pytest.fixture(autouse=True)
def same_process(monkeypatch, home):
    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)
    monkeypatch.setattr("toolkit.retrieval.search.shard_search.SEARCHED", 4)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """Those of a mini's documents, of which the indexes of this module are built: to encode takes longer than all else here."""
    return tandem_ir.encode("infosearch-mini-audience", "all-minilm-l6-v2", tmp_path_factory.mktemp("encoded") / "vectors")


def indexes(place, shard, passages):
    """The same vectors as one index and in shards; `passages` of each document share its id."""
    facts = {**system_facts(SPEC), "side": "passage", "precision": "fp32", "dimension": TIED.shape[1]}
    store, ids = VectorStore(place / "vectors", facts), [f"d{row * 7919 % 10007}" for row in range(len(TIED))]
    store.add(ids, TIED, "0" * 64)
    store.finish({"corpus": {"name": "numbers", "content": "1" * 64}, "empty": 0})
    renamed = {doc_id: ids[row // passages] for row, doc_id in enumerate(ids)}
    build_dense_index(place / "vectors", place / "one")
    build_dense_index(place / "vectors", place / "shards", shard_size=shard)
    for path in (*place.glob("one/docid"), *place.glob("shards/docid-*")):  # as in an index of passages made elsewhere
        path.write_text("".join(f"{renamed[line]}\n" for line in path.read_text().split()))
    return place / "one", place / "shards"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10, deadline=None)
@given(
    shard=st.sampled_from([15, 70, 199]),
    hits=st.sampled_from([1, 7, 150, 1000]),
    passages=st.sampled_from([1, 3]),
    workers=st.integers(1, 3),
    seed=st.integers(0, 9),
)
def test_blocks_in_shards_are_merged_into_the_run_of_one_index(tmp_path_factory, shard, hits, passages, workers, seed):
    one, shards = indexes(tmp_path_factory.mktemp("shards"), shard, passages)
    drawn = np.random.default_rng(seed).integers(-1, 2, (9, 6)).astype(np.float32)
    inputs = dict.fromkeys(topic_input(SPEC.templates, topic) for topic in TOPICS)
    known = Known(dict(zip(inputs, drawn, strict=True)), {}, "fp32")
    encoder = SimpleNamespace(encode=known.encode, truncated={"query": 0}, lost=0, origin={})
    expected = search_dense(TOPICS, one, SPEC, encoder, hits=hits)
    chosen, options = SimpleNamespace(spec=SPEC, tag="small", name="small"), SimpleNamespace(hits=hits)
    engine = SimpleNamespace(chosen=chosen, options=options, searched=str)
    executor = HereExecutor(workers, choose=lambda count: seed)
    with executor.job(None):
        found = search_shards(engine, [Index("shards", shards, None, {})], [Search(0, shards, TOPICS)], [known], executor)
    files = [shards.with_name(name) for name in ("one.trec", "shards.trec")]
    for run, path in zip((expected, found[0]), files, strict=True):
        write_run(run, path, tag="small")
    assert files[0].read_bytes() == files[1].read_bytes()
    assert np.array_equal(expected.scores, found[0].scores)


@pytest.mark.model
def test_a_corpus_in_shards_is_searched_by_workers_as_one(tmp_path, vectors, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tandem_ir.index(vectors, "one", type="faiss")
    tandem_ir.index(vectors, "shards", type="faiss", shard_size=7)
    runs = {}
    for index, executor in (("one", None), ("shards", None), ("shards", HereExecutor(2, lost=[3]))):
        name = f"{index}-{'local' if executor is None else 'ray'}"
        job = search_job("infosearch-mini-audience", index, "all-minilm-l6-v2", hits=20, output=f"{name}.trec")
        _ = make_by(executor, job) if executor else job.make()
        runs[name] = (tmp_path / f"{name}.trec").read_bytes()
    assert executor.units > 20
    assert runs["one-local"] == runs["shards-local"] == runs["shards-ray"]
    methods = [yaml.safe_load((tmp_path / f"{name}.trec.yaml").read_text())["method"] for name in runs]
    assert methods[1] == methods[2]


@pytest.mark.model
def test_approximate_indexes_are_searched_in_the_blocks_of_one_process(tmp_path, vectors, monkeypatch):
    assert IN_BLOCKS % TOGETHER == IN_SHARDS % TOGETHER == 0
    monkeypatch.setattr("toolkit.retrieval.search.shard_search.SEARCHED", IN_SHARDS)
    monkeypatch.chdir(tmp_path)
    how = {"type": "faiss", "factory": "IVF4,PQ16x4", "tuning": "nprobe=2"}
    tandem_ir.index(vectors, "one", **how)
    tandem_ir.index(vectors, "shards", shard_size=20, **how)
    (tmp_path / "t.tsv").write_text("".join(f"q{number}\ttext {number} of many\n" for number in range(300)))
    for index in ("one", "shards"):
        for name, executor in (("local", None), ("ray", HereExecutor(2))):
            job = search_job("t.tsv", index, "all-minilm-l6-v2", hits=9, output=f"{name}.trec")
            _ = make_by(executor, job) if executor else job.make()
        assert executor.units > 3
        assert (tmp_path / "ray.trec").read_bytes() == (tmp_path / "local.trec").read_bytes()


def test_where_a_block_ends_depends_on_its_own_search_alone():
    topics = [Topic(f"q{number}", f"text {number % 12}") for number in range(24)]
    searches = {0: Search(0, None, topics[:5]), 1: Search(0, None, topics), 2: Search(0, None, topics[:1])}
    units = [[(block.number, len(block.topics)) for block in unit] for unit in _units(searches, SPEC, 7)]
    assert units == [[(0, 5), (1, 14)], [(1, 10), (2, 1)]]


def test_a_shard_that_is_missing_is_named(tmp_path, monkeypatch):
    from toolkit.core.errors import ToolkitError

    _, shards = indexes(tmp_path, 70, 1)
    largest = max(path.stat().st_size for path in shards.glob("index-*"))
    assert SearchShards(None, [], {shards: [70, 70, 60]}, 3).memory("cpu") == largest
    (shards / "index-00001").unlink()
    known = Known({topic_input(SPEC.templates, topic): TIED[0] for topic in TOPICS}, {}, "fp32")
    chosen = SimpleNamespace(spec=SPEC, tag="small", name="small")
    engine = SimpleNamespace(chosen=chosen, options=SimpleNamespace(hits=3), searched=str)
    executor = HereExecutor(2)
    with executor.job(None), pytest.raises(ToolkitError, match="failed 3 times") as refused:
        search_shards(engine, [Index("shards", shards, None, {})], [Search(0, shards, TOPICS)], [known], executor)
    assert all("index-00001 is missing: the index has 3 shards" in problem for problem in refused.value.problems)
