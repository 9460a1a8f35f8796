"""What a reranking is made of: what the entry, its recipe and the user say, candidates, topics, names."""

from dataclasses import replace

import pytest

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets import TopicPart, TopicSet, recorded_topics
from toolkit.files.formats import write_run
from toolkit.files.provenance import file_digest, read_record, topics_facts, write_record
from toolkit.jobs.search_jobs import rerank_job, rerank_name
from toolkit.retrieval import steps
from toolkit.retrieval.rerank import Rerank
from toolkit.retrieval.rerank.rerank_step import shown_prompt
from toolkit.retrieval.search.candidates import benchmark_candidates
from toolkit.retrieval.steps import Made, Results, Tools

TOPICS = {mode: [Topic(f"q{number}-{mode}", "red", mode=mode) for number in (1, 2)] for mode in ("ori", "ins")}
SPEC = BenchmarkSpec("made-up", "", "", {"ori": "base", "ins": "instructed"}, (), (), {})


class Collection:
    """A benchmark of one group; candidates of a mode are one document with the mode's name."""

    spec, groups = SPEC, ("all",)

    def __init__(self, modes=("ori", "ins")):
        self.modes = modes

    def scoreddocs(self, group, mode):
        rows = [(topic.query_id, mode, 1.0) for topic in TOPICS[mode]]
        return Run.from_rows(rows) if mode in self.modes else None

    def docs(self, group):
        return iter([Doc("ori", "", "one"), Doc("ins", "", "two")])


def topic_set(*modes, benchmark=None):
    topics = [topic for mode in modes for topic in TOPICS[mode]]
    return TopicSet("made-up", [TopicPart("all", topics)], benchmark or Collection())


@pytest.fixture
def found(monkeypatch):
    """Whatever topics are asked for, these are found."""
    topics = topic_set("ori", "ins")
    for place in (steps, recorded_topics):
        monkeypatch.setattr(place, "resolve_topics", lambda name: topics)
    return topics


def recipe(name, its):
    return registry.system(name).with_recipe(its)


@pytest.mark.parametrize(
    ("spec", "given", "expected", "name"),
    [
        (registry.system("followir-7b"), {}, (100, "keep", "own"), "rerank-followir-7b"),
        (recipe("followir-7b", "infosearch"), {}, (100, "drop", "own"), "rerank-followir-7b.infosearch"),
        (recipe("followir-7b", "mfollowir"), {}, (1000, "keep", "own"), "rerank-followir-7b.mfollowir"),
        (
            recipe("followir-7b", "infosearch"),
            {"depth": 20, "tail": "keep", "prompt": "pointwise-yes-no.v1"},
            (20, "keep", "own"),
            "rerank-followir-7b.infosearch.depth-20.tail-keep.prompt-pointwise-yes-no.v1",
        ),
        (registry.system("rank-zephyr-7b"), {}, (100, "keep", "rank"), "rerank-rank-zephyr-7b"),
        (
            recipe("rank-zephyr-7b", "infosearch"),
            {"passes": 3},
            (100, "drop", "candidates"),
            "rerank-rank-zephyr-7b.infosearch.passes-3",
        ),
    ],
)
def test_the_user_goes_before_the_recipe_and_the_recipe_before_what_is_usual(spec, given, expected, name):
    method = Rerank(spec, **given)
    assert (method.depth, method.tail, method.scores) == expected
    assert method.name == name


def test_a_retriever_is_no_reranker():
    with pytest.raises(ToolkitError, match="all-minilm-l6-v2 is of kind dense, no reranker"):
        Rerank(registry.system("all-minilm-l6-v2"))


def test_what_is_wrong_with_an_entry_or_prompt_is_said_before_anything_is_loaded():
    spec = registry.system("followir-7b")
    with pytest.raises(ToolkitError, match=r"no prompt 'asked\.yaml'"):
        Rerank(spec, prompt="asked.yaml")
    with pytest.raises(ToolkitError, match="kind yes-no has no parameter 'lenght'"):
        Rerank(replace(spec, parameters={**spec.parameters, "lenght": 512}))


def test_the_candidates_are_those_of_the_topics_and_no_others():
    assert benchmark_candidates(topic_set("ins")).to_dict() == {"q1-ins": {"ins": 1.0}, "q2-ins": {"ins": 1.0}}
    assert set(benchmark_candidates(topic_set("ori", "ins")).query_ids) == {"q1-ori", "q2-ori", "q1-ins", "q2-ins"}


def test_candidates_that_are_not_there_are_named():
    with pytest.raises(ToolkitError, match="made-up has no candidates on this machine for all ins"):
        benchmark_candidates(topic_set("ori", "ins", benchmark=Collection(modes=("ori",))))


def test_a_recipe_takes_the_candidates_where_no_run_is_named(found):
    method = Rerank(recipe("followir-7b", "infosearch"))
    planned = rerank_job(None, method, topics="made-up")
    assert planned.inputs.one.source == "candidates"
    assert len(planned.inputs.one.run) == 4
    assert rerank_name(planned) == "run.made-up.candidates.rerank-followir-7b.infosearch.trec"
    assert planned.describe()[-1] == "write nothing"
    with pytest.raises(ToolkitError, match="no run to rerank"):
        rerank_job(None, Rerank(registry.system("followir-7b")), topics="made-up")


