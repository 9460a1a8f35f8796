"""Commands with models on a server: encode, index, search and rerank, their records and dry runs, a killed process."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml
from command import tandem
from endpoint import Script, serving, vector, worth

import tandem_ir

KEY = "sk-not-for-any-file-9876543210"
DOCS = {f"d{number}": f"about {number}" for number in range(30)}
TOPICS = {"q1": "cats", "q2": "dogs"}
ENTRY = """
- name: ours
  description: vectors of the test
  kind: dense
  loader: endpoint
  server: {texts: 7}
  parameters: {model: m, similarity: cos}
  templates: {query: "query: {query}", passage: "passage: {contents}"}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps({"id": d, "text": text}) + "\n" for d, text in DOCS.items()))
    (tmp_path / "topics.tsv").write_text("".join(f"{query}\t{text}\n" for query, text in TOPICS.items()))
    (tmp_path / "mine.yaml").write_text(ENTRY)
    rows = [(query, number) for query in TOPICS for number in range(30)]
    (tmp_path / "first.trec").write_text("".join(f"{q} Q0 d{n} {n + 1} {30 - n} first\n" for q, n in rows))
    return tmp_path


def environment(folder, base=""):
    return {**os.environ, "TANDEM_HOME": str(folder / "home"), "OPENAI_BASE_URL": base, "OPENAI_API_KEY": KEY}


def run(folder, script, *words):
    done = tandem(*words, cwd=folder, env=environment(folder, script.base if script else ""))
    assert KEY not in done.stdout + done.stderr
    return done


def by_cosine(query):
    """The order of all documents by the definition."""
    q, rows = np.array(vector(query)), {doc: np.array(vector(f"passage: {text}")) for doc, text in DOCS.items()}
    return sorted(rows, key=lambda doc: (-np.float32(rows[doc] @ q / np.linalg.norm(rows[doc]) / np.linalg.norm(q)), doc))


def ranking(path, query):
    return [line.split()[2] for line in path.read_text().splitlines() if line.split()[0] == query]


