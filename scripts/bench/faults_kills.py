"""kill -9 at random moments: the same command again ends with the same bytes, and nothing is left of the killed process."""

import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import endpoint
from bench_faults import Outcome, prepared
from faults_endpoint import ENTRY
from serving import Files, serving

LATEST = 300  # seconds that a command may take
TRIES = 6  # to hit a command while it runs
DOCS = 2_500
LEFT = (".part", ".partial", ".tmp")


class Stage(NamedTuple):
    """A stage of the work.

    command  after `python -m toolkit.`
    made     what it makes, in the workspace: compared byte for byte
    served   what answers it meanwhile
    check    run when the command has ended, its output compared too, where the made files hold times
    """

    command: tuple[str, ...]
    made: tuple[str, ...] = ()
    served: str = ""
    check: tuple[str, ...] = ()


PAIRS = ("--run", "run.trec", "--docs", "corpus.jsonl", "--topics", "topics.tsv")
JUDGED = ("judged.trec", "--docs", "corpus.jsonl", "--topics", "questions.jsonl")
STAGES = {
    "download": Stage(("index", "fetch", "mine"), ("home/indexes",), "files"),
    "unpack": Stage(("index", "fetch", "mine"), ("home/indexes",), "files"),
    "index": Stage(
        ("index", "corpus.jsonl", "--output", "made"),
        check=("search", "--topics", "topics.tsv", "--index", "made", "--output", "found.trec"),
    ),
    "encode": Stage(
        ("encode", "corpus.jsonl", "--system", "tiny", "--systems", "tiny.yaml", "--shard-size", "100", "--output", "made"),
        ("made/vectors-*.npy", "made/ids-*.txt"),
    ),
    "search": Stage(("search", "--topics", "topics.tsv", "--index", "index", "--output", "made.trec"), ("made.trec",)),
    "rerank": Stage(
        ("rerank", *PAIRS, "--system", "cross", "--systems", "cross.yaml", "--depth", "60", "--output", "made.trec"),
        ("made.trec",),
    ),
    "judge": Stage(
        ("judge", *JUDGED, "--judge", "scripted", "--systems", "judge.yaml", "--concurrency", "4", "--output", "made.txt"),
        ("made.txt",),
        "endpoint",
    ),
}


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One kill each, the stages in turn."""
    whole = prepared(folder, prepare)
    wanted: dict[str, tuple[float, str]] = {}  # stage -> seconds it takes, digest of what it makes
    for number in numbers:
        name = list(STAGES)[number % len(STAGES)]
        if name not in wanted:
            wanted[name] = undisturbed(name, whole, folder / "work")
        yield outcome(number, name, random.Random(f"{seed} {number}"), whole, folder / "work", *wanted[name])


def undisturbed(name: str, whole: Path, work: Path) -> tuple[float, str]:
    workspace(whole, work)
    with served(STAGES[name].served, work):
        start = time.monotonic()
        done = run(STAGES[name].command, work)
        seconds = time.monotonic() - start
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr}")
        return seconds, digest(name, work)


def outcome(number: int, name: str, rng: random.Random, whole: Path, work: Path, seconds: float, wanted: str) -> Outcome:
    stage, kind = STAGES[name], f"kill -9: {name}"
    for missed in range(TRIES):
        workspace(whole, work)
        share = rng.uniform(0.25, 1.0) * 0.7**missed  # the machine may be quicker now than when the time was taken
        moment = share * seconds
        with served(stage.served, work, share if name == "download" else None) as files:
            if not killed(stage.command, work, moment, files.paused if name == "download" else None):
                continue
            if files:
                files.go_on.set()
            half = [str(path.relative_to(work)) for path in work.rglob("*") if path.name.endswith(LEFT)]
            done = run(stage.command, work)
            problems = [f"the next run ends with status {done.returncode}"] if done.returncode else []
            problems += ["other bytes"] if not problems and digest(name, work) != wanted else []
        left = [str(path.relative_to(work)) for path in work.rglob("*") if path.name.endswith(LEFT)]
        problems += [f"left behind: {left[0]}"] if left and not problems else []
        ending = "the same bytes" + (", of what was left removed or resumed" if half else "")
        detail = f"{name}: killed after {moment:.1f} of {seconds:.1f} s: {'; '.join(problems)} [{done.stderr[-300:]}]"
        return Outcome(number, kind, "; ".join(problems) or ending, not problems, detail)
    return Outcome(number, kind, "never hit while it ran", False)


def run(words: tuple[str, ...], work: Path) -> subprocess.CompletedProcess:
    return subprocess.run(line(words), cwd=work, env=environment(work), capture_output=True, text=True, timeout=LATEST)


def killed(words: tuple[str, ...], work: Path, moment: float, stopped: threading.Event | None) -> bool:
    """Whether the command was killed while it ran, with the processes that it started: when its server has stopped, or after
    so many seconds."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(line(words), cwd=work, env=environment(work), start_new_session=True, **quiet)
    try:
        process.wait(0 if stopped and stopped.wait(LATEST) else moment)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


