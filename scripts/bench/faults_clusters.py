"""A Ray cluster that `--engine ray` starts: the command ended or killed, its raylet or its agent killed, at another moment each
time. It ends with a line, the same command computes what is left, to the bytes of one process, and nothing stays behind.
"""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from bench_faults import CONTROL, Outcome, drawn, prepared

SYSTEM = ("--system", "all-minilm-l6-v2", "--shard-size", "5")
ENCODE = (sys.executable, "-m", "toolkit", "encode", "docs.jsonl", *SYSTEM, "--output", "out")
PARTS = {"raylet": "raylet/raylet", "agent": "ray::RuntimeEnvAgent"}
CASES = list(itertools.product(("ended", "killed", "raylet", "agent"), (0, 1)))


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """What is killed, before the first unit is done (0) or while units are computed (1)."""
    whole = prepared(folder, prepare)
    for number, (what, moment) in drawn(CASES, seed, numbers):
        work = folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(whole, work)
        status, said, sessions, below = lost(what, moment, work, random.Random(f"{seed} {number}"))
        problems = wrong(what, status, said)
        again = subprocess.run([*ENCODE, "--engine", "ray"], cwd=work, capture_output=True, text=True)
        problems += [] if again.returncode == 0 else [f"not resumed: status {again.returncode}"]
        problems += [] if made(work / "out") == made(work / "one") else ["other bytes"]
        problems += ["a token is left"] if any(map(os.path.exists, sessions)) else []
        gone = psutil.wait_procs(below, timeout=60)[1]
        problems += [f"{len(gone)} processes are left"] if gone else []
        detail = f"{what}, {moment}: {'; '.join(problems)} [{(said + again.stderr)[-300:]}]"
        yield Outcome(
            number, f"clusters: {what}", "; ".join(problems) or "a line, resumed to the same bytes", not problems, detail
        )


def lost(what: str, moment: int, work: Path, rng: random.Random) -> tuple[int, str, set[str], list[psutil.Process]]:
    """Start the command, end or kill it or a part of its cluster, and wait for it."""
    running = subprocess.Popen([*ENCODE, "--engine", "ray"], cwd=work, stderr=subprocess.PIPE, text=True)
    one = psutil.Process(running.pid)
    while not (named := [each for each in one.children(recursive=True) if "ray::RayWorker" in line_of(each)]):
        time.sleep(0.05)
    while moment and not list((work / "out").glob("vectors-*.npy")):
        time.sleep(0.02)
    time.sleep(rng.uniform(0, 0.5))
    below = one.children(recursive=True)
    lines = {each: line_of(each) for each in [*below, *named]}
    sessions = {"/".join(word.split("/")[:3]) for line in lines.values() for word in line.split() if "/tandem-ray-" in word}
    sessions = {place[place.index("/tmp/") :] for place in sessions if "/tmp/" in place}
    if what in PARTS:
        next(each for each, line in lines.items() if PARTS[what] in line).kill()
    else:
        running.send_signal(signal.SIGTERM if what == "ended" else signal.SIGKILL)
    _, said = running.communicate(timeout=100)
    return running.returncode, said, sessions, below


def line_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def wrong(what: str, status: int, said: str) -> list[str]:
    """What the command should not have done."""
    if what in PARTS and status == 0:  # all was computed before it was noticed
        return []
    wanted = {"ended": 143, "killed": -9}.get(what, 1)
    problems = [] if status == wanted else [f"status {status}"]
    problems += ["a stack of C++"] if "***" in said else []
    problems += ["a traceback"] if "Traceback" in said else []
    problems += ["a control character on standard error"] if CONTROL.search(said.encode()) else []
    hint = "the same command computes what is left"
    return problems + (["no line that says what resumes"] if what in PARTS and hint not in said else [])


def made(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.npy"))}


def prepare(folder: Path) -> None:
    """Documents, and the vectors that one process makes of them."""
    folder.mkdir(parents=True)
    rng = random.Random(7)
    words = ("river", "tree", "house", "cat", "dog", "bird", "train", "sea", "fruit", "apple", "plum", "glass", "iron", "storm")
    docs = ({"id": f"d{number}", "text": " ".join(rng.choices(words, k=8))} for number in range(2000))
    (folder / "docs.jsonl").write_text("".join(f"{json.dumps(doc)}\n" for doc in docs))
    subprocess.run([*ENCODE[:-1], "one"], cwd=folder, check=True, capture_output=True)
