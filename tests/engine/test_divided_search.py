"""Searches whose blocks of queries workers compute give the run of one process, whatever the system."""

import json
import pickle

import pytest
import tiny
import yaml
from workers import HereExecutor

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import read_yaml
from toolkit.jobs.file_job import make_by
from toolkit.jobs.search_jobs import search_job

MINI = "infosearch-mini"


@pytest.fixture(autouse=True)
def same_process(monkeypatch):
    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Some blocks of a mini's hundred queries, as the thousands of a benchmark have."""
    monkeypatch.setattr("toolkit.retrieval.search.divided.SEARCHED", 7)
    monkeypatch.setattr("toolkit.retrieval.search.neural_engine.ENCODED", 5)


@pytest.fixture
def place(tmp_path, home, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(path):
    """What a run's record says, without how long it took and how much memory."""
    read = read_yaml(path.with_name(f"{path.name}.yaml"), dict, "")
    text = yaml.safe_dump(read).replace(path.name, "RUN")
    return [line for line in text.splitlines() if not any(word in line for word in ("time", "date", "peak memory"))]


def same_as_local(place, executor, topics, *given, **how):
    """The run of the executor's workers; asserts that file and record are those of one process."""
    search_job(topics, *given, output=place / "local.trec", **how).make()
    make_by(executor, search_job(topics, *given, output=place / "ray.trec", **how))
    assert (place / "ray.trec").read_bytes() == (place / "local.trec").read_bytes()
    assert record(place / "ray.trec") == record(place / "local.trec")
    assert not list(place.glob(".*"))
    return (place / "ray.trec").read_text().splitlines()


@pytest.mark.lucene
@pytest.mark.parametrize("workers", [1, 3])
def test_bm25_over_every_part_of_a_benchmark(place, workers):
    executor = HereExecutor(workers, lost=[2], choose=lambda count: count - 1)
    lines = same_as_local(place, executor, MINI, hits=20)
    assert executor.units > 10
    assert len(lines) > 1000


@pytest.mark.lucene
@pytest.mark.parametrize(
    "how", [{"rm3": True}, {"candidates": "candidates"}, {"system": "bm25+rules"}, {"instruction": "none"}]
)
def test_bm25_with_what_else_it_takes(place, how):
    topics = "mfollowir-mini-fas" if "candidates" in how else "infosearch-mini-language"
    assert same_as_local(place, HereExecutor(2), topics, hits=10, **how)


@pytest.mark.lucene
@pytest.mark.parametrize("recipe", ["infosearch", "instructir"])
def test_the_recipes_that_search_documents_themselves(place, recipe):
    assert same_as_local(place, HereExecutor(2), "infosearch-mini-audience", hits=10, recipe=recipe)


@pytest.mark.model
@pytest.mark.parametrize("how", [{}, {"candidates": "candidates"}])
def test_dense_search_encodes_in_the_blocks_of_one_process(place, how):
    executor = HereExecutor(2, lost=[1])
    topics = "mfollowir-mini-fas" if how else ["infosearch-mini-audience", "infosearch-mini-length"]
    assert same_as_local(place, executor, topics, system="all-minilm-l6-v2", hits=10, **how)


@pytest.mark.model
@pytest.mark.lucene
def test_a_hybrid_that_is_reranked(place):
    tiny.tiny_bert(place / "mine", "BertForSequenceClassification", num_labels=1)
    how = {"system": ["bm25", "all-minilm-l6-v2"], "fuse": "rrf", "hits": 10}
    how |= {"rerank": "./mine", "rerank_kind": "cross-encoder", "depth": 3}
    assert same_as_local(place, HereExecutor(2), "infosearch-mini-audience-ins", **how)


def built(place, kind, **how):
    docs = [{"id": f"d{number}", "text": f"{text} {number}"} for number, text in enumerate(tiny.TEXTS * 3)]
    (place / "c.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (place / "t.tsv").write_text("".join(f"q{number}\t{text}\n" for number, text in enumerate([*tiny.TEXTS, "a cat"] * 2)))
    tandem_ir.index("c.jsonl", "built", type=kind, **how)


@pytest.mark.model
@pytest.mark.parametrize("kind", ["multivector", "impact"])
def test_late_interaction_and_learned_sparse(place, kind):
    makes = {"multivector": tiny.tiny_colbert, "impact": lambda folder: tiny.tiny_bert(folder, "BertForMaskedLM")}
    makes[kind](place / "model")
    parameters = {"impact": {"quantization": 100}, "multivector": {"query_length": 12, "passage_length": 20}}
    entry = {"name": "mine", "description": "a tiny one", "kind": kind, "checkpoint": str(place / "model")}
    entry |= {"parameters": parameters[kind]}
    (place / "mine.yaml").write_text(yaml.safe_dump(entry))
    built(place, kind, system="mine", systems=["mine.yaml"])
    lines = same_as_local(place, HereExecutor(2), "t.tsv", "built", "mine", systems=["mine.yaml"], hits=4)
    assert len(lines) == 48


@pytest.mark.lucene
def test_each_question_over_its_own_corpus(place):
    numbered = [(question, *each) for question in ("q1", "q2", "q3") for each in enumerate(tiny.TEXTS)]
    docs = [{"id": f"{q}-{number}", "query_id": q, "text": f"{text} {number}"} for q, number, text in numbered]
    (place / "c.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (place / "t.tsv").write_text("q3\tthe cat\nq1\tthe cat\nq3.1\tthe dog\nq9\tnobody\nq2\tlong river\n")
    tandem_ir.index("c.jsonl", "built", per_question=True)
    lines = same_as_local(place, HereExecutor(2), "t.tsv", "built", hits=3)
    assert list(dict.fromkeys(line.split()[0] for line in lines)) == ["q3", "q3.1", "q1", "q2"]


@pytest.mark.lucene
def test_queries_of_equal_text_are_searched_by_one_worker(place):
    built(place, "lucene")
    executor = HereExecutor(2)
    given = []
    close = executor._end_workers

    def counted(**how):
        given.extend(executor._dispatch.cluster.given if executor._dispatch else ())
        close(**how)

    executor._end_workers = counted
    (place / "t.tsv").write_text("".join(f"q{number}\tword {number % 10} cat\n" for number in range(40)))
    same_as_local(place, executor, "t.tsv", "built", hits=4)
    units = [[topic["text"] for block in unit for topic in block["topics"]] for unit in given]
    assert [len(unit) for unit in units] == [28, 12]
    assert not {*units[0]} & {*units[1]}


@pytest.mark.lucene
def test_an_interrupted_search_resumes_and_an_index_built_since_starts_again(place, monkeypatch):
    built(place, "lucene")
    (place / "t.tsv").write_text("".join(f"q{number}\tword {number} cat\n" for number in range(40)))

    from toolkit.engine.dispatch import Dispatch

    finish, done = Dispatch._finish, []

    def stop_at_the_third(self, *unit):
        finish(self, *unit)
        done.append(unit)
        if len(done) == 3:
            raise KeyboardInterrupt

    def searched():
        executor = HereExecutor(2)
        make_by(executor, search_job("t.tsv", "built", output="ray.trec", hits=4))
        return executor.units

    with monkeypatch.context() as patched:
        patched.setattr(Dispatch, "_finish", stop_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            searched()
    assert not (place / "ray.trec").exists()
    kept = {path: path.read_bytes() for path in place.rglob(".ray.trec.units/*/*")}
    assert searched() <= 3, "three of six were there, and what workers had computed without being heard"
    search_job("t.tsv", "built", output="local.trec", hits=4).make()
    assert (place / "ray.trec").read_bytes() == (place / "local.trec").read_bytes()
    for path, content in kept.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    import shutil

    shutil.rmtree(place / "built")
    tandem_ir.index("c.jsonl", "built")
    assert searched() == 6


@pytest.mark.lucene
def test_an_index_that_workers_see_otherwise_is_refused(place, monkeypatch):
    built(place, "lucene")
    from toolkit.retrieval.search.divided import SearchBlocks

    monkeypatch.setattr(SearchBlocks, "facts", lambda self: {"indexes": ["another"]})
    with pytest.raises(ToolkitError, match="workers do not see built as it is here"):
        make_by(HereExecutor(1), search_job("t.tsv", "built", output="ray.trec"))
    assert not (place / "ray.trec").exists()


@pytest.mark.model
def test_what_goes_to_a_worker_has_neither_model_nor_index_nor_topics(place):
    from toolkit.retrieval.search.divided import SearchBlocks
    from toolkit.retrieval.search.encoded_queries import EncodeQueries

    job = search_job("infosearch-mini-audience-ins", system="all-minilm-l6-v2", hits=3)
    job.make()
    engine = job.step.engine
    assert "encoder" in vars(engine)
    assert job.step.engine.facts()["queries cut"] == 0
    there = pickle.loads(pickle.dumps(SearchBlocks(engine, engine.open(), [], None, None)))
    assert not {"encoder", "_opener", "sources"} & set(vars(there.engine))
    assert len(pickle.dumps(there)) < 20_000
    work = EncodeQueries(engine.chosen.spec, {}, engine.encoder)
    assert pickle.loads(pickle.dumps(work)).encoder is None
    assert 50e6 < work.memory("cpu") < 1e9


def test_objects_of_this_process_are_refused(place):
    class Mine:
        def encode(self, texts, kind):
            return [[0.0]] * len(texts)

    class Scores:
        def score(self, pairs):
            return [0.0] * len(pairs)

    reranked = search_job(MINI, recipe="infosearch", rerank=Scores(), rerank_kind="cross-encoder", output="r.trec")
    dense = search_job(MINI, system=Mine(), output="r.trec")
    for job in (reranked, dense):
        with pytest.raises(ToolkitError, match="object of this process, which workers do not have"):
            make_by(HereExecutor(1), job)
