"""What every command does with a wrong option, a full disk, Ctrl-C and a closed pipe."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from toolkit import parsers, shell
from toolkit.core.errors import ToolkitError


def parser():
    made = parsers.command("example", "An example.")
    made.add_argument("--hits", type=int)
    return made


def run(action, *argv):
    return shell.guard(parser, action, list(argv))


def fails_with(error):
    def action(args):
        raise error

    return action


def test_a_wrong_option_is_one_error_and_one_hint(capsys):
    assert run(lambda args: 0, "--hits", "many") == 2
    assert capsys.readouterr().err == "error: --hits is 'many', and not a whole number\nhint:  tandem example --help\n"


def test_statuses(capsys):
    assert run(lambda args: None) == 0
    assert run(lambda args: 1) == 1
    assert run(fails_with(ToolkitError("wrong", "do this"))) == 2
    assert run(fails_with(ToolkitError("failed", status=1))) == 1
    assert run(fails_with(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "error: wrong\nhint:  do this\nerror: failed\ninterrupted\n"


def test_debug_keeps_the_traceback():
    with pytest.raises(ToolkitError):
        run(fails_with(ToolkitError("wrong")), "--debug")


@pytest.mark.parametrize("said", ["", "Unable to allocate 3.00 TiB for an array"])
def test_too_little_memory_is_one_line(capsys, said):
    assert run(fails_with(MemoryError(*filter(None, [said])))) == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: not enough memory" + (f": {said}" if said else "")
    assert hint.startswith("hint:  ")


@pytest.mark.parametrize(
    "wrong", [OSError(errno.EDQUOT, "x"), OSError(errno.EFBIG, "x"), OSError("8192 requested and 6112 written")]
)
def test_a_disk_that_takes_no_more_is_a_full_one(capsys, wrong):
    assert run(fails_with(wrong)) == 1
    assert capsys.readouterr().err.startswith("error: no space left on the disk\n")


def test_a_full_disk_is_one_line(capsys):
    assert run(fails_with(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "runs/x.trec"))) == 1
    assert capsys.readouterr().err.splitlines()[0] == "error: no space left on the disk (runs/x.trec)"


@pytest.mark.parametrize("code", [errno.EEXIST, errno.EROFS, errno.ENAMETOOLONG, errno.EACCES])
def test_a_path_that_cannot_be_used_is_wrong_input(capsys, code):
    assert run(fails_with(OSError(code, os.strerror(code), "runs/x.trec"))) == 2
    assert capsys.readouterr().err == f"error: {os.strerror(code).lower()} (runs/x.trec)\nhint:  check the path\n"


@pytest.mark.process
def test_what_is_printed_is_utf_8_whatever_the_locale():
    code = "from toolkit import parsers, shell\nshell.guard(lambda: parsers.command('x', ''), lambda args: print('é☃'), [])"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "é☃\n".encode(), b"")


def test_bugs_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        run(lambda args: 1 / 0)


@pytest.mark.process
def test_version_is_printed_by_every_command():
    for argv in (["toolkit", "--version"], ["toolkit.doctor", "--version"]):
        done = subprocess.run([sys.executable, "-m", *argv], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("tandem-ir ")


@pytest.mark.process
def test_a_closed_pipe_is_no_error():
    code = (
        "import sys\nfrom toolkit import parsers, shell\n"
        "def lines(args):\n    for n in range(100000): print(n)\n"
        "sys.exit(shell.guard(lambda: parsers.command('x', ''), lines, []))"
    )
    done = subprocess.run(
        f'"{sys.executable}" -c "$CODE" | head -1', shell=True, env={**os.environ, "CODE": code}, capture_output=True
    )
    assert done.stdout == b"0\n"
    assert done.stderr == b""


@pytest.mark.process
@pytest.mark.parametrize(("name", "status"), [("tandem", 1), ("script", -6)])
def test_a_command_that_has_loaded_arrow_ends_before_the_destructors_of_its_threads(tmp_path, name, status):
    (tmp_path / name).write_text(
        "import ctypes, sys\n"
        "import pyarrow\n"
        "from toolkit.parsers import command\n"
        "from toolkit.shell import guard\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.__cxa_atexit(libc.abort, None, None)\n"  # what a destructor does that fails
        "sys.exit(guard(lambda: command('x', 'x'), lambda args: print('done') or 1, []))\n"
    )
    done = subprocess.run([sys.executable, str(tmp_path / name)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (status, "done\n")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--hitz", "5"], "did you mean --hits? Or see tandem example --help"),
        (["--hitz=5"], "did you mean --hits? Or see tandem example --help"),
        (["--zzz"], "tandem example --help"),
        (["word"], "tandem example --help"),
    ],
)
def test_an_option_that_is_none_is_answered_with_the_nearest(capsys, arguments, hint):
    assert run(lambda args: None, *arguments) == 2
    assert capsys.readouterr().err.splitlines()[1] == f"hint:  {hint}"


def test_the_nearest_option_may_be_a_subcommands(capsys):
    def made():
        parser = parsers.command("example", "An example.")
        parsers.subcommands(parser)("check", "Check.", lambda args: None).add_argument("--benchmark")
        return parser

    assert shell.guard(made, lambda args: None, ["check", "--benchmrk", "x"]) == 2
    assert capsys.readouterr().err.splitlines()[1] == "hint:  did you mean --benchmark? Or see tandem example --help"


def test_a_library_that_raises_an_interrupt_of_its_own_does_not_hide_the_signal(capsys):
    def waits_in_a_library(args):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None  # as Ray's C++ does

    assert run(waits_in_a_library) == 143
    assert run(fails_with(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "interrupted\ninterrupted\n"
