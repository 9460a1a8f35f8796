"""`tandem index --engine ray` for real: a worker and the command itself are killed, and the index is the one of one process."""

import json
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest
from command import process, tandem

from toolkit.files.formats.indexes import read_index_record
from toolkit.retrieval.index import verify_index

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.usefixtures("ray_alone")]
WORDS = "river tree house cat dog bird train sea fruit apple plum glass iron storm light field stone paper music water"
DOCUMENTS = 2000


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Documents, topics, vectors, and what one process makes of them."""
    import numpy as np

    from tests.retrieval.index.test_index_shards import encoded

    folder = tmp_path_factory.mktemp("ray")
    words = WORDS.split()
    texts = [" ".join(words[number % 17 :: number % 5 + 1]) for number in range(DOCUMENTS)]
    rows = [{"id": f"d{number * 37 % DOCUMENTS}", "contents": text} for number, text in enumerate(texts)]
    (folder / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "t.tsv").write_text("".join(f"q{number}\t{words[number]} {words[number + 1]}\n" for number in range(15)))
    encoded(folder / "vectors", np.random.default_rng(1).standard_normal((600, 8)).astype(np.float32), 150)
    assert tandem("index", "c.jsonl", "--output", "one", cwd=folder).returncode == 0
    return folder


def command(*words, cwd):
    return subprocess.Popen(
        [sys.executable, "-m", "toolkit", "index", *words, "--engine", "ray", "--workers", "2"],
        cwd=cwd,
        stderr=subprocess.PIPE,
        text=True,
    )


def await_(what, running):
    until = time.monotonic() + 150
    while not (found := what()):
        assert time.monotonic() < until
        assert running.poll() is None, running.stderr.read()
        time.sleep(0.02)
    return found


def workers(parent):
    """The processes of Ray's actors below one."""
    found = []
    for each in psutil.Process(parent).children(recursive=True):
        with suppress(psutil.Error):  # it has ended meanwhile
            found += [each] * ("ray::RayWorker" in " ".join(each.cmdline()))
    return found


def test_lucene_s_index_is_that_of_one_process_though_a_worker_and_the_command_are_killed(place):
    words = ("c.jsonl", "--shard-size", "100", "--output", "ray")
    running = command(*words, cwd=place)
    await_(lambda: len(list(place.glob(".ray.shards/shard-*"))) >= 3, running)
    running.kill()
    running.communicate()
    assert not (place / "ray").exists()
    done = {path.name: path.stat().st_mtime_ns for path in place.glob(".ray.shards/shard-*/segments_1")}
    running = command(*words, cwd=place)
    worker = await_(lambda: workers(running.pid), running)[0]
    await_(lambda: len(list(place.glob(".ray.shards/shard-*"))) > len(done) + 2, running)
    worker.kill()
    _, printed = running.communicate(timeout=200)
    assert running.returncode == 0, printed
    assert "ray: 2000 documents" in printed
    records = [read_index_record(place / name) for name in ("one", "ray")]
    for name in ("statistics", "words", "corpus", "documents", "language"):
        assert records[0][name] == records[1][name]
    assert verify_index(place / "ray") == []
    for name in ("one", "ray"):
        assert (
            tandem(
                "search", "--topics", "t.tsv", "--index", name, "--tag", "t", "--output", f"{name}.trec", cwd=place
            ).returncode
            == 0
        )
    assert (place / "one.trec").read_bytes() == (place / "ray.trec").read_bytes()
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []


def test_shards_of_vectors_are_those_of_one_process(place):
    words = ("vectors", "--type", "faiss", "--factory", "IVF8,PQ4x4", "--tuning", "nprobe=4", "--shard-size", "170")
    assert tandem("index", *words, "--output", "here", cwd=place).returncode == 0
    done = process("index", *words, "--output", "there", "--engine", "ray", "--workers", "2", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "recall@10 is 0." in done.stderr
    records = [read_index_record(place / name) for name in ("here", "there")]
    assert records[0]["files"] == records[1]["files"]
    assert records[0]["recall"] == records[1]["recall"]
    assert verify_index(place / "there") == []
