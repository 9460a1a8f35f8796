"""`tandem` of the tests does what a process does, and leaves nothing behind."""

import os
import sys
from pathlib import Path

import pytest
from command import process, tandem

from toolkit.core.errors import ToolkitError

RUN = "q1 Q0 d1 1 2.5 mine\nq1 Q0 d2 2 1.5 mine\n"
LINES = {
    "result": ("runs", "convert", "-", "--to", "trec", "--output", "-"),
    "error": ("runs", "convert", "-", "--to", "nothing"),
    "help": ("evaluate", "--help"),
    "version": ("doctor", "--version"),
}


@pytest.mark.process
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_status_and_output_are_those_of_a_process(line, tmp_path):
    within, alone = (run(*line, input=RUN, cwd=tmp_path) for run in (tandem, process))
    assert (within.returncode, within.stdout, within.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_nothing_is_left_behind(tmp_path):
    before = Path.cwd(), dict(os.environ), sys.argv, sys.stdout, sys.stderr, sys.stdin
    tandem("runs", "verify", "-", "--quiet", input=RUN, cwd=tmp_path, env={"TANDEM_HOME": str(tmp_path)})
    assert (Path.cwd(), dict(os.environ), sys.argv, sys.stdout, sys.stderr, sys.stdin) == before
    said = tandem("runs", "convert", "-", "--to", "trec", "--output", "run.trec", input=RUN, cwd=tmp_path)
    assert (said.returncode, said.stdout) == (0, "")
    assert (tmp_path / "run.trec").read_text() == RUN


def test_an_error_keeps_its_traceback_with_debug():
    with pytest.raises(ToolkitError):
        tandem("runs", "convert", "-", "--to", "nothing", "--debug", input=RUN)


def test_a_status_can_be_checked():
    with pytest.raises(AssertionError, match="no command"):
        tandem("evalute", check=True)


def test_what_one_command_adds_the_next_one_finds(home):
    def listed():
        return "mine" in tandem("systems", "list", "--kind", "dense", check=True).stdout

    assert not listed()
    folder = home / "registry" / "systems"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("name: mine\ndescription: ours\nkind: dense\ncheckpoint: ./mine\n")
    assert listed()
