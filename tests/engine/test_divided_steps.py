"""Steps whose units workers compute give what one process gives: encode, rerank, listwise, judge, expand."""

import json

import pytest
import tiny
from endpoint import Script, serving
from workers import HereExecutor

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.files.formats import write_run
from toolkit.files.formats.vectors import verify_vectors
from toolkit.jobs.encode_jobs import EncodeJob
from toolkit.jobs.expand_jobs import ExpandJob
from toolkit.jobs.judge_jobs import JudgeJob, judge_of
from toolkit.jobs.search_jobs import rerank_job
from toolkit.retrieval.rerank.pointwise import ScorePairs
from toolkit.retrieval.rerank.rerank_step import Rerank

DOCS = {f"d{number}": f"{text} {number}" for number, text in enumerate(tiny.TEXTS * 6)}
TOPICS = {f"q{number}": f"{text} {number}" for number, text in enumerate(["the cat", "a river and a tree", "kiwi"] * 3)}


@pytest.fixture(autouse=True)
def same_process(monkeypatch):
    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)


@pytest.fixture
def place(tmp_path, home, monkeypatch):
    """Documents, topics with perspectives, and a run; the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in DOCS.items()))
    rows = [{"query_id": name, "query": text, "perspectives": ["yes", "no"]} for name, text in TOPICS.items()]
    (tmp_path / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    run = {query: {doc: float(len(DOCS) - rank) for rank, doc in enumerate(DOCS)} for query in TOPICS}
    write_run(Run.from_dict(run), tmp_path / "first.trec", tag="first")
    return tmp_path


def by(executor, job):
    job.executor = executor
    return job.make()


@pytest.mark.model
@pytest.mark.parametrize("workers", [1, 3])
def test_scores_of_pairs_are_those_of_one_process(place, monkeypatch, workers):
    monkeypatch.setattr("toolkit.models.rerankers.base.CHUNK", 16)
    tiny.tiny_bert(place / "mine", "BertForSequenceClassification", num_labels=1)
    where = {"topics": "t.jsonl", "docs": "c.jsonl"}
    rerank_job("first.trec", Rerank("./mine", kind="cross-encoder", depth=12), **where, output="local.trec").make()
    executor = HereExecutor(workers, lost=[2])
    by(executor, rerank_job("first.trec", Rerank("./mine", kind="cross-encoder", depth=12), **where, output="ray.trec"))
    assert (place / "ray.trec").read_bytes() == (place / "local.trec").read_bytes()
    assert executor.units == 8, "seven units of 16 pairs, and one that was lost"
    records = [(place / f"{name}.trec.yaml").read_text().replace(f"{name}.trec", "") for name in ("ray", "local")]
    assert [line for line in records[0].splitlines() if "sha256" in line] == [
        line for line in records[1].splitlines() if "sha256" in line
    ]
    assert not list(place.glob(".*"))


@pytest.mark.model
def test_workers_need_no_file_of_the_prompt_that_they_are_sent(place, monkeypatch):
    """A cluster's nodes see the units, and not the folder of prompts of the machine that asks."""
    tiny.tiny_decoder(place / "mine", head="ForCausalLM")
    turn = {"role": "user", "content": "Query: {query}\nDocument: {document}\nDoes it answer, yes or no?"}
    (place / "own.yaml").write_text(json.dumps({"kind": "pointwise", "turns": [turn]}))

    load = ScorePairs._load

    def elsewhere(self):
        (place / "own.yaml").rename(place / "away.yaml")
        try:
            return load(self)
        finally:
            (place / "away.yaml").rename(place / "own.yaml")

    monkeypatch.setattr(ScorePairs, "_load", elsewhere)
    entry = {"name": "mine-yes-no", "description": "mine", "kind": "yes-no", "checkpoint": "./mine"}
    entry["parameters"] = {"tokens": ["t", "f"], "length": 64, "chat": False}
    (place / "mine.yaml").write_text(json.dumps([entry]))
    for name, executor in (("local", None), ("ray", HereExecutor(2))):
        step = Rerank("mine-yes-no", systems=["mine.yaml"], depth=4, prompt="own.yaml")
        job = rerank_job("first.trec", step, topics="t.jsonl", docs="c.jsonl", output=f"{name}.trec")
        _ = by(executor, job) if executor else job.make()
    assert (place / "ray.trec").read_bytes() == (place / "local.trec").read_bytes()
    assert "prompt: own.yaml" in (place / "ray.trec.yaml").read_text()


