"""Tandem's commands and scripts for tests: within this process, which takes milliseconds, or as a process of their own.

Both take what `subprocess.run` takes and give what it gives, so that a test can change from one to the other.
"""

import io
import os
import runpy
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from toolkit.__main__ import main
from toolkit.datasets import benchmark, names
from toolkit.registry import choice, loader

ROOT = Path(__file__).resolve().parent.parent
HOME = os.environ["TANDEM_HOME"]  # what all tests share, in which none changes anything


def tandem(*arguments, **options):
    """`tandem NAME ...` in this process."""
    return within(_command, arguments, **options)


def script(name, *arguments, **options):
    """`scripts/NAME ...` in this process."""
    return within(lambda words: runpy.run_path(words[0], run_name="__main__"), (ROOT / "scripts" / name, *arguments), **options)


def within(run, arguments, cwd=None, env=None, input=None, text=True, check=False, columns=None):
    """What a command does and prints, as a CompletedProcess, without a process.

    run    called with the arguments as strings; SystemExit has its status
    cwd    the folder it runs in
    env    the whole environment, where it is not this process's
    input  standard input, as text or bytes
    text   standard output and error as text, otherwise as bytes
    columns  standard output and error are a terminal with lines of so many characters
    check  a status other than 0 is an AssertionError

    An exception that the command lets through (a bug, or any error with --debug) is raised here. Working folder, environment
    and `sys.argv` are afterwards what they were.
    """
    words = [str(word) for word in arguments]
    given = input.encode() if isinstance(input, str) else input or b""
    out, err = _stream(columns), _stream(columns)
    if columns:
        env = {**{name: value for name, value in (env or os.environ).items() if name != "NO_COLOR"}, "COLUMNS": str(columns)}
        env["TERM"] = "xterm"
    streams = patch.multiple(sys, argv=words, orig_argv=[sys.executable, *words], stdin=_stdin(given), stdout=out, stderr=err)
    with _place(cwd, env), streams:
        status = _status(run, words)
    out.flush()
    printed = [stream.buffer.getvalue() for stream in (out, err)]
    if text:
        printed = [data.decode() for data in printed]
    assert not (check and status), (words, status, *printed)
    return subprocess.CompletedProcess(words, status, *printed)


def _command(words):
    sys.orig_argv = [sys.executable, "-m", ".".join(["toolkit", *words[:1]]), *words[1:]]  # as records show it
    sys.exit(main(words))


def process(*arguments, text=True, **options):
    """The same as a real process, `python -m toolkit.NAME ...`: for what only a process can show."""
    name, *others = map(str, arguments)
    line = [sys.executable, "-m", f"toolkit.{name}", *others]
    return subprocess.run(line, capture_output=True, text=text, **options)


def powerless(*arguments, **options):
    """The same without a superuser's right to read and write what file modes forbid."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("a superuser needs setpriv to give up rights")
    rights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    name, *others = map(str, arguments)
    line = [*rights, sys.executable, "-m", f"toolkit.{name}", *others]
    return subprocess.run(line, capture_output=True, text=True, **options)


def read_only(folder):
    """Take away every right to write in a folder and all that is in it."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)


def _stdin(data):
    return io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)), encoding="utf-8")


class _Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


def _stream(columns=None):
    # never closed: a library that is imported meanwhile may log to it for as long as it lives
    return (_Terminal if columns else io.TextIOWrapper)(io.BytesIO(), encoding="utf-8", write_through=True)


def _status(run, words):
    try:
        run(words)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    return 0


def _forget():
    """What a process has read of a TANDEM_HOME that may have changed since, and which notes it has printed."""
    names._say_once.cache_clear()
    choice._warn_once.cache_clear()
    home = os.environ.get("TANDEM_HOME")
    if home != HOME:
        benchmark._load.cache_clear()
    if Path(home or "", "registry").is_dir():
        loader._entries.cache_clear()


@contextmanager
def _place(cwd, env):
    folder = Path.cwd()
    with patch.dict(os.environ, dict(os.environ if env is None else env), clear=True):
        _forget()
        os.chdir(cwd or folder)
        try:
            yield
        finally:
            os.chdir(folder)