def described(path, **record):
    """A record of the run that lies there."""
    data = {"run": {"sha256": file_digest(path)}, **record.pop("data", {})}
    return write_record(path, {**record, "data": data})


def test_the_topics_are_those_that_the_runs_metadata_name(found, tmp_path):
    path = tmp_path / "run.x.bm25.trec.gz"
    write_run(Run.from_dict({"q1-ori": {"ori": 1.0}}), path)
    method = Rerank(registry.system("ms-marco-minilm-l6-v2"))
    with pytest.raises(ToolkitError, match="no record says which topics"):
        rerank_job(str(path), method)
    described(path, data={"topics": topics_facts("made-up", found.topics)})
    planned = rerank_job(str(path), method)
    assert planned.inputs.topics is found
    assert rerank_name(planned) == "run.x.bm25.rerank-ms-marco-minilm-l6-v2.trec"
    described(path, data={"topics": topics_facts("made-up", found.topics[:1])})
    with pytest.raises(ToolkitError, match="was made with other topics than made-up has now"):
        rerank_job(str(path), method)


def test_a_run_of_another_tool_may_say_whatever_it_likes_beside_itself(found, tmp_path):
    path = tmp_path / "run.trec"
    write_run(Run.from_dict({"q1-ori": {"ori": 1.0}}), path)
    method = Rerank(registry.system("ms-marco-minilm-l6-v2"))
    for theirs in ({"tag": "x"}, {"method": "by hand", "data": ["unknown"]}, {"data": {"topics": "made-up"}}):
        write_record(path, theirs)
        with pytest.raises(ToolkitError, match="no record says which topics"):
            rerank_job(str(path), method)
        assert rerank_job(str(path), method, topics="made-up").inputs.one.provenance.method == {}


@pytest.fixture
def as_it_was(monkeypatch):
    """No model: the run stays as it was."""
    stays = lambda self, parts, tools: ([part.run for part in parts], {"name": "second"})  # noqa: E731
    monkeypatch.setattr(Rerank, "_pointwise", stays)


def made(path, **how):
    output = how.setdefault("output", path)
    rerank_job(str(path), Rerank(registry.system("ms-marco-minilm-l6-v2")), topics="made-up", **how).make()
    return read_record(output)


STEPS = {"retrieval": [{"name": "bm25"}], "reranking": [{"name": "first"}]}


def test_the_record_has_the_digest_of_the_candidates_and_all_steps_before(found, as_it_was, tmp_path):
    path = tmp_path / "run.trec"
    write_run(Run.from_dict({"q1-ori": {"ori": 1.0}}), path, tag="theirs")
    before = file_digest(path)
    described(path, method=STEPS)
    record = made(path)  # over the candidates themselves
    candidates = {"file": "run.trec", "sha256": before, "tag": "theirs", "queries": 1, "lines": 1}
    assert record["data"]["candidates"] == candidates
    assert record["data"]["run"]["sha256"] == file_digest(path) != before
    assert record["method"]["retrieval"] == [{"name": "bm25"}]
    assert [step["name"] for step in record["method"]["reranking"]] == ["first", "second"]


def test_the_steps_of_another_runs_record_are_left_out(found, as_it_was, tmp_path, capsys):
    path = tmp_path / "run.trec"
    write_run(Run.from_dict({"q1-ori": {"ori": 1.0}}), path)
    described(path, method=STEPS)
    write_run(Run.from_dict({"q1-ori": {"ori": 2.0}}), path)
    record = made(path, output=tmp_path / "new.trec")
    assert [*record["method"]] == ["automatic", "reranking"]
    assert [step["name"] for step in record["method"]["reranking"]] == ["second"]
    assert capsys.readouterr().err.splitlines()[0] == f"warning: {path}.yaml is the record of another file: left out"


def test_what_a_user_should_know_of_the_candidates_is_said(found, as_it_was, tmp_path, capsys):
    path = tmp_path / "run.trec"
    write_run(Run.from_dict({"q1-ori": {"ori": 1.0}}), path)
    described(path, method={"instruction": "placebo"})
    record = made(path, output=tmp_path / "new.trec")
    assert record["data"]["candidates"]["instruction"] == "placebo"
    assert "instruction" not in record["method"]  # the topics were reranked with their own
    assert capsys.readouterr().err.splitlines() == [
        f"note: {path} has no documents for 3 of 4 topics (q1-ins, q2-ins, q2-ori)",
        f"note: {path} was searched with instruction placebo; the topics are reranked with their own",
    ]


def test_the_recipes_candidates_are_not_claimed_of_another_run():
    facts = Rerank(recipe("followir-7b", "infosearch")).facts()
    assert "run" not in facts
    assert (facts["cut"], facts["rank_only"]) == ("prompt", False)
    assert Rerank(registry.system("followir-7b"), scores="rank").facts()["rank_only"]


