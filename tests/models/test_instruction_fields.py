"""Instructions of servers: in the field of a request that is for them, or in the text of the query; never lost."""

import json

import pytest
from command import tandem
from endpoint import Script, serving

from toolkit import datasets
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input, topic_input
from toolkit.files.formats import read_run
from toolkit.files.provenance import read_record
from toolkit.jobs.search_jobs import rerank_job
from toolkit.models import choose_system
from toolkit.models.encoders import load_encoder
from toolkit.models.servers import client
from toolkit.registry.server_forms import EmbeddingForm, apis
from toolkit.registry.system_kinds import check_system, loaded_by
from toolkit.retrieval.rerank import Rerank

KEY = "sk-not-for-any-file-9876543210"
FIELDS = {name: api.rerank.instruction for name, api in apis().items() if api.rerank and api.rerank.instruction}
SHAPES = {"sglang": "sglang", "deepinfra": "deepinfra"}


@pytest.fixture(autouse=True)
def _set_up(monkeypatch, home):
    monkeypatch.setattr(client, "BACKOFF", 0.001)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def topics():
    return datasets.resolve_topics("infosearch-mini-audience")


@pytest.fixture
def run(tmp_path, topics):
    """Two documents of the corpus for every topic."""
    docs = [doc.doc_id for doc, _ in zip(topics.benchmark.docs("audience"), range(2), strict=False)]
    path = tmp_path / "first.trec"
    lines = [f"{topic.query_id} Q0 {doc} {rank} {3 - rank} t\n" for topic in topics.topics for rank, doc in enumerate(docs, 1)]
    path.write_text("".join(lines))
    return path


def system(script, name, **more):
    server = {"api": name, "base_url": script.base, "key": "OPENAI_API_KEY"}
    return SystemSpec("s", "", "cross-encoder", loader="endpoint", server=server, parameters={"model": "m"}, **more)


def of_query(body):
    [query] = {body["query"]} if "query" in body else set(body["queries"])
    return query


@pytest.mark.parametrize("name", FIELDS)
def test_every_request_has_the_instruction_in_its_field_and_none_in_the_query(tmp_path, run, topics, name):
    output = tmp_path / "second.trec"
    with serving(Script(shape=SHAPES.get(name, ""))) as script:
        rerank_job(run, Rerank(system(script, name)), topics="infosearch-mini-audience", output=output).make()
        wanted = {(topic.query, topic.instruction) for topic in topics.topics}
        sent = [(of_query(body), body.get(FIELDS[name], "")) for body in script.bodies]
        assert sorted(sent) == sorted(wanted)  # as many requests as there are different ones
        assert all(
            FIELDS[name] not in body for body in script.bodies if (of_query(body), "") in wanted and not body.get(FIELDS[name])
        )
        # all of it is cached, by the instruction too
        again = tmp_path / "again.trec"
        rerank_job(run, Rerank(system(script, name), replay=True), topics="infosearch-mini-audience", output=again).make()
    assert again.read_bytes() == output.read_bytes()
    [step] = read_record(output)["method"]["reranking"]
    assert step["instruction as"] == f"field {FIELDS[name]}"
    assert len(read_run(output).query_ids) == len(topics.topics)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_an_interrupted_run_asks_for_nothing_twice(tmp_path, run):
    output = tmp_path / "second.trec"
    with serving(Script(faults=[*[None] * 5, 403])) as script:
        step = Rerank(system(script, "vllm"), concurrency=1)
        with pytest.raises(ToolkitError, match="403"):
            rerank_job(run, step, topics="infosearch-mini-audience", output=output).make()
        assert len(script.bodies) == 6
        rerank_job(run, step, topics="infosearch-mini-audience", output=output).make()
    [refused] = script.bodies[5:6]
    asked = [json.dumps(body) for body in script.bodies]
    assert len(asked) == len(set(asked)) + 1  # the one that was refused came again
    assert asked.count(json.dumps(refused)) == 2


def test_text_is_the_whole_query_and_enters_the_name(tmp_path, run, topics):
    with serving(Script()) as script:
        step = Rerank(system(script, "vllm"), instruction_as="text")
        assert step.name.endswith(".instruction-as-text")
        rerank_job(run, step, topics="infosearch-mini-audience", output=tmp_path / "r.trec").make()
    assert {body["query"] for body in script.bodies} == {topic.text for topic in topics.topics}
    assert not any("instruction" in body for body in script.bodies)


