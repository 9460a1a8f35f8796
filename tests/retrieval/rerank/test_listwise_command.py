"""`tandem rerank` with a listwise system, as a process that asks a scripted server."""

import os
import signal
import subprocess
import sys
import time

import pytest
import yaml
from command import process, tandem
from endpoint import Script, oracle, serving

KEY = "sk-not-for-any-file-9876543210"
SYSTEM = """
name: scripted
description: a server of the test
kind: listwise
loader: endpoint
parameters: {model: scripted, prompt_source: somewhere}
"""
PROMPT = """
kind: listwise
turns:
  - {role: system, content: You order passages.}
  - {role: user, content: "Query: {query}"}
  - each:
      - {role: user, content: "[{number}] {passage}"}
  - {role: user, content: "Order the {count} passages, as in [2] > [1]."}
"""


@pytest.fixture
def folder(tmp_path):
    """Two queries, 30 documents each; the run has the worst first."""
    (tmp_path / "topics.tsv").write_text("q1\tcats\nq2\tdogs\n")
    (tmp_path / "mine.yaml").write_text(SYSTEM)
    (tmp_path / "prompt.yaml").write_text(PROMPT)
    rows = [(query, number) for query in ("q1", "q2") for number in range(30)]
    docs = [f'{{"id": "{query}-{number}", "text": "passage worth {number}"}}\n' for query, number in rows]
    (tmp_path / "docs.jsonl").write_text("".join(docs))
    lines = [f"{query} Q0 {query}-{number} {number + 1} {100 - number} first\n" for query, number in rows]
    (tmp_path / "first.trec").write_text("".join(lines))
    return tmp_path


WHAT = ["--run", "first.trec", "--topics", "topics.tsv", "--docs", "docs.jsonl"]
WHAT += ["--systems", "mine.yaml", "--system", "scripted"]


def environment(folder, base=""):
    return {**os.environ, "TANDEM_HOME": str(folder / "home"), "OPENAI_BASE_URL": base, "OPENAI_API_KEY": KEY}


def rerank(folder, *options, base=""):
    return tandem("rerank", *WHAT, *options, cwd=folder, env=environment(folder, base))


def ranking(file, query_id="q1"):
    return [int(line.split()[2].rpartition("-")[2]) for line in file.read_text().splitlines() if line.startswith(query_id)]


def report_of(file):
    (report,) = yaml.safe_load(file.with_name(f"{file.name}.yaml").read_text())["method"]["reranking"]
    return report


def test_a_run_is_reranked_and_its_metadata_say_how(folder):
    with serving(Script(oracle)) as script:
        done = rerank(folder, "--output", "out.trec", base=script.base)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert len(script.bodies) == 4
    assert ranking(folder / "out.trec")[:10] == list(range(29, 19, -1))
    report = report_of(folder / "out.trec")
    assert (report["method"], report["model"], report["prompt"], report["prompt_name"]) == (
        *("listwise", "scripted", "ours"),
        "listwise.v1",
    )
    assert report["rank_only"] is True
    assert report["windows"]["repairs"] == {"doubled": 0, "out_of_range": 0, "missing": 0, "unreadable": 0}
    assert (report["usage"]["asked"], report["usage"]["cached"]) == (4, 0)


def test_what_was_asked_is_replayed_without_a_server(folder):
    with serving(Script(oracle)) as script:
        rerank(folder, "--output", "a.trec", base=script.base)
    done = rerank(folder, "--output", "b.trec", "--replay")
    assert done.returncode == 0, done.stderr
    assert (folder / "a.trec").read_bytes() == (folder / "b.trec").read_bytes()
    missed = rerank(folder, "--output", "c.trec", "--replay", "--shuffle", "1")
    assert missed.returncode == 1
    assert missed.stderr.splitlines()[0].startswith("error: 2 of 2 answers of scripted are not in ")
    assert not (folder / "c.trec").exists()


def test_a_dry_run_asks_nothing_and_counts(folder):
    done = rerank(folder, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "4 requests, 0 cached, " in done.stdout
    assert not (folder / "home" / "llm").exists()


def test_a_prompt_of_the_users_is_sent_and_told(folder):
    with serving(Script(oracle)) as script:
        done = rerank(folder, "--prompt", "prompt.yaml", "--output", "out.trec", base=script.base)
    assert done.returncode == 0, done.stderr
    assert [message["role"] for message in script.bodies[0]["messages"]] == ["system", "user"]
    assert script.bodies[0]["messages"][1]["content"].startswith("Query: ")
    assert report_of(folder / "out.trec")["prompt"] == "prompt.yaml"


@pytest.mark.parametrize("fault", [401, 400])
def test_a_refusal_is_one_line_and_leaves_nothing(folder, fault):
    with serving(Script(always=fault)) as script:
        done = rerank(folder, "--output", "out.trec", base=script.base)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 2)
    assert not list(folder.glob("out*"))


def test_a_request_is_repeated_as_often_and_waited_for_as_long_as_is_said(folder):
    with serving(Script(always=500)) as script:
        done = rerank(folder, "--output", "out.trec", "--retries", "0", "--concurrency", "1", base=script.base)
        assert (done.returncode, len(script.bodies)) == (1, 1)
    with serving(Script(always="silence")) as script:
        done = rerank(folder, "--output", "out.trec", "--retries", "0", "--timeout", "0.2", base=script.base)
    assert "no answer within 0.2 seconds" in done.stderr


@pytest.mark.process
def test_no_file_and_no_output_has_the_key(folder):
    with serving(Script(oracle, always=400)) as script:
        words, env = ["rerank", *WHAT, "--output", "out.trec", "--debug"], environment(folder, script.base)
        failed = process(*words, cwd=folder, env=env)
        script.always = None
        done = process(*words, cwd=folder, env=env)
        assert script.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert (failed.returncode, done.returncode) == (1, 0)
    assert "Traceback" in failed.stderr
    assert "Bearer ***" in failed.stderr  # the server's message quotes the key
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"out.trec", "out.trec.yaml", "answers.sqlite"} <= {path.name for path in files}
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path
    assert not any(KEY in one.stdout + one.stderr for one in (failed, done))


@pytest.mark.process
def test_a_killed_command_asks_only_the_rest(folder):
    with serving(Script(oracle, delay=0.3)) as script:
        options = ["--concurrency", "1", "--passes", "3", "--output", "out.trec"]
        command = [sys.executable, "-m", "toolkit.rerank", *WHAT, *options]
        process = subprocess.Popen(command, cwd=folder, env=environment(folder, script.base))
        while len(script.bodies) < 5:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = len(script.bodies)
        assert not (folder / "out.trec").exists()
        done = rerank(folder, *options, base=script.base)
        assert done.returncode == 0, done.stderr
        usage = report_of(folder / "out.trec")["usage"]
        assert before - 2 <= usage["cached"]
        assert len(script.bodies) == before + usage["asked"]
    assert ranking(folder / "out.trec") == list(range(29, -1, -1))
