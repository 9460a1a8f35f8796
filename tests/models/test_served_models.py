"""Vectors and scores of servers: the forms of requests, what is checked of answers, what is cached, and where keys go."""

import json

import numpy as np
import pytest
from endpoint import Script, serving, vector, worth

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models import choose_system
from toolkit.models.encoders import load_encoder
from toolkit.models.llm import Request
from toolkit.models.llm.client import load_llm
from toolkit.models.rerankers import load_reranker
from toolkit.models.servers import client
from toolkit.registry.server_forms import apis
from toolkit.registry.system_kinds import check_system

KEY = "sk-not-for-any-file-9876543210"
WORDS = [f"word {number}" for number in range(10)]


@pytest.fixture(autouse=True)
def _set_up(monkeypatch, home):
    monkeypatch.setattr(client, "BACKOFF", 0.001)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def spec(kind="dense", server=None, **parameters):
    return SystemSpec("s", "", kind, loader="endpoint", server=server or {}, parameters={"model": "m", **parameters})


def encoder(script, monkeypatch, system=None, **how):
    monkeypatch.setenv("OPENAI_BASE_URL", script.base)
    return load_encoder(system or spec(), **{"retries": 3, "timeout": 2.0, **how})


def encode(made, texts=WORDS, side="passage"):
    return made.encode([Input("", text) for text in texts], side)