def test_a_form_without_a_field_refuses_one():
    with pytest.raises(ToolkitError, match="m has no field for instructions") as caught:
        Rerank("http:m", instruction_as="field")
    assert "vllm" in caught.value.hint
    assert "instruction" not in Rerank("http:m").spec.templates


def test_the_command_says_where_instructions_go(tmp_path, run, topics, monkeypatch):
    with serving(Script()) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        cores = {topic.query for topic in topics.topics}
        how = ("rerank", "--run", run, "--topics", "infosearch-mini-audience", "--output", tmp_path / "r.trec")
        refused = tandem(*how, "--system", "http:m", "--instruction-as", "field")
        assert refused.returncode == 2
        assert "error: m has no field for instructions" in refused.stderr
        done = tandem(*how, "--system", "http:m", check=True)
        assert "instructions are in the text of queries" in done.stderr
        done = tandem(*how, "--system", "vllm:m", check=True)
        assert "instructions are in the text of queries" not in done.stderr
    assert not any("instruction" in body for body in script.bodies if body["query"] not in cores)


def test_queries_are_embedded_with_their_instruction_in_the_field(monkeypatch):
    form = EmbeddingForm("embeddings", instruction="parameters.instruct")
    monkeypatch.setattr(
        "toolkit.registry.server_forms.apis", lambda: {"own": type(apis()["http"])("own", "", "", embeddings=form)}
    )
    with serving(Script()) as script:
        server = {"api": "own", "base_url": script.base}
        spec = SystemSpec("s", "", "dense", loader="endpoint", server=server, parameters={"model": "m", "dimension": 8})
        made = load_encoder(spec)
        inputs = [Input("", "cats", "only old ones"), Input("", "cats"), Input("", "dogs", "only old ones")]
        assert made.plan(inputs, "query")["requests"] == 2
        vectors = made.encode(inputs, "query")
        assert made.plan(inputs, "query")["cached"] == 3
    assert vectors.shape == (3, 8)
    assert [(body["input"], body.get("parameters")) for body in script.bodies] == [
        (["cats", "dogs"], {"instruct": "only old ones"}),
        (["cats"], None),
    ]


def test_an_entry_may_word_the_instruction_of_its_field(topics):
    topic = next(topic for topic in topics.topics if topic.instruction)
    templates = {"query": "q: {query} {instruction}", "instruction": "Judge by: {instruction}"}
    sent = topic_input(templates, topic)
    assert sent == Input("q: ", topic.query, f"Judge by: {topic.instruction}")
    assert topic_input(templates, datasets.resolve_topics("infosearch-mini-audience-ori").topics[0]).instruction == ""


def test_the_template_is_for_servers_with_a_field():
    for api in ("vllm", "http"):
        spec = choose_system(f"{api}:m", of_server="cross-encoder")
        assert ("instruction" in loaded_by(spec, None).templates) == (api == "vllm")
    with pytest.raises(ToolkitError, match="template instruction is what a server is sent"):
        check_system(SystemSpec("s", "", "dense", checkpoint="a/b", templates={"instruction": "{instruction}"}))


def test_explain_shows_the_request_field_by_field(topics, monkeypatch):
    topic = next(topic for topic in topics.topics if topic.instruction)
    doc = next(iter(topics.benchmark.docs("audience")))
    what = ("--topics", "infosearch-mini-audience", "--query", topic.query_id, "--doc", doc.doc_id, "--kind", "cross-encoder")
    shown = tandem("systems", "explain", "vllm:m", *what, check=True).stdout.splitlines()
    assert f"  request  instruction: {json.dumps(topic.instruction, ensure_ascii=False)}" in shown
    assert f"  request  query: {json.dumps(topic.query, ensure_ascii=False)}" in shown
    assert '  request  model: "m"' in shown
    shown = tandem("systems", "explain", "vllm:m", *what, "--instruction-as", "text", check=True).stdout.splitlines()
    assert f"  request  query: {json.dumps(topic.text, ensure_ascii=False)}" in shown
    assert not any(line.startswith("  request  instruction") for line in shown)
