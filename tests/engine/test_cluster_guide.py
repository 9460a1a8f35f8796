"""The commands of the guide, run on a cluster of two nodes on this machine; a node that is lost, and the SLURM script."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT, process, tandem

from toolkit.formats.vectors import verify_vectors

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.usefixtures("ray_alone")]
GUIDE = ROOT / "docs" / "guides" / "cluster.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
ENCODE = "tandem encode documents.jsonl --system all-minilm-l6-v2 --shard-size 5 --output vectors"
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
how = {"num_cpus": 1, "object_store_memory": 80 << 20, "node_ip_address": "127.0.0.1"}
cluster = Cluster(initialize_head=True, head_node_args={**how, "include_dashboard": False})
node = cluster.add_node(**how)
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(node, allow_graceful=False)
    print("removed", flush=True)
cluster.shutdown()
"""


def block(beginning):
    [found] = [text for text in BLOCKS if text.startswith(beginning) or f"\n{beginning}" in text]
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guide")
    docs = [
        {"id": f"d{number}", "text": "river tree house cat dog bird"[number % 9 :] * (number % 4 + 1)} for number in range(40)
    ]
    (folder / "documents.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    local = ["encode", "documents.jsonl", "--system", "all-minilm-l6-v2", "--shard-size", "5", "--output", "local"]
    assert tandem(*local, cwd=folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def token(place):
    path = place / "token"
    path.write_text("5" * 64)
    path.chmod(0o600)
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(path)}


def started(environment):
    """A cluster of two nodes with a CPU each: a process, and its address."""
    env = {**os.environ, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0", **environment}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    running = subprocess.Popen([sys.executable, "-c", CLUSTER], env=env, **pipes)
    for line in running.stdout:
        if address := re.fullmatch(r"(127\.0\.0\.1:\d+)\n", line):
            return running, address[1]
    raise AssertionError("no cluster")


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "tandem.yaml"}


def test_a_cluster_of_two_nodes_gives_the_bytes_of_one_process_also_where_one_is_lost(place, token):
    running, address = started(token)
    try:
        words = block(
            "tandem encode documents.jsonl --system all-minilm-l6-v2 --shard-size 5 --output vectors --engine ray:HEAD"
        )
        words = words.replace("HEAD:6379", address).replace("--output vectors", "--output two").split()[1:]
        env = {**os.environ, **token}
        asking = subprocess.Popen(
            [sys.executable, "-m", "toolkit", *words], cwd=place, env=env, stderr=subprocess.PIPE, text=True
        )
        while not list(place.glob("two/vectors-*.npy")):
            assert asking.poll() is None, asking.stderr.read()
        running.stdin.write("remove\n")
        running.stdin.flush()
        _, printed = asking.communicate(timeout=200)
        assert asking.returncode == 0, printed
        assert files(place / "two") == files(place / "local")
        assert verify_vectors(place / "two") == []
        known = process("doctor", env={**env, "RAY_ADDRESS": address, "HF_HUB_OFFLINE": "1"})
        assert f"{address} asks for a token" in known.stdout
        wrong = process(
            *words[:-4], "--output", "x", "--engine", f"ray:{address}", cwd=place, env={**env, "RAY_AUTH_TOKEN": "6" * 64}
        )
        assert wrong.returncode == 1
        assert f"error: the Ray cluster at {address} is not reached" in wrong.stderr
    finally:
        running.communicate("", timeout=60)


def test_the_doctor_warns_of_a_cluster_that_answers_anybody():
    running, address = started({"RAY_AUTH_MODE": "disabled"})
    try:
        done = process("doctor", env={**os.environ, "RAY_ADDRESS": address, "HF_HUB_OFFLINE": "1"})
    finally:
        running.communicate("", timeout=60)
    assert done.returncode == 1
    assert f"{address} answers without a token" in done.stdout


def test_the_command_for_a_laptop_does_what_it_says(place):
    words = block(
        "tandem encode documents.jsonl --system all-minilm-l6-v2 --shard-size 5 --output vectors --engine ray --w"
    ).split()
    done = process(*words[1:], cwd=place)
    assert done.returncode == 0, done.stderr
    assert files(place / "vectors") == files(place / "local")


def test_the_slurm_script_runs_and_ends_ray(place):
    """SLURM's two commands are stood in for; `ray symmetric-run`, the token and the command are real, on one node."""
    folder, tools = place / "slurm", place / "slurm" / "bin"
    tools.mkdir(parents=True)
    shutil.copy(place / "documents.jsonl", folder)
    (folder / "job.sh").write_text(block("#!/bin/bash"))
    (tools / "scontrol").write_text("#!/bin/bash\necho 127.0.0.1\n")
    (tools / "srun").write_text('#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    slurm = {"SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_NODELIST": "node", "RAY_PORT": "6397"}
    running = subprocess.Popen(
        ["bash", "job.sh"],
        cwd=folder,
        env={**os.environ, **slurm, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = running.communicate(timeout=200)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        raise
    assert running.returncode == 0, printed
    assert files(folder / "vectors") == files(place / "local")
    assert (folder / ".ray-token").stat().st_mode & 0o077 == 0