def line(words: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", f"toolkit.{words[0]}", *words[1:]]


def environment(work: Path) -> dict[str, str]:
    return {**os.environ, "TANDEM_HOME": str(work / "home"), **ADDRESS}


ADDRESS: dict[str, str] = {}


def workspace(whole: Path, work: Path) -> None:
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(whole, work)


def digest(name: str, work: Path) -> str:
    """SHA-256 over what a stage made: paths and bytes, in order."""
    stage = STAGES[name]
    if stage.check:
        done = run(stage.check, work)
        if done.returncode:
            return f"check: {done.stderr[-200:]}"
    patterns = stage.made or ("found.trec",)
    files = [
        path for pattern in patterns for each in work.glob(pattern) for path in ([each] if each.is_file() else each.rglob("*"))
    ]
    made = hashlib.sha256()
    for path in sorted(path for path in files if path.is_file()):
        made.update(f"{path.relative_to(work)}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return made.hexdigest() if files else "nothing"


@contextmanager
def served(what: str, work: Path, stop: float | None = None) -> Iterator[Files | None]:
    """What a stage asks, for the length of the block. stop: the share of a file after which the server sends nothing more."""
    if what == "endpoint":
        with endpoint.serving(endpoint.Script(lambda messages: "Yes", delay=0.05)) as script:
            ADDRESS["OPENAI_BASE_URL"] = script.base
            yield None
    elif what:
        data = (work / "archive.tar.gz").read_bytes()
        with serving(Files({"/mine.tar.gz": data}, pause_at=stop and int(stop * len(data)))) as files:
            entry = f"{{name: mine, description: d, kind: lucene, urls: ['{files.base}/mine.tar.gz'], "
            entry += f"md5: {hashlib.md5(data).hexdigest()}, size: {len(data)}}}"
            (work / "home" / "registry" / "indexes" / "mine.yaml").write_text(entry)
            yield files
    else:
        yield None


def prepare(folder: Path) -> None:
    """Everything that the stages read."""
    from tiny import tiny_bert

    registry = folder / "home" / "registry" / "indexes"
    registry.mkdir(parents=True)
    words = ["cat", "dog", "bird", "query", "passage", "document", "house", "the", "of", "long", "short"]
    rng = random.Random(0)
    docs = [{"id": f"d{n}", "text": " ".join(rng.choices(words, k=12))} for n in range(DOCS)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    topics = {f"q{n}": " ".join(rng.choices(words, k=3)) for n in range(60)}
    (folder / "topics.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in topics.items()))
    ranked = [(name, n * 37, rank) for n, name in enumerate(topics) for rank in range(1, 61)]
    lines = [f"{name} Q0 d{(start + rank) % DOCS} {rank} {100 - rank} first\n" for name, start, rank in ranked]
    (folder / "run.trec").write_text("".join(lines))
    questions = [{"query_id": f"q{n}", "text": f"question {n}?", "perspectives": [f"yes {n}", f"no {n}"]} for n in range(20)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions))
    lines = [f"q{n} Q0 d{n * 5 + rank} {rank + 1} {9 - rank} a\n" for n in range(20) for rank in range(5)]
    (folder / "judged.trec").write_text("".join(lines))
    (folder / "judge.yaml").write_text(ENTRY)
    tiny_bert(folder / "model")
    tiny_bert(folder / "cross_model", "BertForSequenceClassification", num_labels=1)
    (folder / "tiny.yaml").write_text(
        "{name: tiny, description: small, kind: dense, checkpoint: model, parameters: {pooling: cls, similarity: cos}}"
    )
    (folder / "cross.yaml").write_text("{name: cross, description: small, kind: cross-encoder, checkpoint: cross_model}")
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", compresslevel=1) as packed:
        for number in range(1_500):
            info = tarfile.TarInfo(f"index/part{number}")
            info.size = 20_000
            packed.addfile(info, io.BytesIO(rng.randbytes(20_000)))
    (folder / "archive.tar.gz").write_bytes(data.getvalue())
    done = run(("index", "corpus.jsonl", "--output", "index"), folder)
    if done.returncode:
        raise SystemExit(done.stderr)
