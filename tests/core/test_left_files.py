"""What a process leaves when it is ended, and when it is killed: nothing, and what the next one removes."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import powerless, process
from rights import NOT_ALLOWED

# writes a file and a folder beside it, with a folder of pipes, and says when it has begun; `wait` for a signal
WRITER = """
import sys, tempfile, time
from pathlib import Path
from toolkit.core.system.files import PIPES, open_output, temporary_folder
from toolkit.parsers import command
from toolkit.shell import guard
from toolkit.files.store import new_folder

def run(args):
    pipes = temporary_folder(Path(tempfile.gettempdir()), PIPES)
    with open_output("out.txt") as out, new_folder(Path("index")) as folder, pipes:
        out.write(b"whole")
        (folder / "part").write_text("whole")
        if sys.argv[1] == "wait":
            print("begun", flush=True)
            time.sleep(600)

sys.exit(guard(lambda: command("test", "a test"), run, []))
"""

pytestmark = pytest.mark.process


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The working folder, with a temporary folder and a TANDEM_HOME in it."""
    for name in ("tmp", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    return tmp_path


@contextmanager
def writing(place, **how):
    """A process that has begun to write, and goes on for as long as the block."""
    line = [sys.executable, "-c", WRITER, "wait"]
    with subprocess.Popen(line, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how) as started:
        try:
            assert started.stdout.readline() == "begun\n"
            yield started
        finally:
            started.kill()


def left(place):
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if ".part" in path.name or "pipes" in path.name)


def write(place):
    subprocess.run([sys.executable, "-c", WRITER, "at once"], cwd=place, check=True)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_command_and_nothing_is_left(place, number, status):
    with writing(place) as started:
        assert len(left(place)) == 3
        started.send_signal(number)
        _, error = started.communicate(timeout=60)
    assert (started.returncode, error) == (status, "interrupted\n")
    assert left(place) == []
    assert {path.name for path in place.iterdir()} == {"tmp", "home"}


def test_a_signal_that_is_ignored_stays_so(place):
    with writing(place, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as started:  # as nohup does
        started.send_signal(signal.SIGHUP)
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=60)
    assert started.returncode == 143


def test_what_a_killed_process_has_left_goes_with_the_next_and_what_a_living_one_writes_stays(place):
    with writing(place) as killed:
        killed.kill()
    dead = left(place)
    assert len(dead) == 3
    with writing(place):
        alive = set(left(place)) - set(dead)
        assert len(alive) == 3
        write(place)
        assert set(left(place)) == alive
        assert (place / "out.txt").read_text() == (place / "index" / "part").read_text() == "whole"


def test_a_folder_that_gave_way_to_one_that_never_came_is_back(place):
    (place / ".index.abcd1234.old.part").mkdir()
    (place / ".index.abcd1234.old.part" / "part").write_text("old")
    (place / ".other.abcd1234.part").mkdir()
    line = [sys.executable, "-c", WRITER.replace('"whole")\n        if', '"whole"); raise RuntimeError\n        if'), "at once"]
    assert subprocess.run(line, cwd=place, capture_output=True).returncode == 1
    assert (place / "index" / "part").read_text() == "old"
    assert left(place) == [".other.abcd1234.part"]  # of a name that nobody wrote


def test_the_cache_is_cleared_of_what_killed_processes_have_left(place):
    (place / "home" / "downloads").mkdir()
    (place / "home" / "downloads" / "a.tar.gz.part").write_text("resumed by the next download")
    with writing(place / "home"):
        alive = left(place)
        with writing(place / "home") as killed:
            killed.kill()
        done = process("cache", "verify")
        assert done.returncode == 1
        assert done.stdout.count("unfinished") == 5
        done = process("cache", "verify", "--fix")
        assert done.stdout.count("unfinished") == 3  # of the living one, and the download
        assert done.stderr.count("removed ") == 3
        assert left(place) == alive


def test_a_folder_that_may_not_be_listed_is_written_into(place):
    (place / "closed").mkdir(mode=0o333)
    (place / "run.trec").write_text("q Q0 d 1 1 t\n")
    done = powerless("runs", "verify", place / "run.trec", "--fix", place / "closed" / "out.trec")
    assert done.returncode == 0, done.stderr
    (place / "closed").chmod(0o755)
    assert (place / "closed" / "out.trec").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason=f"{NOT_ALLOWED}files of another user")
def test_what_another_user_has_left_stays(place):
    with writing(place) as killed:
        killed.kill()
    for name in left(place):
        os.chown(place / name, 65534, 65534)
    before = left(place)
    write(place)
    assert left(place) == before


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["search", "--topics", "berds-mini", "--system", "bm25"], marks=pytest.mark.lucene),
        pytest.param(["encode", "docs.tsv", "--system", "all-minilm-l6-v2"], marks=pytest.mark.model),
        ["evaluate", "run.trec", "--benchmark", "berds-mini"],
        ["report", "run.trec", "--benchmark", "berds-mini"],
        ["doctor"],
    ],
    ids=lambda command: command[0],
)
def test_commands_leave_nothing_in_the_temporary_folder(place, command):
    (place / "docs.tsv").write_text("a\tone tree\n")
    (place / "run.trec").write_text("mini-007 Q0 d1 1 1 t\n")
    output = [] if command == ["doctor"] else ["--output", "out"]
    line = [sys.executable, "-m", f"toolkit.{command[0]}", *command[1:], *output]
    with subprocess.Popen(line, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        _, error = started.communicate(timeout=120)
    assert started.returncode == 0, error
    assert list((place / "tmp").iterdir()) == []
    # the JVM takes no other folder for these
    left = [path for path in Path("/tmp").glob("*/*") if path.name == str(started.pid)]
    assert [*left, *Path("/tmp").glob(f".java_pid{started.pid}")] == []
