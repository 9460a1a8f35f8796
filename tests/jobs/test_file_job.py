"""What all jobs have in common: partial results, outputs, warnings, who computes; steps composed are the jobs one by one."""

import json
import os
from dataclasses import replace

import pytest
import tiny

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.datasets import TopicPart, TopicSet, load
from toolkit.engine import LocalExecutor, units_of
from toolkit.files.formats import read_run, write_run
from toolkit.files.provenance import Provenance, file_digest, read_record
from toolkit.jobs import Output, RunJob, pipeline_job
from toolkit.jobs.file_job import make_by, partial_results, run_by
from toolkit.jobs.search_jobs import rerank_job
from toolkit.retrieval.rerank import Rerank
from toolkit.retrieval.search.retrieve import Retrieve
from toolkit.retrieval.steps import Made, Pipeline, Results, Step

RUN = Run.from_dict({"q1": {"a": 2.0, "b": 1.0}}, tag="first")


class Twice(Step):
    """Doubles scores, or multiplies them; each query is a unit. Remembers what was computed."""

    name, tag = "twice", "twice"

    def __init__(self, fails=False, by=2):
        self.fails, self.by, self.computed = fails, by, []

    def plan(self, results):
        return [f"double {len(results.runs)} runs"]

    def warnings(self, results):
        return ["note: doubled"]

    def apply(self, results, tools):
        cache = tools.cache(f"by {self.by}") if tools.cache else None
        made = results.one

        def compute(query_id):
            known = cache.get([query_id.encode()]) if cache else {}
            if known:
                return json.loads(known[query_id.encode()])
            self.computed.append(query_id)
            docs = {doc_id: self.by * score for doc_id, score in made.run.to_dict()[query_id].items()}
            if cache:
                cache.put({query_id.encode(): json.dumps(docs).encode()})
            return docs

        docs = list(tools.executor.map(compute, made.run.query_ids))
        if self.fails:
            raise RuntimeError("killed")
        run = Run.from_dict(dict(zip(made.run.query_ids, docs, strict=True)), tag=f"{made.run.tag}.twice")
        return results.with_run(run, made.provenance.step("doubling", {"by": self.by}))


def job(step, output=None, **how):
    return RunJob(Results(runs=(Made(RUN),)), step, Output.at(output, how.pop("record", None)), **how)


def test_a_job_writes_its_run_with_a_record_of_every_step(tmp_path, capsys):
    path = tmp_path / "new.trec"
    run = run_by(job(Twice() >> Twice(by=3), path, tag="mine"))
    assert (run.tag, run.to_dict()) == ("mine", {"q1": {"a": 12.0, "b": 6.0}})
    assert (read_run(path).tag, read_run(path).to_dict()) == ("mine", run.to_dict())
    record = read_record(path)
    assert record["method"]["doubling"] == [{"by": 2}, {"by": 3}]
    assert record["data"]["run"] == {"file": "new.trec", "sha256": file_digest(path), "queries": 1, "lines": 2}
    assert capsys.readouterr().err.splitlines() == ["note: doubled"] * 2


def test_a_dry_run_says_what_every_step_and_the_output_would_do(tmp_path):
    step = Twice()
    assert job(step, "new.trec").describe() == ["double 1 runs", "write new.trec"]
    assert job(step >> Twice()).describe() == ["double 1 runs", "double 0 runs", "write nothing"]
    assert step.computed == []


def test_partial_results_stay_after_a_failure_and_go_with_success(tmp_path, home):
    path, failing, again = tmp_path / "new.trec", Twice(fails=True), Twice()
    with pytest.raises(RuntimeError):
        job(failing, path).make()
    assert sorted(name for name in os.listdir(tmp_path) if "new" in name) == [".new.trec.partial"]
    job(again, path).make()
    assert (failing.computed, again.computed) == (["q1"], [])
    assert sorted(name for name in os.listdir(tmp_path) if "new" in name) == ["new.trec", "new.trec.yaml"]
    once_more = Twice()
    job(once_more, path).make()
    assert once_more.computed == ["q1"]