def unit(texts):
    rows = np.array([vector(text) for text in texts], np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def scored(script, monkeypatch, pairs, system=None, **how):
    monkeypatch.setenv("OPENAI_BASE_URL", script.base)
    made = load_reranker(system or spec("cross-encoder"), **{"retries": 3, "timeout": 2.0, **how})
    return made.score([(Input("", query), Input("", document)) for query, document in pairs]), made


PAIRS = [("cats", "a"), ("dogs", "a"), ("cats", "b"), ("cats", "c"), ("dogs", "d")]


def test_vectors_come_in_the_order_of_the_texts_and_of_unit_length(monkeypatch):
    with serving(Script()) as script:
        made = encoder(script, monkeypatch, batch_size=4)
        assert np.array_equal(encode(made, [*WORDS, WORDS[3]]), unit([*WORDS, WORDS[3]]))
        assert made.dimension == 8
    # two probes for the dimension, and the ten different texts in requests of four
    assert sorted(len(body["input"]) for body in script.bodies) == [1, 1, 2, 4, 4]
    assert {body["encoding_format"] for body in script.bodies} == {"float"}
    usage = made.facts()["usage"]
    assert (usage["inputs"], usage["requests"], usage["tokens"]) == (12, 5, 35)
    assert usage["models"] == {"scripted-2026": 12}
    assert usage["servers"] == {script.base.removesuffix("/v1"): 12}


def test_what_was_answered_is_not_asked_again_and_replay_asks_nothing(monkeypatch):
    with serving(Script()) as script:
        first = encode(encoder(script, monkeypatch))
        again = encoder(script, monkeypatch, replay=True)
        assert np.array_equal(encode(again), first)
        assert sorted(script.answered) == sorted([*WORDS, "a", "b"])
        assert again.facts()["usage"]["models"] == {"scripted-2026": 12}  # who answered is cached, too
        with pytest.raises(ToolkitError, match=r"1 of 1 vectors of m are not in .*vectors\.sqlite"):
            encode(again, ["another"])


def row(body, **changes):
    body["data"][0] |= changes
    return body


BAD_VECTORS = {
    "too short": lambda body: row(body, embedding=[1.0] * 7),
    "too long": lambda body: row(body, embedding=[1.0] * 9),
    "empty": lambda body: row(body, embedding=[]),
    "NaN": lambda body: row(body, embedding=[float("nan")] * 8),
    "infinite": lambda body: row(body, embedding=[1e39] * 8),
    "text": lambda body: row(body, embedding=["1.0"] * 8),
    "true": lambda body: row(body, embedding=[True] * 8),
    "null": lambda body: row(body, embedding=None),
    "an index twice": lambda body: row(body, index=0),
    "an index out of range": lambda body: row(body, index=2),
    "an index below zero": lambda body: row(body, index=-1),
    "an index that is true": lambda body: row(body, index=True),
    "one fewer": lambda body: body | {"data": body["data"][1:]},
    "one more": lambda body: body | {"data": [*body["data"], {"index": 2, "embedding": [1.0] * 8}]},
    "no rows": lambda body: body | {"data": {"0": [1.0] * 8}},
    "a list": lambda body: body["data"],
    "half": "close",
    "no JSON": b"{",
    "busy": (429, {"Retry-After": "0"}),
    "down": 503,
}


@pytest.mark.parametrize("bad", BAD_VECTORS.values(), ids=BAD_VECTORS)
def test_an_answer_that_is_none_is_asked_for_again(monkeypatch, bad):
    with serving(Script(faults=[None, None, bad])) as script:  # after both probes
        made = encoder(script, monkeypatch, concurrency=1)
        assert np.array_equal(encode(made, ["x", "y"]), unit(["x", "y"]))
    assert sorted(script.answered) == ["a", "b", "x", "y"]
    assert made.facts()["usage"]["retries"] == 1


def test_a_server_that_sends_nothing_else_ends_it_and_what_came_stays(monkeypatch):
    with serving(Script()) as script:
        encode(encoder(script, monkeypatch), ["one"])
        script.always = BAD_VECTORS["NaN"]
        with pytest.raises(ToolkitError) as caught:
            encode(encoder(script, monkeypatch), ["one", "two"])
        assert caught.value.message.endswith("no answer in 4 attempts: the answer is no list of vectors of 8 finite numbers")
        script.always = None
        assert np.array_equal(encode(encoder(script, monkeypatch), ["one", "two"]), unit(["one", "two"]))
    assert sorted(script.answered) == ["a", "b", "one", "two"]


def test_one_vector_of_another_length_does_not_tell_the_dimension(monkeypatch):
    with serving(Script(faults=[BAD_VECTORS["too long"]])) as script:
        assert encoder(script, monkeypatch).dimension == 8
        assert encoder(script, monkeypatch, replay=True).dimension == 8
    assert len(script.bodies) == 3


def test_vectors_of_no_two_equal_lengths_are_refused(monkeypatch):
    answers = [lambda body, length=length: row(body, embedding=[1.0] * length) for length in range(1, 6)]
    with serving(Script(faults=answers)) as script, pytest.raises(ToolkitError, match=r"vectors of 1, 2, 3, 4, 5 components"):
        encoder(script, monkeypatch).dimension  # noqa: B018


def test_a_request_that_is_too_large_is_asked_for_in_halves(monkeypatch):
    with serving(Script()) as script:
        made = encoder(script, monkeypatch, concurrency=1, batch_size=10)
        assert made.dimension == 8
        script.faults = [413, 413]  # ten texts, then five of them
        assert np.array_equal(encode(made), unit(WORDS))
    assert sorted(script.answered) == sorted([*WORDS, "a", "b"])
    assert [len(body["input"]) for body in script.bodies[2:]] == [10, 5, 5, 3, 2]


def test_a_single_text_that_is_too_large_is_refused(monkeypatch):
    script = Script(always=(413, {}, {"error": "Batch size error"}))
    with serving(script), pytest.raises(ToolkitError, match="status 413, Batch size error"):
        encode(encoder(script, monkeypatch, spec(dimension=8)), ["x"])


def test_requests_have_no_more_tokens_than_the_entry_says(monkeypatch):
    system = spec(server={"tokens": 5, "texts": 100}, dimension=8)
    with serving(Script()) as script:
        encode(encoder(script, monkeypatch, system), ["x" * 9, "y" * 6, "z" * 30])  # 3, 2 and 10 by the estimate
    assert sorted(len(body["input"]) for body in script.bodies) == [1, 2]


def test_a_prefix_is_sent_and_dot_vectors_stay_as_they_are(monkeypatch):
    system = spec(similarity="dot", dimension=4, options={"user": "u"}, query_options={"task": "q"})
    with serving(Script()) as script:
        made = encoder(script, monkeypatch, system)
        assert made.encode([Input("query: ", "cats")], "query").tolist() == [vector("query: cats", 4)]
        encode(made, ["cats"])
    sent = [{name: value for name, value in body.items() if name != "input"} for body in script.bodies]
    common = {"model": "m", "encoding_format": "float", "user": "u", "dimensions": 4}
    assert sent == [common | {"task": "q"}, common]


SENT = {
    "cohere": ("/v1/embed", {"embedding_types": ["float"]}, "output_dimension", "search_query", "search_document"),
    "voyage": ("/v1/embeddings", {}, "output_dimension", "query", "document"),
}


@pytest.mark.parametrize("name", SENT)
def test_providers_are_told_which_side_a_text_is_of(monkeypatch, name):
    path, fixed, dimension, *sides = SENT[name]
    with serving(Script()) as script:
        monkeypatch.setenv("THEIR_API_KEY", "sk-theirs-0123456789")
        system = spec(server={"api": name, "base_url": script.base, "key": "THEIR_API_KEY"}, dimension=4)
        made = load_encoder(system)
        for side in ("query", "passage"):
            assert encode(made, ["cats"], side).shape == (1, 4)
    assert script.paths == [path, path]
    texts = {"cohere": "texts", "voyage": "input"}[name]
    for body, side in zip(script.bodies, sides, strict=True):
        assert body == {"model": "m", texts: ["cats"], dimension: 4, "input_type": side, **fixed}
    assert {headers["Authorization"] for headers in script.headers} == {"Bearer sk-theirs-0123456789"}


def test_the_key_goes_to_no_address_that_an_entry_names(monkeypatch):
    with serving(Script()) as script:
        encode(load_encoder(spec(server={"base_url": script.base}, dimension=8)))
        assert all("Authorization" not in headers for headers in script.headers)
        encode(encoder(script, monkeypatch, spec(dimension=8)), ["new"])
        assert script.headers[-1]["Authorization"] == f"Bearer {KEY}"
        script.always = 401
        with pytest.raises(ToolkitError, match=r"it needs a key \(status 401\), and none is named") as caught:
            encode(load_encoder(spec(server={"base_url": script.base}, dimension=8)), ["newer"])
    assert "OPENAI_API_KEY is sent to OPENAI_BASE_URL only" in caught.value.hint


def test_a_language_model_has_an_address_and_a_key_of_its_own(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("THEIR_API_KEY", "sk-theirs-0123456789")
    with serving(Script()) as script:
        llm = load_llm(spec("judge", server={"base_url": script.base, "key": "THEIR_API_KEY"}), retries=0)
        [answer] = llm.complete([Request([{"role": "user", "content": "hello"}], {"max_tokens": 5})])
    assert (answer.text, answer.server) == ("fine", script.base.removesuffix("/v1"))
    assert script.headers[0]["Authorization"] == "Bearer sk-theirs-0123456789"


def test_a_key_that_an_entry_names_has_to_be_set(monkeypatch):
    with pytest.raises(ToolkitError, match="m needs the key VOYAGE_API_KEY, which is not set"):
        load_encoder(spec(server={"api": "voyage"})).check()
    monkeypatch.setenv("VOYAGE_API_KEY", "pa-0123456789")
    load_encoder(spec(server={"api": "voyage"})).check()


RERANKS = {
    "http": ("/v1/rerank", {"model": "m", "documents": ["a", "b", "c"]}),
    "tei": ("/rerank", {"texts": ["a", "b", "c"]}),
    "jina": ("/v1/rerank", {"model": "m", "documents": ["a", "b", "c"], "return_documents": False}),
    "cohere": ("/v1/rerank", {"model": "m", "documents": ["a", "b", "c"]}),
    "voyage": ("/v1/rerank", {"model": "m", "documents": ["a", "b", "c"], "truncation": False}),
}


@pytest.mark.parametrize("name", RERANKS)
def test_every_form_of_reranking_gives_the_scores_of_the_pairs(monkeypatch, name):
    path, sent = RERANKS[name]
    options = {"options": {"truncation": False}} if name == "voyage" else {}
    with serving(Script()) as script:
        system = spec("cross-encoder", {"api": name, "base_url": script.base, "key": "OPENAI_API_KEY"}, **options)
        values, made = scored(script, monkeypatch, PAIRS, system)
    assert values.tolist() == [worth(*pair) for pair in PAIRS]
    assert {"query": "cats", **sent} in script.bodies
    assert len(script.bodies) == 2
    assert set(script.paths) == {path}
    assert made.facts["usage"]["inputs"] == 5


BAD_SCORES = {
    "NaN": lambda body: scores_of(body, relevance_score=float("nan")),
    "text": lambda body: scores_of(body, relevance_score="0.5"),
    "no score": lambda body: body | {"results": [{"index": 0}, {"index": 1}]},
    "an index twice": lambda body: body | {"results": [body["results"][0]] * 2},
    "an index out of range": lambda body: scores_of(body, index=7),
    "the best alone": lambda body: body | {"results": body["results"][:1]},
    "no JSON": b"<html>",
    "half": "close",
    "busy": (429, {"Retry-After": "0"}),
}


def scores_of(body, **changes):
    body["results"][0] |= changes
    return body


@pytest.mark.parametrize("bad", BAD_SCORES.values(), ids=BAD_SCORES)
def test_scores_that_are_none_are_asked_for_again(monkeypatch, bad):
    with serving(Script(faults=[bad])) as script:
        values, _ = scored(script, monkeypatch, [("q", "a"), ("q", "b")])
        again, made = scored(script, monkeypatch, [("q", "a"), ("q", "b")], replay=True)
    assert values.tolist() == again.tolist() == [worth("q", "a"), worth("q", "b")]
    assert sorted(script.answered) == [("q", "a"), ("q", "b")]
    assert made.facts["usage"]["cached"] == 2


def test_a_query_with_many_documents_is_asked_in_several_requests(monkeypatch):
    pairs = [("q", f"d{number}") for number in range(7)]
    with serving(Script()) as script:
        values, _ = scored(script, monkeypatch, pairs, batch_size=3)
    assert values.tolist() == [worth(*pair) for pair in pairs]
    assert sorted(len(body["documents"]) for body in script.bodies) == [1, 3, 3]


def test_short_names_say_api_model_and_address():
    made = choose_system("tei:BAAI/bge-m3@http://localhost:8080")
    assert (made.name, made.kind, made.parameters["model"]) == ("tei-bge-m3", "dense", "BAAI/bge-m3")
    assert made.server == {"api": "tei", "base_url": "http://localhost:8080"}
    assert choose_system("http:nomic-embed-text:latest").name == "nomic-embed-text-latest"
    assert choose_system("voyage:rerank-2.5", of_server="cross-encoder").kind == "cross-encoder"
    assert choose_system("http:me/my-model").name == "my-model"  # the registry has a system bge-m3, whose name stays its own
    with pytest.raises(ToolkitError, match="localhost:8080 is an address") as caught:
        choose_system("http://localhost:8080")
    assert "http:MODEL@http://localhost:8080" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "model", "address"),
    [
        ("http:bge-m3@gpu7:8000/v1", "bge-m3", "http://gpu7:8000/v1"),
        ("http:bge-m3@localhost", "bge-m3", "http://localhost"),
        ("http:bge-m3@10.0.0.3:8000", "bge-m3", "http://10.0.0.3:8000"),
        ("http:bge-m3@[::1]:8000/v1", "bge-m3", "http://[::1]:8000/v1"),
        ("http:me/bge@https://example.org/v1", "me/bge", "https://example.org/v1"),
        ("http:bge%40v2@http://gpu7:8000", "bge@v2", "http://gpu7:8000"),
        ("http:bge%40v2", "bge@v2", None),
    ],
)
def test_an_address_without_a_scheme_is_one(name, model, address):
    made = choose_system(name)
    assert (made.parameters["model"], made.server.get("base_url")) == (model, address)