def test_a_dry_run_tells_what_is_done_and_not_what_the_recipe_would_do(found, tmp_path):
    path = tmp_path / "run.trec"
    write_run(Run.from_dict({"q1-ori": {"ori": 1.0}}), path)
    spec = replace(recipe("followir-7b", "infosearch"), parameters={"run": "candidates", "tail": "drop", "cut": "prompt"})
    lines = rerank_job(str(path), Rerank(spec, tail="keep"), topics="made-up").describe()
    assert lines[0] == f"rerank the best 100 of each of 1 queries of {path}, keep the tail"
    assert lines[2] == ("system followir-7b, recipe infosearch (yes-no, 7.11B parameters, cut prompt): 1 pairs; scores: own")


def test_ties_of_taken_scores_are_counted_over_all_parts(monkeypatch):
    parts = [Run.from_dict({f"q{number}-ori": {"a": 1.0, "b": 1.0}}) for number in (1, 2)]
    monkeypatch.setattr(Rerank, "_parts", lambda *given: [])
    monkeypatch.setattr(Rerank, "_pointwise", lambda *given: (parts, {}))
    method = Rerank(registry.system("ms-marco-minilm-l6-v2"), scores="candidates")
    topics = topic_set("ori")
    [done] = method.apply(Results(topics, topics, runs=(Made(parts[0]),)), Tools()).runs
    assert done.provenance.method["reranking"][0]["tied"] == 2


@pytest.mark.parametrize("given", [{"depth": 0}, {"batch_size": 0}, {"batch_size": -2}])
def test_counts_below_one_are_refused(given):
    with pytest.raises(ToolkitError, match=r"is (0|-2)"):
        Rerank(registry.system("ms-marco-minilm-l6-v2"), **given)


def test_queries_that_no_part_has_are_refused(found, tmp_path):
    path = tmp_path / "run.trec"
    write_run(Run.from_dict({"q1-ori": {"ori": 1.0}, "q3-ori": {"ori": 1.0}}), path)
    planned = rerank_job(str(path), Rerank(registry.system("ms-marco-minilm-l6-v2")), topics="made-up")
    with pytest.raises(ToolkitError, match=r"1 of 2 queries are not among the topics \(q3-ori\)"):
        planned.describe()


def test_prompts_are_shown_for_language_models_alone():
    assert "{query}" in shown_prompt(registry.system("qwen3-reranker-0.6b"))
    assert shown_prompt(registry.system("rank-zephyr-7b")).startswith("listwise.v1 ")
    with pytest.raises(ToolkitError, match="it has no prompt"):
        shown_prompt(registry.system("ms-marco-minilm-l6-v2"))


def test_a_dry_run_downloads_no_index(tmp_path, home):
    """The texts of a prebuilt index are not here: the plan says so, with the size."""
    (tmp_path / "topics.tsv").write_text("1\twind power\n")
    (tmp_path / "run.trec").write_text("1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n")
    method = Rerank("ms-marco-minilm-l6-v2")
    job = rerank_job(str(tmp_path / "run.trec"), method, topics=str(tmp_path / "topics.tsv"), index="msmarco", output="-")
    texts = job.describe()[1]
    assert texts.startswith("texts of 2 documents from msmarco-v1-passage, downloaded first (")
    assert not (home / "downloads").exists()


def test_another_wording_of_the_instructions_is_sent_named_and_recorded(tmp_path, monkeypatch):
    topics = [Topic("q1-ori", "red No blue.", "red", "No blue.", mode="ori", wordings={"keywords": "blue"})]
    its = TopicSet("made-up", [TopicPart("all", topics)], Collection())
    monkeypatch.setattr(steps, "resolve_topics", lambda name: its)
    path = tmp_path / "run.trec"
    write_run(Run.from_dict({"q1-ori": {"ori": 1.0}}), path)
    method = Rerank(registry.system("ms-marco-minilm-l6-v2"))
    planned = rerank_job(str(path), method, topics="made-up", instruction="keywords")
    assert [topic.text for topic in planned.inputs.sent.topics] == ["red blue"]
    assert planned.inputs.topics is its
    assert rerank_name(planned) == "run.rerank-ms-marco-minilm-l6-v2.keywords.trec"
    assert "instructions: keywords" in planned.describe()
    sent = {}

    def remember(self, parts, tools):
        sent["texts"] = [topic.text for part in parts for topic in part.topics]
        return [part.run for part in parts], {"name": "made up"}

    monkeypatch.setattr(Rerank, "_pointwise", remember)
    rerank_job(str(path), method, topics="made-up", instruction="keywords", output=tmp_path / "out.trec").make()
    assert sent["texts"] == ["red blue"]
    metadata = read_record(tmp_path / "out.trec")
    assert metadata["method"]["instruction"] == "keywords"
    recorded_topics = metadata["data"]["topics"]
    assert recorded_topics["sha256"] == topics_facts("made-up", topics)["sha256"] != recorded_topics["keywords"]["sha256"]
    with pytest.raises(ToolkitError, match="have no wording 'short'"):
        rerank_job(str(path), method, topics="made-up", instruction="short")