def test_every_step_of_a_pipeline_has_partial_results_of_its_own(tmp_path, home):
    path = tmp_path / "new.trec"
    with pytest.raises(RuntimeError):
        job(Twice() >> Twice(by=3, fails=True), path).make()
    first, second = Twice(), Twice(by=3)
    assert run_by(job(first >> second, path)).to_dict() == {"q1": {"a": 12.0, "b": 6.0}}
    assert first.computed == second.computed == []
    assert sorted(name for name in os.listdir(tmp_path) if "new" in name) == ["new.trec", "new.trec.yaml"]


@pytest.mark.parametrize(("output", "notes"), [("new.trec", ["the same command resumes"]), (None, [])])
def test_an_interrupted_job_says_whether_it_resumes(tmp_path, home, output, notes):
    class Interrupted(Twice):
        def apply(self, results, tools):
            super().apply(results, tools)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as end:
        job(Interrupted(), output and tmp_path / output).make()
    assert getattr(end.value, "__notes__", []) == notes


def test_partial_results_of_more_steps_that_were_given_up_go_with_success(tmp_path, home):
    path = tmp_path / "new.trec"
    (tmp_path / ".new.trec.partially").write_text("of nobody here")
    with pytest.raises(RuntimeError):
        job(Twice() >> Twice(by=3) >> Twice(by=4, fails=True), path).make()
    assert (tmp_path / ".new.trec.partial2").exists()
    job(Twice(), path).make()
    assert sorted(name for name in os.listdir(tmp_path) if "new" in name) == [
        ".new.trec.partially",
        "new.trec",
        "new.trec.yaml",
    ]


def test_partial_results_stay_where_the_run_cannot_be_written(tmp_path, home, monkeypatch):
    def full(*given, **how):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("toolkit.jobs.file_job.write_run", full)
    with pytest.raises(OSError, match="No space"):
        job(Twice(), tmp_path / "new.trec").make()
    assert (tmp_path / ".new.trec.partial").exists()


@pytest.mark.parametrize("output", [None, "-", "/dev/null"])
def test_where_nothing_can_be_resumed_nothing_is_cached(tmp_path, monkeypatch, capsys, output):
    monkeypatch.chdir(tmp_path)
    with partial_results(Output.at(output).path) as cache:
        assert cache is None
    job(Twice(), output).make()
    assert os.listdir(tmp_path) == []
    assert capsys.readouterr().out == ("q1 Q0 a 1 4 first.twice\nq1 Q0 b 2 2 first.twice\n" if output == "-" else "")


def test_a_stream_has_a_record_where_one_is_named(tmp_path, capsys):
    job(Twice(), "-", record=tmp_path / "named.yaml").make()
    assert os.listdir(tmp_path) == ["named.yaml"]
    assert read_record(tmp_path / "named")["method"]["doubling"] == [{"by": 2}]


def test_what_cannot_be_an_output_or_a_tag_is_refused_before_the_work(tmp_path):
    step = Twice()
    for output, record in ((tmp_path, None), (tmp_path / "x", tmp_path)):
        with pytest.raises(ToolkitError, match="is a folder, not a file"):
            job(step, output, record=record)
    with pytest.raises(ToolkitError, match="tag 'two words' cannot stand in a TREC file"):
        job(step, tag="two words")


def test_a_step_of_one_run_refuses_several():
    with pytest.raises(ToolkitError, match="2 runs where one is needed"):
        RunJob(Results(runs=(Made(RUN), Made(RUN))), Twice()).make()


def test_steps_are_joined_flat_and_named_in_order():
    both = Twice() >> Twice()
    three = both >> Twice()
    assert isinstance(three, Pipeline)
    assert (len(three.steps), three.name) == (3, "twice.twice.twice")
    assert len((Twice() >> both).steps) == 3
    assert len(both.steps) == 2