@pytest.mark.parametrize(
    "name",
    [
        *("http:bge-m3@example.org/v1", "http:bge-m3@example.org:8000", "http:bge-m3@8.8.8.8:80", "http:bge-m3@ftp://gpu7/v1"),
        *(
            "http:bge-m3@gpu7",
            "http:bge-m3@v2",
            "http:bge-m3@",
            "http:bge-m3@htp:/gpu7:8000",
            "http:bge-m3@http//gpu7:8000",
            "http:bge-m3@me:secret@gpu7:8000",
        ),
        *("http:localhost:8000/v1", "http:gpu7:8000/v1", "http:127.0.0.1:8000", "http:[::1]:8000"),
    ],
)
def test_what_is_no_address_does_not_become_a_part_of_the_models_name(name):
    with pytest.raises(ToolkitError, match=r"no address|names an address") as caught:
        choose_system(name)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"server": {"api": "teii"}}, "api is 'teii'"),
        ({"server": {"address": "x"}}, "server has no key 'address'"),
        ({"server": {"base_url": "http://me:secret@host/v1"}}, "base_url holds a password"),
        ({"server": {"key": "HOME"}}, "not the name of a variable"),
        ({"server": {"key": "sk-0123456789abcdef"}}, "not the name of a variable"),
        ({"server": {"texts": 0}}, "texts is 0"),
        ({"server": {"api": "pinecone"}}, "api pinecone has no embeddings"),
        ({"kind": "impact", "checkpoint": "a/b"}, "no server computes what is of kind impact"),
        ({"parameters": {}}, "does not say what the server calls it"),
        ({"parameters": {"model": "m", "options": {1: 2}}}, "not a mapping of names to values"),
        ({"loader": "transformers", "checkpoint": "a/b", "server": {"api": "tei"}}, "its loader is not endpoint"),
    ],
)
def test_an_entry_that_no_server_could_be_is_refused(changes, problem):
    fields = {"kind": "dense", "loader": "endpoint", "parameters": {"model": "m"}, **changes}
    with pytest.raises(ToolkitError) as caught:
        check_system(SystemSpec("s", "", **fields))
    assert problem in " ".join([caught.value.message, *map(str, caught.value.problems)])


def test_every_api_has_a_form_and_says_where_it_was_read():
    for name, api in apis().items():
        assert api.source, name
        assert api.embeddings or api.rerank, name
        assert json.dumps(api.headers), name
