"""`tandem judge` and a scripted server: output, metadata, failures, interruption.

A process of its own is started where it is killed.
"""

import gzip
import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading

import pytest
import yaml
from command import tandem
from endpoint import Script, serving

from toolkit.models.llm.answer_cache import UNWRITTEN

KEY = "sk-not-for-any-file-9876543210"
ENTRY = """
name: scripted
description: a server of the test
kind: judge
loader: endpoint
parameters: {model: scripted, prompt_source: somewhere, max_tokens: 8}
templates: {passage: "{text} {title}"}
"""
QUESTIONS = 20
DOCS = 5
ASKED = QUESTIONS * DOCS * 2


def said(messages):
    """Yes where the number of the document and of the statement are both even or both odd."""
    text = messages[-1]["content"]
    document, statement = (int(part.split(":")[1].split()[-1 if n == 0 else 1]) for n, part in enumerate(_parts(text)))
    return "Yes" if document % 2 == statement % 2 else "No"


def _parts(text):
    lines = text.split("\n")
    return lines[0], next(line for line in lines if line.startswith("Statement:"))


@pytest.fixture
def folder(tmp_path):
    """Questions with two perspectives each, and a run of five documents for each of them but the last."""
    rows = [
        {"query_id": f"q{n}", "text": f"question {n}?", "perspectives": [f"claim 1 of {n}", f"claim 2 of {n}"]}
        for n in range(QUESTIONS)
    ]
    (tmp_path / "topics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    docs = [{"id": f"{n}-{d}", "text": f"about {n} number {d}"} for n in range(QUESTIONS) for d in range(DOCS)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    lines = [f"q{n} Q0 {n}-{d} {d + 1} {10 - d} first\n" for n in range(QUESTIONS) for d in range(DOCS)]
    (tmp_path / "run.trec").write_text("".join(lines))
    (tmp_path / "mine.yaml").write_text(ENTRY)
    return tmp_path


WHAT = ["run.trec", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--systems", "mine.yaml", "--judge", "scripted"]


def environment(folder, base=""):
    return {**os.environ, "TANDEM_HOME": str(folder / "home"), "OPENAI_BASE_URL": base, "OPENAI_API_KEY": KEY}


@pytest.fixture
def judge(folder):
    """`judge(options)` for the run of the folder, `judge(words=...)` for all else."""

    def run(*options, base="", words=None):
        return tandem("judge", *(words or [*WHAT, *options]), cwd=folder, env=environment(folder, base))

    return run


def labels(file):
    lines = (gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()).decode().splitlines()
    return {(q, n, d): int(label) for q, n, d, label in map(str.split, lines)}


EXPECTED = {(f"q{n}", str(s), f"{n}-{d}"): int(d % 2 == s % 2) for n in range(QUESTIONS) for d in range(DOCS) for s in (1, 2)}


def asked(script):
    """How often each pair was asked, by what was sent."""
    return [body["messages"][-1]["content"] for body in script.bodies]


def test_a_run_becomes_subtopic_qrels_with_metadata_and_a_repeat_asks_nothing(folder, judge):
    with serving(Script(said, delay=0.02)) as script:
        plan = judge("--dry-run", base=script.base)
        assert f"scripted (scripted): {ASKED} pairs, 0 cached, {ASKED} requests, about" in plan.stdout
        assert script.bodies == []
        done = judge("--output", "out.txt.gz", "--concurrency", "4", base=script.base)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert len(script.bodies) == ASKED
        assert 2 <= script.most <= 4
        again = judge("--output", "-", "--quiet", base=script.base)
        assert again.stderr == ""
        assert len(script.bodies) == ASKED
    assert labels(folder / "out.txt.gz") == EXPECTED
    assert again.stdout == gzip.decompress((folder / "out.txt.gz").read_bytes()).decode()
    assert "only that wording's judgments compare with published numbers" in done.stderr
    metadata = yaml.safe_load((folder / "out.txt.gz.yaml").read_text())
    (report,) = metadata["method"]["judging"]
    assert (report["name"], report["model"], report["prompt"], report["prompt_name"]) == (
        *("scripted", "scripted", "ours"),
        "judge-support.v1",
    )
    assert report["judgments"] == {"pairs": ASKED, "positive": ASKED // 2, "unjudged": 0, "unclear": 0, "shortened": 0}
    assert report["usage"]["asked"] == ASKED
    assert metadata["data"]["qrels"]["lines"] == ASKED
    run = (folder / "run.trec").read_bytes()
    facts = {"sha256": hashlib.sha256(run).hexdigest(), "tag": "first", "queries": QUESTIONS, "lines": QUESTIONS * DOCS}
    assert metadata["data"]["judged runs"] == [{"file": "run.trec", **facts}]
    replayed = judge("--output", "replayed.txt", "--replay")
    assert replayed.returncode == 0, replayed.stderr
    assert labels(folder / "replayed.txt") == EXPECTED
    for path in folder.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()


class Faulty(Script):
    """A share of first attempts goes wrong, in every way in turn; `refused` pairs always do."""

    WAYS = (429, 500, "slow", b'{"choices": [', "refusal")

    def __init__(self, share, **settings):
        super().__init__(None, **settings)
        self.share, self.seen, self.random, self.wrong, self.good = share, set(), random.Random(0), [], []
        self.answer = self.respond

    def respond(self, messages):
        text = messages[-1]["content"]
        with self.lock:
            first = text not in self.seen
            self.seen.add(text)
            way = self.WAYS[len(self.wrong) % len(self.WAYS)] if first and self.random.random() < self.share else None
            if way:
                self.wrong.append((text, way))
            else:
                self.good.append(text)
        if way == "slow":
            self.done.wait(60)
        if way == "refusal":
            message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
            return {"model": "scripted-2026", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        if isinstance(way, bytes):
            return way
        return ("status", way) if isinstance(way, int) else said(messages)


def test_with_answers_failing_nothing_is_lost_and_none_asked_twice_after_success(folder, judge):
    with serving(Faulty(0.1)) as script:
        options = ("--output", "out.txt", "--concurrency", "8", "--timeout", "1", "--retries", "3")
        done = judge(*options, base=script.base)
        assert done.returncode == 0, done.stderr
        ways = [way for _, way in script.wrong]
        assert set(ways) == set(Faulty.WAYS)
        refused = ways.count("refusal")
        found = labels(folder / "out.txt")
        # a refusal is no answer, and is not asked again in the same call; all else came with a later attempt
        assert sorted(found) == sorted(EXPECTED)
        assert sum(label == -1 for label in found.values()) == refused
        assert all(label in (-1, EXPECTED[pair]) for pair, label in found.items())
        assert f"warning: {refused} of {ASKED} requests failed, their pairs are unjudged (-1)" in done.stderr
        assert sorted(script.good) == sorted(set(script.good))
        assert script.most <= 8
        again = judge(*options, base=script.base)
        assert again.returncode == 0, again.stderr
        assert labels(folder / "out.txt") == EXPECTED
        assert sorted(script.good) == sorted(script.seen)
        assert len(script.seen) == ASKED


@pytest.mark.process
def test_killed_at_a_random_moment_it_repeats_at_most_what_was_in_flight_or_not_yet_written(folder, judge):
    concurrency = 4
    with serving(Script(said)) as script:
        options = ("--output", "out.txt", "--concurrency", str(concurrency))
        for _ in range(2):
            moment = len(script.bodies) + random.Random(len(script.bodies)).randint(10, 60)
            reached, killed = threading.Event(), threading.Event()

            def answer(messages, moment=moment, reached=reached, killed=killed):
                if len(script.bodies) >= moment:
                    reached.set()
                    killed.wait()
                return said(messages)

            script.answer = answer
            command = [sys.executable, "-m", "toolkit.judge", *WHAT, *options]
            process = subprocess.Popen(command, cwd=folder, env=environment(folder, script.base), stderr=subprocess.DEVNULL)
            assert reached.wait(60)
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed.set()
            assert not (folder / "out.txt").exists()
        script.answer = said
        done = judge(*options, base=script.base)
        assert done.returncode == 0, done.stderr
        assert labels(folder / "out.txt") == EXPECTED
        repeated = len(asked(script)) - len(set(asked(script)))
        assert repeated <= 2 * (concurrency + UNWRITTEN)
        assert len(set(asked(script))) == ASKED


def test_a_server_that_is_gone_ends_it_and_what_was_answered_is_cached(folder, judge):
    with serving(Script(said)) as script:
        many = ("--output", "out.txt", "--concurrency", "2", "--retries", "0")
        stop = threading.Event()

        def fail_later(messages):
            if len(script.bodies) > 50:
                stop.set()
            return ("status", 503) if stop.is_set() else said(messages)

        script.answer = fail_later
        done = judge(*many, base=script.base)
        assert done.returncode == 1
        assert "no answer in 1 attempts: status 503" in done.stderr
        assert len(script.bodies) < 70
    assert not (folder / "out.txt").exists()
    with sqlite3.connect(folder / "home" / "llm" / "answers.sqlite") as cache:
        assert cache.execute("select count(*) from entries").fetchone()[0] >= 49


def test_a_refused_key_ends_it_at_once(folder, judge):
    with serving(Script(said, always=401)) as script:
        done = judge("--output", "out.txt", base=script.base)
    assert (done.returncode, KEY in done.stderr) == (1, False)
    assert "the key is refused (status 401)" in done.stderr
    assert not (folder / "out.txt").exists()


def test_a_judge_is_scored_against_people_and_against_another(folder, judge):
    rows = [
        {"question": f"question {n}?", "document": f"about {n} number {d}", "perspective": f"claim {s} of {n}", "label": label}
        for n in range(3)
        for d in range(4)
        for s in (1, 2)
        # people agree with the script but for document 0, of which they say that it holds nothing
        for label in [int(d % 2 == s % 2 and d > 0)]
    ]
    (folder / "labelled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(Script(said)) as script:
        done = judge(words=["--score", "labelled.jsonl", "--systems", "mine.yaml", "--judge", "scripted"], base=script.base)
    assert "only that wording's judgments compare with published numbers" in done.stderr
    header, ours, guessed = (line.split("\t") for line in done.stdout.splitlines())
    found = dict(zip(header, ours, strict=True))
    # 24 pairs: 12 yes, of which 9 are right; people say yes to 9
    assert (found["judge"], found["pairs"], found["positives"], found["reference_positives"]) == (
        "scripted",
        "24",
        "0.5000",
        "0.3750",
    )
    assert (found["accuracy"], found["precision"], found["recall"], found["f1"]) == ("0.8750", "0.7500", "1.0000", "0.8571")
    assert found["kappa"] == "0.7500"
    assert guessed[0] == "random"
    alone = judge(words=["--score", "labelled.jsonl", "--judge", "random"])
    assert [line.split("\t")[0] for line in alone.stdout.splitlines()] == ["judge", "random"]
    other = judge(words=["--score", "labelled.jsonl", "--reference", "labelled.jsonl"])
    assert dict(zip(header, other.stdout.splitlines()[1].split("\t"), strict=True))["kappa"] == "1.0000"


def test_measures_are_corrected_by_qrels_of_people_and_not_by_labelled_pairs(folder, judge):
    # people: as the script, but document 1 holds nothing; of the first 12 questions
    people = [
        f"{q} {n} {d} {label if not d.endswith('-1') else 0}\n" for (q, n, d), label in EXPECTED.items() if int(q[1:]) < 12
    ]
    (folder / "people.qrels").write_text("".join(people))
    pairs = [
        {
            "question": q,
            "document": f"about {d.replace('-', ' number ')}",
            "perspective": f"claim {n} of {q[1:]}",
            "label": label,
        }
        for (q, n, d), label in EXPECTED.items()
        if int(q[1:]) < 12
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs))
    with serving(Script(said)) as script:
        options = ("-m", "PerspectiveP@5", "MRecall@5")
        by_questions = judge("--correct", "people.qrels", *options, base=script.base)
        deep = judge("--correct", "people.qrels", "--depth", "2", *options, base=script.base)
        asked = len(script.bodies)
        withdrawn = judge("--correct", "pairs.jsonl", *options, base=script.base)
        assert len(script.bodies) == asked
    assert by_questions.stdout.splitlines() == [
        "measure\tjudged\tcorrected\tlow\thigh\tlabelled questions",
        # each of five documents holds a perspective, says the judge; people say four do, of every question
        "PerspectiveP@5\t1.0000\t0.8000\t0.5124\t1.0000\t12",
        "MRecall@5\t1.0000\t1.0000\t0.7124\t1.0000\t12",
    ]
    assert withdrawn.returncode == 2
    assert withdrawn.stderr.startswith(
        "error: PerspectiveP@5 cannot be corrected by labelled pairs (pairs.jsonl)\nhint:  label every"
    )
    assert deep.returncode == 2
    assert "PerspectiveP@5 needs the best 5 documents judged, and --depth is 2" in deep.stderr


def test_stances_are_a_number_a_question(folder, judge):
    def side(messages):
        return "Perspective 2" if "Perspective 1: claim 1" in messages[-1]["content"] else "Perspective 1"

    with serving(Script(side)) as script:
        words = ["--task", "stance", "--topics", "topics.jsonl", "--systems", "mine.yaml", "--judge", "scripted"]
        done = judge(words=[*words, "--output", "stances.tsv"], base=script.base)
        assert done.returncode == 0, done.stderr
        assert sum("Question: question 0?\n\nPerspective 1: claim" in text for text in asked(script)) == 1
        assert len(asked(script)) == QUESTIONS
    assert (folder / "stances.tsv").read_text().splitlines() == [f"q{n}\t2" for n in range(QUESTIONS)]
    assert yaml.safe_load((folder / "stances.tsv.yaml").read_text())["method"]["judging"][0]["task"] == "stance"


def test_answers_become_training_pairs_and_nothing_is_asked(folder, judge):
    with serving(Script(said)) as script:
        assert judge("--output", "out.txt", base=script.base).returncode == 0
        before = len(script.bodies)
        done = judge("--export", "pairs.jsonl", base=script.base)
        assert done.returncode == 0, done.stderr
        assert len(script.bodies) == before
    rows = list(map(json.loads, (folder / "pairs.jsonl").read_text().splitlines()))
    assert len(rows) == ASKED
    assert {row["messages"][-1]["content"] for row in rows} == {"Yes", "No"}


def test_a_prompt_of_the_users_own_is_shown_and_sent(folder, judge):
    (folder / "prompt.yaml").write_text(
        'kind: judge\nturns:\n  - {role: user, content: "{document}?\\nStatement: {statement}"}\n'
    )
    (folder / "old.yaml").write_text('kind: judge\nturns:\n  - {role: user, content: "{document} {perspective}"}\n')
    shown = judge(words=["--show-prompt", "--prompt", "prompt.yaml"])
    assert shown.stdout.startswith("prompt.yaml (sha256 ")
    assert shown.stdout.endswith("--- user\n{document}?\nStatement: {statement}\n")
    assert "slot {statement} is missing" in judge(words=["--show-prompt", "--prompt", "old.yaml"]).stderr
    with serving(Script(lambda messages: "Yes")) as script:
        done = judge("--prompt", "prompt.yaml", "--depth", "1", "--output", "out.txt", base=script.base)
        assert done.returncode == 0, done.stderr
        assert "about 0 number 0?\nStatement: claim 1 of 0" in asked(script)
    (report,) = yaml.safe_load((folder / "out.txt.yaml").read_text())["method"]["judging"]
    assert report["prompt"] == "prompt.yaml"
    assert "the prompt here is prompt.yaml, taken as it is" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run.trec", "--topics", "topics.jsonl"], "no judge is named"),
        (["--judge", "gpt-4-0613-judge"], "no run to judge"),
        (["run.trec", "--judge", "gpt-4-0613-judge"], "no record says which topics run.trec was made with"),
        (["run.trec", "--topics", "topics.jsonl", "--judge", "gpt-4-0613-judge"], "topics names no corpus"),
        (["run.trec", "--judge", "bm25"], "bm25 is of kind bm25, not judge"),
        (["--reference", "x"], "--reference without --score"),
        (["run.trec", "--score", "x", "--judge", "random"], "--score takes no run"),
        (["run.trec", "--correct", "x", "--export", "y"], "--correct and --export are different things to do"),
        (["--score", "topics.jsonl", "--judge", "random"], "no labelled pairs"),
        (["--score", "x", "--reference", "y", "--judge", "z"], "--reference and --judge are both named"),
        (["run.trec", "--export", "x", "--output", "y"], "--export writes training pairs alone"),
        (["--score", "x", "--metadata", "y"], "--score writes no record"),
        (["run.trec", "--topics", "topics.jsonl", "--judge", "random"], "guesses are only for --score"),
    ],
)
def test_what_cannot_be_is_one_line(judge, words, message):
    done = judge(words=words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


def test_too_few_labels_by_people_are_said_before_the_judge_is_asked(folder, judge):
    (folder / "people.qrels").write_text("".join(f"q0 {s} 0-{d} 1\n" for d in range(DOCS) for s in (1, 2)))
    with serving(Script(said)) as script:
        for option in ("--dry-run", "--quiet"):
            done = judge("--correct", "people.qrels", "-m", "MRecall@5", option, base=script.base)
            assert done.returncode == 2
            assert "people.qrels has the best 5 documents of 1 questions in full" in done.stderr
        assert script.bodies == []


def test_a_folder_with_a_classifier_wants_an_entry_that_says_so(folder, judge):
    (folder / "nli").mkdir()
    (folder / "nli" / "config.json").write_text('{"architectures": ["BertForSequenceClassification"], "model_type": "bert"}')
    (folder / "nli" / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    done = judge(words=["run.trec", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--judge", "./nli"])
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: nli is a classifier (BertForSequenceClassification), which writes no answer",
        "hint:  name it by an entry of kind judge (--systems F) that has `parameters: {positive: entailment}`",
    ]