def test_units_are_of_a_fixed_size_whatever_there_is():
    assert list(units_of([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(units_of([], 2)) == []


class Remembering(LocalExecutor):
    """Computes the units from the last to the first: the result of one depends on it alone."""

    def __init__(self):
        self.units = []

    def map(self, compute, units):
        self.units += list(units)
        return reversed([compute(unit) for unit in reversed(self.units)])


def test_units_of_a_steps_work_are_computed_by_the_executor(monkeypatch):
    monkeypatch.setattr("toolkit.models.rerankers.base.CHUNK", 2)

    class Lengths:
        """Scores are lengths of documents."""

        truncated, facts = 0, {}
        spec = tiny.tiny_spec("nowhere", "cross-encoder")

        def batches(self, pairs, done=()):
            import numpy as np

            yield list(range(len(pairs))), np.array([float(len(document.whole)) for _, document in pairs])

    topics = TopicSet("made-up", [TopicPart("all", [Topic("q", "red")])], None)
    docs = [Doc(f"d{number}", "", "x" * number) for number in range(1, 6)]
    texts = {doc.doc_id: doc for doc in docs}

    class Texts:
        fetch, place = "", "the test"

        def find(self, wanted):
            return {doc_id: texts[doc_id] for doc_id in wanted}

    monkeypatch.setattr("toolkit.retrieval.rerank.rerank_step.load_reranker", lambda *given, **how: Lengths())
    run = Run.from_dict({"q": {doc_id: -float(len(doc_id)) for doc_id in texts}})
    inputs = Results(topics, topics, texts=lambda group: Texts(), runs=(Made(run),))
    executor = Remembering()
    [made] = make_by(executor, RunJob(inputs, Rerank(tiny.tiny_spec("nowhere", "cross-encoder"))))
    assert made.run.to_dict() == {"q": {f"d{number}": float(number) for number in range(1, 6)}}
    assert executor.units == [slice(0, 2), slice(2, 4), slice(4, 5)]


@pytest.mark.lucene
@pytest.mark.model
def test_steps_composed_are_the_run_that_is_written_and_reranked(tmp_path, home, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny.tiny_bert(tmp_path / "mine", "BertForSequenceClassification", num_labels=1)
    name = "infosearch-mini-audience-ins"
    retrieve, rerank = Retrieve("bm25", hits=20), Rerank("./mine", kind="cross-encoder", depth=5)
    composed = run_by(pipeline_job(retrieve >> rerank, name, output="both.trec"))
    pipeline_job(Retrieve("bm25", hits=20), name, output="first.trec").make()
    second = run_by(rerank_job("first.trec", Rerank("./mine", kind="cross-encoder", depth=5), output="second.trec"))
    assert composed.to_dict() == second.to_dict()
    assert read_run("both.trec").to_dict() == read_run("second.trec").to_dict()
    assert composed.query_ids == tuple(topic.query_id for topic in load("infosearch-mini").topics("audience", "ins"))
    assert (retrieve >> rerank)(name).to_dict() == composed.to_dict()
    both, last = read_record("both.trec"), read_record("second.trec")
    assert both["method"] == last["method"]
    for part in ("topics", "indexes", "test collection"):
        assert both["data"][part] == last["data"][part]
    assert last["data"]["candidates"]["sha256"] == file_digest(tmp_path / "first.trec")


def test_a_run_that_goes_over_the_one_it_is_made_of_names_that(tmp_path):
    path = tmp_path / "run.trec"
    write_run(RUN, path)
    before = file_digest(path)
    made = Made(RUN, Provenance(), str(path), {"sha256": before})
    RunJob(Results(runs=(made,)), Noting(), Output.at(path)).make()
    assert read_record(path)["data"]["made of"] == {"sha256": before}
    assert read_record(path)["data"]["run"]["sha256"] == file_digest(path) != before


class Noting(Step):
    """Turns the scores round, and says what the run was made of."""

    name = tag = "noting"

    def plan(self, results):
        return []

    def apply(self, results, tools):
        made = results.one
        run = replace(made.run, scores=-made.run.scores)
        return results.with_run(run, made.provenance.having(made_of=dict(made.facts)))
