"""What goes wrong on a real cluster of two nodes: a disk that is full, a node out of memory, a head that is lost."""

import json
import os
import re
import subprocess
import sys
import time
from itertools import count, takewhile
from pathlib import Path

import psutil
import pytest
from command import process, tandem
from two_nodes import started

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.usefixtures("ray_alone")]
GIB = 1 << 30
TROUBLED = """
import os, time
import numpy as np

class Encoder:
    def __init__(self):
        open(f"here-{os.getpid()}", "x").close()
        while sum(name.startswith("here-") for name in os.listdir()) < int(os.environ.get("TOGETHER", "0")):
            time.sleep(0.1)  # both nodes are to have units

    def encode(self, texts, kind):
        for text in texts:
            if "tree" in text:  # a document
                with open(os.environ.get("SCRATCH", os.devnull), "w") as file:
                    file.write("x" * 100_000)
            time.sleep(0.2 * text.startswith("slow"))
            if text.startswith("huge") and not os.path.exists("was-huge"):
                open("was-huge", "x").close()
                kept = []
                for _ in range(20):  # until this worker is ended: what others on this machine give back is taken too
                    kept.append(np.ones(1 << 26))  # 512 MiB
                    time.sleep(0.5)
                raise MemoryError("this worker was to be ended before")
        return [[len(text), text.count("e")] for text in texts]
"""
SHORT = """
import sys
from toolkit.__main__ import main
from toolkit.engine import ray_session
ray_session.HEAD_AWAITED, ray_session.HEAD_ASKED = 2.0, 0.5  # seconds
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "troubled.py").write_text(TROUBLED)
    for word in ("plain", "huge", "slow"):
        docs = ({"id": f"d{n}", "text": f"{word if n == 9 or word == 'slow' else 'a'} tree {'e' * n}"} for n in range(24))
        (tmp_path / f"{word}.jsonl").write_text("".join(f"{json.dumps(doc)}\n" for doc in docs))
    (tmp_path / "token").write_text("7" * 64)
    (tmp_path / "token").chmod(0o600)
    return tmp_path


def encode(word, output):
    return ["encode", f"{word}.jsonl", "--system", "python:troubled:Encoder", "--shard-size", "2", "--output", output]


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "tandem.yaml"}


def test_full_disk_out_of_memory_and_the_head_lost(place):
    used = psutil.virtual_memory()
    room = (used.total - used.available + 3.5 * GIB) / used.total
    assert room < 0.95, "the worker has to be ended before this machine is out of memory"
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(place / "token")}
    env = {**os.environ, **token}
    limits = {"RAY_memory_usage_threshold": f"{room:.3f}", "TOGETHER": "2"}
    cluster, address = started({**token, **limits}, {"SCRATCH": "/dev/full"})
    try:
        engine = ["--engine", f"ray:{address}"]
        done = process(*encode("plain", "two"), *engine, cwd=place, env=env)
        assert done.returncode == 0, done.stderr
        assert "OSError: [Errno 28] No space left on device" in done.stderr
        assert "gets no more units while other nodes compute theirs: 3 failed there in a row" in done.stderr
        tandem(*encode("plain", "one"), cwd=place, check=True)
        assert files(place / "two") == files(place / "one")

        done = process(*encode("huge", "huge-two"), *engine, cwd=place, env=env)
        assert done.returncode == 0, done.stderr
        # both nodes see this machine's memory: each may end its worker, whose unit may have failed on the other
        assert re.search(
            r"shard \d+ .*: attempt [12] of 3 failed: the worker was ended because its node ran out of memory", done.stderr
        )
        tandem(*encode("huge", "huge-one"), cwd=place, check=True)
        assert files(place / "huge-two") == files(place / "huge-one")

        words = [sys.executable, "-c", SHORT, *encode("slow", "slow-two"), *engine]
        running = subprocess.Popen(words, cwd=place, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not list(place.glob("slow-two/vectors-*.npy")):
            assert running.poll() is None, running.communicate()
            time.sleep(0.1)
        head = next(child for child in psutil.Process(cluster.pid).children(recursive=True) if child.name() == "gcs_server")
        head.suspend()
        time.sleep(1)  # twice HEAD_ASKED: lost while it is asked
        head.kill()
        printed = running.communicate(timeout=50)
    finally:
        cluster.kill()
    last = printed[1].splitlines()[-2:]
    assert (running.returncode, printed[0]) == (1, "")
    assert last[0].startswith(f"error: the head of the Ray cluster, {address}, is lost: ")
    assert last[1] == "hint:  start the cluster anew: the same command computes what is left"
    shards = (place / "slow-two" / f"vectors-{number:05}.npy" for number in count())
    before = {path: path.stat().st_mtime_ns for path in takewhile(Path.exists, shards)}  # later ones were not counted yet
    assert before
    tandem(*encode("slow", "slow-two"), cwd=place, check=True)
    tandem(*encode("slow", "slow-one"), cwd=place, check=True)
    assert files(place / "slow-two") == files(place / "slow-one")
    assert {path: path.stat().st_mtime_ns for path in before} == before