def held_key(folder):
    return [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


RERANK = ("rerank", "--run", "first.trec", "--topics", "topics.tsv", "--docs", "docs.jsonl", "--system", "http:m")


def test_documents_are_indexed_and_found_by_vectors_of_a_server(folder):
    with serving(Script()) as script:
        ours = ("--system", "ours", "--systems", "mine.yaml")
        assert run(folder, script, "index", "docs.jsonl", *ours, "--output", "index").returncode == 0
        searched = run(folder, script, "search", "--topics", "topics.tsv", "--index", "index", *ours, "--output", "run.trec")
        assert (searched.returncode, searched.stderr) == (0, "run.trec: 2 queries, 60 documents\n")
        assert max(len(body["input"]) for body in script.bodies) == 7
    for query, text in TOPICS.items():
        assert ranking(folder / "run.trec", query) == by_cosine(f"query: {text}")
    server = script.base.removesuffix("/v1")
    index = yaml.safe_load((folder / "index" / "tandem.yaml").read_text())
    assert (index["model"], index["dimension"], index["similarity"]) == ("m", 8, "cos")
    assert set(index["implementation"]["server"]["usage"]["servers"]) == {server}
    record = yaml.safe_load((folder / "run.trec.yaml").read_text())["method"]["retrieval"][0]
    assert (record["model"], record["api"], record["usage"]["servers"]) == ("m", "http", {server: 4})
    assert "queries cut" not in record
    assert held_key(folder) == []
    assert {headers["Authorization"] for headers in script.headers} == {f"Bearer {KEY}"}


def test_a_run_is_reranked_by_a_server_and_a_second_time_from_the_cache(folder):
    with serving(Script()) as script:
        done = run(folder, script, *RERANK, "--depth", "20", "--tail", "drop", "--batch-size", "6", "--output", "run.trec")
        assert done.returncode == 0, done.stderr
        sent = len(script.bodies)
        assert sent == 2 * 4
    done = run(folder, None, *RERANK, "--depth", "20", "--tail", "drop", "--replay", "--output", "again.trec")
    assert done.returncode == 0, done.stderr
    assert (folder / "run.trec").read_bytes() == (folder / "again.trec").read_bytes()
    scores = {doc: worth("cats", DOCS[doc]) for doc in list(DOCS)[:20]}
    found = [line.split() for line in (folder / "run.trec").read_text().splitlines() if line.startswith("q1 ")]
    assert {row[2]: float(row[4]) for row in found} == scores
    record = yaml.safe_load((folder / "run.trec.yaml").read_text())["method"]["reranking"][0]
    assert (record["model"], record["usage"]["inputs"], record["usage"]["requests"]) == ("m", 40, sent)
    assert held_key(folder) == []


def test_a_dry_run_counts_what_would_be_asked_and_asks_nothing(folder):
    with serving(Script()) as script:
        done = run(folder, script, *RERANK, "--dry-run")
        assert "60 pairs, 60 different, 0 cached, 2 requests, 340 tokens" in done.stdout
        done = run(folder, script, "encode", "docs.jsonl", "--system", "http:m", "--output", "v", "--dry-run")
        assert f"30 different, 0 cached; 1 requests of about 110 tokens (estimate) to {script.base[:-3]}" in done.stdout
        assert script.bodies == []
        run(folder, script, "encode", "docs.jsonl", "--system", "http:m", "--output", "v")
        done = run(folder, script, "encode", "docs.jsonl", "--system", "http:m", "--output", "w", "--dry-run")
        assert "30 different, 30 cached; 0 requests of about 0 tokens" in done.stdout


def test_nothing_is_begun_where_no_server_is_named(folder):
    done = tandem(
        "encode",
        "docs.jsonl",
        "--system",
        "http:m",
        "--output",
        "v",
        cwd=folder,
        env=environment(folder) | {"OPENAI_API_KEY": ""},
    )
    assert (done.returncode, (folder / "v").exists()) == (2, False)
    assert "error: no server for m" in done.stderr


def test_what_only_servers_have_is_refused_for_others(folder):
    for words in (
        ("search", "--topics", "topics.tsv", "--index", "i", "--system", "bm25", "--concurrency", "4"),
        ("search", "--topics", "topics.tsv", "--index", "i", "--system", "bm25", "--loader", "endpoint"),
        ("encode", "docs.jsonl", "--system", "all-minilm-l6-v2", "--replay", "--output", "v"),
        ("index", "docs.jsonl", "--retries", "1", "--output", "i"),
        ("rerank", "--run", "first.trec", "--system", "ms-marco-minilm-l6-v2", "--timeout", "3"),
    ):
        done = run(folder, None, *words)
        assert done.returncode == 2, words
        assert done.stderr.startswith("error: "), words


def test_a_registered_checkpoint_may_be_served_with_its_templates(folder):
    with serving(Script()) as script:
        words = ("encode", "--topics", "topics.tsv", "--system", "e5-large-v2", "--loader", "endpoint", "--output", "v")
        assert run(folder, script, *words).returncode == 0
    assert {body["model"] for body in script.bodies} == {"intfloat/e5-large-v2"}
    assert {"query: cats", "query: dogs"} <= set(script.answered)


def test_from_python_a_server_encodes_and_reranks(folder, monkeypatch):
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    with serving(Script()) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        tandem_ir.index("docs.jsonl", "index", system="http:m")
        found = tandem_ir.search(TOPICS, "index", "http:m", rerank="http:r", depth=5, docs="docs.jsonl", concurrency=2)
        assert script.most <= 2
    best = {query: max(rows, key=rows.get) for query, rows in found.head(5).to_dict().items()}
    for query, doc in best.items():
        rows = found.to_dict()[query]
        assert rows[doc] == worth(TOPICS[query], DOCS[doc])
    assert {body["model"] for body in script.bodies} == {"m", "r"}


def test_vectors_of_a_server_diversify_a_run(folder):
    words = ("diversify", "first.trec", "--lam", "0.5", "--topics", "topics.tsv", "--docs", "docs.jsonl", "--system", "http:m")
    with serving(Script()) as script:
        done = run(folder, script, *words, "--output", "mmr.trec")
    assert done.returncode == 0, done.stderr
    assert len(set(script.answered)) == len(script.answered) >= 30
    assert held_key(folder) == []


@pytest.mark.process
@pytest.mark.parametrize("what", ["encode", "rerank"])
def test_a_killed_command_resumes_and_asks_for_nothing_twice(folder, what):
    words = RERANK if what == "rerank" else ("encode", "docs.jsonl", "--system", "http:m")
    words = (*words, "--batch-size", "1", "--concurrency", "2", "--output", "out")
    with serving(Script(delay=0.05)) as script:
        env = environment(folder, script.base)
        first = subprocess.Popen([sys.executable, "-m", "toolkit", *words], cwd=folder, env=env, stderr=subprocess.DEVNULL)
        while len(script.answered) < 12:
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert not (folder / "out").is_file()
        script.delay = 0
        assert run(folder, script, *words).returncode == 0
    twice = len(script.answered) - len(set(script.answered))
    assert twice <= 2  # what was under way
    assert len(set(script.answered)) == (60 if what == "rerank" else 32)
    assert held_key(folder) == []
