"""The commands of the guide, run on a cluster of two nodes on this machine; a node that is lost, and the SLURM script."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import ROOT, process, tandem
from rights import not_allowed
from two_nodes import started

from toolkit.files.formats.vectors import verify_vectors

pytestmark = [pytest.mark.process, pytest.mark.slow]
GUIDE = ROOT / "docs" / "guides" / "cluster.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
ENCODE = "tandem encode documents.jsonl --system all-minilm-l6-v2 --shard-size 5 --output vectors"


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


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "tandem.yaml"}


@pytest.mark.usefixtures("ray_alone")
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
            time.sleep(0.02)
        running.stdin.write("remove\n")
        running.stdin.flush()
        _, printed = asking.communicate(timeout=200)
        assert asking.returncode == 0, printed
        assert files(place / "two") == files(place / "local")
        assert verify_vectors(place / "two") == []
        known = process("doctor", env={**env, "RAY_ADDRESS": address, "HF_HUB_OFFLINE": "1"})
        assert f"{address} asks for a token" in known.stdout
        wrong = {**env, "RAY_AUTH_TOKEN": "6" * 64, "RAY_NUM_REDIS_GET_RETRIES": "3"}  # of 20, with a second between
        wrong = process(*words[:-4], "--output", "x", "--engine", f"ray:{address}", cwd=place, env=wrong)
        assert wrong.returncode == 1
        assert f"error: the Ray cluster at {address} is not reached" in wrong.stderr
    finally:
        running.communicate("", timeout=60)


@pytest.mark.usefixtures("ray_alone")
def test_the_doctor_warns_of_a_cluster_that_answers_anybody():
    running, address = started({"RAY_AUTH_MODE": "disabled"})
    try:
        done = process("doctor", env={**os.environ, "RAY_ADDRESS": address, "HF_HUB_OFFLINE": "1"})
    finally:
        running.communicate("", timeout=60)
    assert done.returncode == 1
    assert f"{address} answers without a token" in done.stdout


@pytest.mark.usefixtures("ray_alone")
def test_the_command_for_a_laptop_does_what_it_says(place):
    words = block(
        "tandem encode documents.jsonl --system all-minilm-l6-v2 --shard-size 5 --output vectors --engine ray --w"
    ).split()
    done = process(*words[1:], cwd=place)
    assert done.returncode == 0, done.stderr
    assert files(place / "vectors") == files(place / "local")


SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
for node in $NODES; do
    ip netns exec $node unshare --mount --pid --fork --mount-proc \\
        bash -c 'mkdir -p /tmp/ray; mount -t tmpfs none /tmp/ray; exec "$@"' - "$@" &
    started+=($!)
done
for each in "${started[@]}"; do wait $each || exit 1; done
"""


@pytest.fixture
def networks():
    """Two networks that are joined, in each an address: nodes that are started in them see each other and share a disk."""
    names = [f"tandem-{os.getpid()}-{number}" for number in (1, 2)]
    commands = [f"netns add {name}" for name in names]
    commands.append(f"link add tandem1 netns {names[0]} type veth peer name tandem2 netns {names[1]}")
    for number, name in enumerate(names, 1):
        commands.append(f"-n {name} addr add 10.77.0.{number}/24 dev tandem{number}")
        commands += [f"-n {name} link set {device} up" for device in ("lo", f"tandem{number}")]
        commands.append(f"-n {name} route add default via 10.77.0.{3 - number}")
    if os.geteuid() != 0:
        not_allowed("networks of one's own, for they are a superuser's")
    if not shutil.which("ip"):
        pytest.skip("no ip: apt-get install iproute2")
    try:
        for command in commands:
            done = subprocess.run(["ip", *command.split()], capture_output=True, text=True)
            if done.returncode:
                not_allowed(f"ip {command}: {done.stderr.strip()}")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def test_the_slurm_script_runs_on_two_nodes_and_ends_ray(place, networks):
    """SLURM's two commands are stood in for; `ray symmetric-run`, the token and the commands are real.

    Not `ray_alone`: it has processes, network and /tmp/ray of its own, and mostly its second node waits for the first.
    """
    folder, tools = place / "slurm", place / "slurm" / "bin"
    tools.mkdir(parents=True)
    shutil.copy(place / "documents.jsonl", folder)
    (folder / "job.sh").write_text(block("#!/bin/bash"))
    (tools / "scontrol").write_text("#!/bin/bash\necho 10.77.0.1; sleep 0.1; echo 10.77.0.2\n")
    (tools / "srun").write_text(SRUN)
    for tool in tools.iterdir():
        tool.chmod(0o755)
    path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    slurm = {"SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "nodes", "RAY_PORT": "6397", "NODES": " ".join(networks)}
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
        printed, _ = running.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        raise
    assert running.returncode == 0, printed
    assert "On worker node. Connecting to Ray cluster at 10.77.0.1:6397" in printed
    assert printed.endswith("vectors: as its record says\n")
    assert files(folder / "vectors") == files(place / "local")
    assert (folder / ".ray-token").stat().st_mode & 0o077 == 0
