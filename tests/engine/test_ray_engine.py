"""Ray for real: the bytes of one process, workers that are killed, a cluster that nobody else reaches. A start takes 5 s."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest
from command import process, tandem
from two_nodes import SOON

from toolkit.files.formats.vectors import verify_vectors

SECRET = "sk-nobody-may-read-this"
WORDS = "river tree house cat dog bird train sea fruit apple plum glass iron storm light field stone paper music water"
ENCODE = ("encode", "long.jsonl", "--system", "python:slow:Encoder", "--shard-size", "5")
SLOW = """
import time

class Encoder:
    def encode(self, texts, kind):
        time.sleep(0.02)  # seconds a unit: some are left when a process is found and killed
        return [[len(text), text.count("e")] for text in texts]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an encoder that loads nothing: the bytes of a real model are compared in test_cluster_guide.py."""
    folder = tmp_path_factory.mktemp("ray")
    (folder / "slow.py").write_text(SLOW)
    return folder


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "tandem.yaml"}


def mine(parent):
    """The processes below one; those that have ended meanwhile are left out."""
    try:
        return psutil.Process(parent).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def line_of(one):
    """The command line of a process, empty where it has ended meanwhile."""
    try:
        return " ".join(one.cmdline())
    except psutil.Error:
        return ""


def named(processes, name):
    return [one for one in processes if name in line_of(one)]


def await_(what, seconds=120, pause=0.2):
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until
        time.sleep(pause)
    return found


def encode_long(place, documents=960):
    """The command without engine and output."""
    words = WORDS.split()
    docs = [{"id": f"d{number}", "text": " ".join(words[number % 7 :: number % 3 + 1])} for number in range(documents)]
    (place / "long.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    return [*ENCODE]


@pytest.fixture(scope="module")
def whole(place):
    """The files that one process makes of the many units."""
    tandem(*encode_long(place), "--output", "whole", cwd=place, check=True)
    return files(place / "whole")


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.usefixtures("ray_alone")
def test_two_workers_give_the_bytes_of_one_process_and_nobody_else_is_served(place, whole):
    environment = {**os.environ, "OPENAI_API_KEY": SECRET}
    words = [sys.executable, "-m", "toolkit", *encode_long(place), "--output", "two", "--engine", "ray", "--workers", "2"]
    running = subprocess.Popen(words, cwd=place, env=environment, stderr=subprocess.PIPE, text=True)
    await_(lambda: list(place.glob("two/vectors-*.npy")), pause=0.02)
    running.send_signal(signal.SIGSTOP)  # the workers end their units, and then wait to be read
    try:
        below = mine(running.pid)
        pids = {str(one.pid) for one in below} | {str(running.pid)}
        listening = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout.splitlines()
        ours = [line.split()[3] for line in listening if pids & set(re.findall(r"pid=(\d+)", line))]
        assert len(ours) >= 4, "Ray's processes were not seen"
        assert [address for address in ours if "127.0.0.1" not in address and "[::1]" not in address] == []
        # a process of this name runs in any case; it serves pages where its settings say so
        assert "--include-dashboard" not in " ".join(named(below, "dashboard/dashboard.py")[0].cmdline())
        assert not [address for address in ours if address.endswith(":8265")]
        said = " ".join(map(line_of, below))
        [session] = set(re.findall(r"(/tmp/tandem-ray-\w+)/ray/session_", said))
        assert os.stat(session).st_mode & 0o077 == 0
        [address] = set(re.findall(r"--gcs-address[= ](\S+)", said))
        asked = f"import ray; ray.init(address={address!r}, log_to_driver=False)"
        env = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
        env["RAY_NUM_REDIS_GET_RETRIES"] = "2"  # of 20
        stranger = subprocess.run(
            ["timeout", "-s", "KILL", "12", sys.executable, "-c", asked], env=env, capture_output=True, text=True
        )
        assert stranger.returncode != 0
        assert "nauthenticated" in stranger.stderr
        assert any(one.environ().get("OPENAI_API_KEY") == SECRET for one in named(below, "ray::")), "keys are inherited"
        with open(f"{session}/token") as file:
            token = file.read()
        for secret in (SECRET, token):
            found = subprocess.run(["grep", "-rlF", "--exclude=token", secret, session], capture_output=True, text=True)
            assert (found.returncode, found.stdout) == (1, "")
    finally:
        running.send_signal(signal.SIGCONT)
        _, printed = running.communicate(timeout=180)
    assert running.returncode == 0, printed
    assert printed.splitlines()[-1] == "two: 960 documents, 2 dimensions"  # a slow machine shows progress before
    assert files(place / "two") == whole
    assert verify_vectors(place / "two") == []
    assert not os.path.exists(session), "what Ray wrote is removed"
    assert not list(place.glob(".*.units"))
    await_(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in below))


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.usefixtures("ray_alone")
def test_a_killed_worker_costs_its_unit_and_a_killed_command_is_resumed(place, whole):
    words = [sys.executable, "-m", "toolkit", *encode_long(place), "--output", "killed", "--engine", "ray", "--workers", "1"]
    running = subprocess.Popen(words, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    await_(lambda: list(place.glob("killed/vectors-*.npy")), pause=0.02)
    [worker, *_] = named(mine(running.pid), "ray::RayWorker")
    worker.kill()
    output, printed = running.communicate(timeout=180)
    assert (running.returncode, output) == (0, ""), printed
    assert "attempt 1 of 3 failed: the worker ended" in printed
    assert files(place / "killed") == whole


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.usefixtures("ray_alone")
def test_a_killed_command_is_resumed_with_other_workers_and_without(place, whole):
    encode = encode_long(place)
    words = [sys.executable, "-m", "toolkit", *encode, "--engine", "ray", "--workers"]
    below, sessions = [], set()
    for name in ("again", "alone"):
        running = subprocess.Popen([*words, "2", "--output", name], cwd=place, stderr=subprocess.PIPE, text=True)
        await_(lambda name=name: list(place.glob(f"{name}/vectors-*.npy")), pause=0.02)
        below += mine(running.pid)
        sessions |= set(re.findall(r"/tmp/tandem-ray-\w+", " ".join(map(line_of, below))))
        running.kill()
        running.communicate()
        assert "complete: false" in (place / name / "tandem.yaml").read_text()
    before = {path: path.stat().st_mtime_ns for path in (place / "again").glob("vectors-*.npy")}
    done = process(*encode, "--engine", "ray", "--workers", 1, "--output", "again", cwd=place)
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before, "what was done is not done again"
    assert len(sessions) == 2
    assert not [session for session in sessions if os.path.exists(session)], "the next command removes what a killed one left"
    assert not [one for one in below if one.is_running() and one.status() != psutil.STATUS_ZOMBIE], "and ends it"
    tandem(*encode, "--output", "alone", cwd=place, check=True)
    assert files(place / "again") == files(place / "alone") == whole


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.usefixtures("ray_alone")
@pytest.mark.parametrize("ended", ["command", "raylet", "agent"])
def test_a_command_that_is_ended_or_whose_only_node_is_lost_ends_with_a_line(place, ended):
    words = [sys.executable, "-m", "toolkit", *encode_long(place, 4800), "--engine", "ray", "--output", f"ended-{ended}"]
    words += [] if ended == "command" else ["--workers", "1"]
    env = {**os.environ, **SOON}
    running = subprocess.Popen(words, cwd=place, env=env, stderr=subprocess.PIPE, text=True)
    await_(lambda: list(place.glob(f"ended-{ended}/vectors-*.npy")), pause=0.02)
    below = mine(running.pid)
    part = {"raylet": "raylet/raylet", "agent": "ray::RuntimeEnvAgent"}.get(ended)
    (named(below, part)[0].kill if part else running.terminate)()
    _, printed = running.communicate(timeout=100)
    said = printed.splitlines()
    if ended == "command":
        assert running.returncode == 143
        assert said[-1].startswith("interrupted")
        assert "***" not in printed
    else:
        assert running.returncode == 1
        assert re.fullmatch(r"error: the Ray cluster at 127\.0\.0\.1:\d+ has no node left for a worker", said[-2])
        assert said[-1] == "hint:  the same command computes what is left"
    await_(lambda: not [one for one in below if one.is_running() and one.status() != psutil.STATUS_ZOMBIE], seconds=60)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--engine", "spark"], "no engine 'spark'"),
        (["--engine", "local:here"], "no engine 'local:here'"),
        (["--workers", 2], "workers without a cluster"),
        (["--gpus-per-worker", 1], "gpus per worker without a cluster"),
        (["--units", "s3://bucket/x"], "units without a cluster"),
        (["--engine", "ray", "--units", "s3://key:secret@bucket/x"], "an address of s3:// has a password or a port in it"),
        (["--engine", "ray", "--units", "s3://key:sec/ret@bucket/x"], "an address of s3:// has a password or a port in it"),
        (["--engine", "ray", "--units", "s3://[key/x"], "an address of s3:// is not well-formed"),
        (["--engine", "ray", "--units", "s3://bucket/x?secret_key=1"], "s3://bucket/x: secret_key cannot stand in an address"),
        (["--engine", "ray", "--units", "ftp://key:secret@host/x"], "an address of ftp:// has a password or a port in it"),
        (["--engine", "ray", "--units", "s3:///x"], "s3:///x names no bucket"),
        (["--engine", "ray", "--units", "ftp://host/x"], "ftp://host/x: ftp is not known"),
        (["--engine", "ray", "--workers", 0], "workers is 0"),
        (["--engine", "ray", "--threads-per-worker", 0], "threads per worker is 0"),
        (["--engine", "ray", "--gpus-per-worker", 1.5], "gpus per worker is 1.5"),
        (["--engine", "ray", "--gpus-per-worker", -1], "gpus per worker is -1"),
        (["--engine", "ray:ray://head:10001"], "ray://head:10001 is for Ray's client"),
    ],
)
def test_wrong_engines_are_one_line_and_start_nothing(tmp_path, options, error):
    (tmp_path / "c.tsv").write_text("a\tone\n")
    done = tandem("encode", "c.tsv", "--system", "all-minilm-l6-v2", "--output", "v", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {error}")
    assert not (tmp_path / "v").exists()