@pytest.mark.model
def test_an_interrupted_rerank_is_resumed_by_other_workers(place, monkeypatch):
    monkeypatch.setattr("toolkit.models.rerankers.base.CHUNK", 16)
    tiny.tiny_bert(place / "mine", "BertForSequenceClassification", num_labels=1)

    def job():
        step = Rerank("./mine", kind="cross-encoder", depth=12)
        return rerank_job("first.trec", step, topics="t.jsonl", docs="c.jsonl", output="ray.trec")

    from toolkit.engine.dispatch import Dispatch

    finish, done = Dispatch._finish, []

    def stop_at_the_fourth(self, *unit):
        finish(self, *unit)
        done.append(unit)
        if len(done) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(Dispatch, "_finish", stop_at_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        by(HereExecutor(2), job())
    monkeypatch.setattr(Dispatch, "_finish", finish)
    assert not (place / "ray.trec").exists()
    executor = HereExecutor(3)
    by(executor, job())
    assert executor.units <= 3, "four of seven were there"
    rerank_job(
        "first.trec", Rerank("./mine", kind="cross-encoder", depth=12), topics="t.jsonl", docs="c.jsonl", output="local.trec"
    ).make()
    assert (place / "ray.trec").read_bytes() == (place / "local.trec").read_bytes()


@pytest.mark.model
def test_vectors_are_those_of_one_process_and_leftover_shards_go(place):
    how = {"shard_size": 7}
    EncodeJob("c.jsonl", "all-minilm-l6-v2", "local", **how).make()
    (place / "ray").mkdir()
    executor = HereExecutor(2)
    counts, dimension = by(executor, EncodeJob("c.jsonl", "all-minilm-l6-v2", "ray", **how))
    assert (counts.documents, dimension, executor.units) == (len(DOCS), 384, 5)
    for path in (place / "local").glob("*s-*"):
        assert path.read_bytes() == (place / "ray" / path.name).read_bytes()
    assert verify_vectors(place / "ray") == []


def expanding(executor, script, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", script.base)
    return by(executor, ExpandJob("t.jsonl", "gpt-4-0613-expander", output="q.jsonl"))


def test_perspectives_are_asked_once_by_workers_and_cached_here(place, monkeypatch):
    monkeypatch.setattr("toolkit.engine.answers.TOGETHER", 2)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")

    def answer(messages):
        return json.dumps({"For": f"for {len(messages[-1]['content'])}", "Against": "against"})

    with serving(Script(answer)) as script:
        executor = HereExecutor(2)
        made = expanding(executor, script, monkeypatch)
        assert (len(script.bodies), executor.units) == (len(TOPICS), 5)
        assert made.facts["usage"]["asked"] == len(TOPICS)
    again = ExpandJob("t.jsonl", "gpt-4-0613-expander", output="again.jsonl", replay=True)
    again.make()
    assert (place / "again.jsonl").read_bytes() == (place / "q.jsonl").read_bytes()
    assert "sk-of-nobody" not in "".join(path.read_text(errors="replace") for path in place.rglob("*") if path.is_file())


def test_what_units_hold_is_no_key(place, monkeypatch):
    """Units and results lie in a folder that others may read: the worker has its key from its own environment."""
    import pickle

    from toolkit.engine.answers import AnswerRequests

    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    with serving(Script(lambda messages: "no")) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        job = ExpandJob("t.jsonl", "gpt-4-0613-expander", output="q.jsonl", attempts=1)
        job.executor = HereExecutor(1)
        with pytest.raises(ToolkitError, match="gave no perspectives for 9 of 9"):
            job.make()
        work = AnswerRequests("asking", job.expander.llm.make)
        assert b"sk-of-nobody" not in pickle.dumps(work)
        assert list(place.glob(".q.jsonl.units/*/*.json"))
        assert not [path for path in place.rglob("*.json") if "sk-of-nobody" in path.read_text()]


def test_judgments_are_those_of_one_process(place, monkeypatch):
    monkeypatch.setattr("toolkit.engine.answers.TOGETHER", 4)
    answers = Script(lambda messages: "Yes" if "cat" in messages[-1]["content"] else "No")
    reports = {}
    for name, executor in (("local", None), ("ray", HereExecutor(2, lost=[1]))):
        monkeypatch.setenv("TANDEM_HOME", str(place / f"home-{name}"))
        with serving(answers) as script:
            monkeypatch.setenv("OPENAI_BASE_URL", script.base)
            judge = judge_of("gpt-4-0613-judge")
            job = JudgeJob("first.trec", judge, topics="t.jsonl", docs="c.jsonl", depth=4, output=f"{name}.txt")
            judged = by(executor, job) if executor else job.make()
            reports[name] = judged.report["judgments"]
    assert (place / "ray.txt").read_bytes() == (place / "local.txt").read_bytes()
    assert reports["ray"] == reports["local"]
    assert reports["ray"]["pairs"] == len(TOPICS) * 4 * 2


def test_lists_are_ordered_as_by_one_process_and_counted_alike(place, monkeypatch):
    monkeypatch.setattr("toolkit.engine.answers.TOGETHER", 2)
    reports = {}
    for name, executor in (("local", None), ("ray", HereExecutor(3))):
        monkeypatch.setenv("TANDEM_HOME", str(place / f"home-{name}"))
        with serving(Script(lambda messages: "[2] > [1] > [2]")) as script:
            monkeypatch.setenv("OPENAI_BASE_URL", script.base)
            step = Rerank("gpt-4o", depth=6, window=4, step=2)
            job = rerank_job("first.trec", step, topics="t.jsonl", docs="c.jsonl", output=f"{name}.trec")
            _ = by(executor, job) if executor else job.make()
            reports[name] = step.facts()["windows"]
    assert (place / "ray.trec").read_bytes() == (place / "local.trec").read_bytes()
    assert reports["ray"] == reports["local"]
    assert reports["ray"]["windows"] == len(TOPICS) * 2


def test_objects_of_this_process_are_refused(place):
    class Mine:
        def score(self, pairs):
            return [0.0] * len(pairs)

        def encode(self, texts, kind):
            return [[0.0]] * len(texts)

        def generate(self, messages):
            return "no"

    pairs = rerank_job("first.trec", Rerank(Mine(), kind="cross-encoder"), topics="t.jsonl", docs="c.jsonl", output="r.trec")
    for job in (pairs, ExpandJob("t.jsonl", Mine(), output="q.jsonl")):
        with pytest.raises(ToolkitError, match="object of this process, which workers do not have"):
            by(HereExecutor(1), job)
    with pytest.raises(ToolkitError, match="object of this process, which workers do not have"):
        EncodeJob("c.jsonl", Mine(), "v").check_divisible()
    with pytest.raises(ToolkitError, match="topics are encoded at once"):
        EncodeJob(None, "all-minilm-l6-v2", "v", topics="t.jsonl").check_divisible()
