"""Rerank, judge and expand by workers of a real cluster of two nodes: the bytes of one process, and keys that nobody writes."""

import json
import os
import subprocess
import sys
import tempfile

import pytest
import tiny
from command import process, tandem
from endpoint import Script, serving
from two_nodes import started

from toolkit.models.rerankers.base import CHUNK

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.model, pytest.mark.usefixtures("ray_alone")]
SECRET = "sk-nobody-may-read-this-either"
DEPTH = 60
QUERIES = 2 * CHUNK // DEPTH + 1  # pairs of three units


@pytest.fixture
def place(tmp_path):
    tiny.tiny_bert(tmp_path / "mine", "BertForSequenceClassification", num_labels=1)
    docs = [{"id": f"d{n}", "text": f"{tiny.TEXTS[n % 5]} {n}"} for n in range(DEPTH)]
    (tmp_path / "docs.jsonl").write_text("".join(f"{json.dumps(doc)}\n" for doc in docs))
    (tmp_path / "t.tsv").write_text("".join(f"{n}\tthe cat {n}\n" for n in range(QUERIES)))
    lines = [f"{n} Q0 d{rank} {rank + 1} {99 - rank} first\n" for n in range(QUERIES) for rank in range(DEPTH)]
    (tmp_path / "first.trec").write_text("".join(lines))
    rows = [{"query_id": str(n), "query": f"the cat {n}", "perspectives": [f"yes {n}", f"no {n}"]} for n in range(QUERIES)]
    (tmp_path / "p.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "token").write_text("8" * 64)
    (tmp_path / "token").chmod(0o600)
    return tmp_path


def answer(messages):
    """A judgment or perspectives, which the prompt alone decides."""
    said = messages[-1]["content"]
    return json.dumps({"For": f"for {len(said)}", "Against": "not"}) if "JSON" in said else ("Yes", "No")[len(said) % 2]


@pytest.fixture
def session():
    """Where Ray's files lie: names of sockets end at 107 characters."""
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield folder


def test_two_nodes_give_the_bytes_of_one_process_and_show_no_key(place, session):
    rerank = ["rerank", "--run", "first.trec", "--topics", "t.tsv", "--docs", "docs.jsonl", "--system", "./mine"]
    rerank += ["--kind", "cross-encoder", "--depth", str(DEPTH)]
    judge = ["judge", "first.trec", "--topics", "p.jsonl", "--docs", "docs.jsonl", "--depth", "4"]
    judge += ["--judge", "gpt-4-0613-judge"]
    expand = ["expand", "topics", "--topics", "p.jsonl", "--from", "gpt-4-0613-expander"]
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(place / "token")}
    with serving(Script(answer)) as script:
        keyed = {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": script.base}
        running, address = started({**token, **keyed}, temp_dir=session)
        try:
            engine, env = ["--engine", f"ray:{address}"], {**os.environ, **token, **keyed}
            done = process(*rerank, "--output", "two.trec", *engine, cwd=place, env=env)
            assert (done.returncode, "failed" in done.stderr) == (0, False), done.stderr
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            asking = [
                subprocess.Popen(
                    [sys.executable, "-m", "toolkit", *words, "--output", output, *engine, "--workers", "1"],
                    cwd=place,
                    env={**env, "TANDEM_HOME": str(place / output) + ".home"},
                    **pipes,
                )
                for words, output in ((judge, "judged-two"), (expand, "expanded-two"))
            ]
            for each in asking:
                printed = each.communicate(timeout=120)
                assert each.returncode == 0, printed
            assert {headers["Authorization"] for headers in script.headers} == {f"Bearer {SECRET}"}
            asked = len(script.bodies)
            log = subprocess.run(["grep", "-rlF", SECRET, session], capture_output=True, text=True)
            assert (log.returncode, log.stdout) == (1, ""), "Ray has written the key"
            assert not list(place.glob(".*.units"))
        finally:
            running.communicate("", timeout=60)
        found = [path for path in place.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
        assert found == []
        for words, output in ((judge, "judged"), (expand, "expanded")):
            tandem(*words, "--output", output, cwd=place, env={**env, "TANDEM_HOME": str(place / "home")}, check=True)
        assert len(script.bodies) == 2 * asked == 2 * (QUERIES * 4 * 2 + QUERIES)
    tandem(*rerank, "--output", "one.trec", "--threads-per-worker", "1", cwd=place, check=True)
    for one, two in (("one.trec", "two.trec"), ("judged", "judged-two"), ("expanded", "expanded-two")):
        assert (place / one).read_bytes() == (place / two).read_bytes()
