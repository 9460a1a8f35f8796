"""A build that ends at any moment is gone on with, to the same bytes and with no answer asked twice."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import build_answers
import pytest
import yaml
from command import ROOT
from endpoint import Script, serving

from toolkit.construction import BuildFolder, new_build
from toolkit.files.store.keyed_cache import KeyedCache


class Crash(BaseException):
    """The process has ended."""


def begun(folder):
    """A build over the first six core queries of instructir-mini."""
    path = new_build("instructir", folder)
    content = yaml.safe_load(path.read_text())
    content["models"] = build_answers.MODELS
    content["steps"] = {"seeds": {**build_answers.ANY_SEEDS, "most": 6}, "scenarios": {"count": 6}, "groups": {"smallest": 2}}
    path.write_text(yaml.safe_dump(content))
    return folder


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in (folder / "steps").glob("*.jsonl")}


def whole(tmp_path, monkeypatch, script):
    """What the steps are without any interruption, and what was asked for them."""
    monkeypatch.setenv("OPENAI_BASE_URL", script.base)
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home-whole"))
    folder = begun(tmp_path / "whole")
    BuildFolder(folder).run()
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    return bytes_of(folder), len(script.bodies)


def crashing(monkeypatch, owner, name, chance):
    """Let a function end the process in one of 40 calls, before or after it has done its work."""
    plain = getattr(owner, name)

    def call(*given, **options):
        moment = chance.randrange(80)
        if moment == 0:
            raise Crash
        result = plain(*given, **options)
        if moment == 1:
            raise Crash
        return result

    monkeypatch.setattr(owner, name, call)


@pytest.mark.parametrize("seed", range(3))
def test_ten_crashes_at_any_moment_leave_the_same_bytes(tmp_path, monkeypatch, seed):
    with serving(Script(build_answers.answer)) as script:
        expected, requests = whole(tmp_path, monkeypatch, script)
        folder = begun(tmp_path / "mine")
        script.bodies.clear()
        crashes, chance = 0, random.Random(seed)
        with monkeypatch.context() as patched:
            crashing(patched, KeyedCache, "put", chance)
            crashing(patched, Path, "replace", chance)
            while crashes < 10:
                try:
                    BuildFolder(folder).run(concurrency=2)
                except Crash:
                    crashes += 1
                else:  # it was done before ten crashes: from the cache once more
                    for path in (folder / "steps").iterdir():
                        path.unlink()
        BuildFolder(folder).run(concurrency=2)
        assert bytes_of(folder) == expected
        asked = Counter(str(body) for body in script.bodies)
        # what was under way, or not written yet, when it crashed is asked again; nothing else is
        assert len(asked) == requests
        assert sum(asked.values()) - requests <= 10 * 20
        assert BuildFolder(folder).run(replay=True)[-1].is_done


@pytest.mark.process
def test_a_process_that_is_killed_resumes(tmp_path, monkeypatch):
    with serving(Script(build_answers.answer, delay=0.02)) as script:
        expected, requests = whole(tmp_path, monkeypatch, script)
        folder = begun(tmp_path / "mine")
        command = [sys.executable, "-m", "toolkit.build", "run", str(folder), "--concurrency", "4"]
        for goal in (5, 30, 60):
            script.bodies.clear()
            process = subprocess.Popen(command, cwd=ROOT, env=dict(os.environ), stderr=subprocess.DEVNULL)
            while len(script.bodies) < goal and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert bytes_of(folder) == expected
    assert requests > 100
