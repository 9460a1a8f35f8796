"""Tandem's commands for tests: within this process, which takes milliseconds, or as a process of their own.

Both take what `subprocess.run` takes and give what it gives, so that a test can change from one to the other.
"""

import io
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from toolkit.__main__ import main


def tandem(*arguments, cwd=None, env=None, input=None, text=True, check=False):
    """`tandem NAME ...` in this process.

    cwd    the folder it runs in
    env    the whole environment, where it is not this process's
    input  standard input, as text or bytes
    text   standard output and error as text, otherwise as bytes
    check  a status other than 0 is an AssertionError

    An exception that the command lets through (a bug, or any error with --debug) is raised here. Working folder, environment
    and `sys.argv` are afterwards what they were.
    """
    words = [str(word) for word in arguments]
    given = input.encode() if isinstance(input, str) else input or b""
    out, err = _stream(), _stream()
    line = [sys.executable, "-m", f"toolkit.{words[0]}", *words[1:]]  # as records show it
    streams = patch.multiple(sys, argv=sys.argv, orig_argv=line, stdin=_stdin(given), stdout=out, stderr=err)
    with _place(cwd, env), streams:
        status = _status(words)
    out.flush()
    printed = [stream.buffer.getvalue() for stream in (out, err)]
    if text:
        printed = [data.decode() for data in printed]
    assert not (check and status), (words, status, *printed)
    return subprocess.CompletedProcess(words, status, *printed)


def process(*arguments, text=True, **options):
    """The same as a real process, `python -m toolkit.NAME ...`: for what only a process can show."""
    name, *others = map(str, arguments)
    line = [sys.executable, "-m", f"toolkit.{name}", *others]
    return subprocess.run(line, capture_output=True, text=text, **options)


def _stdin(data):
    return io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)), encoding="utf-8")


def _stream():
    # never closed: a library that is imported meanwhile may log to it for as long as it lives
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _status(words):
    try:
        return main(words)
    except SystemExit as end:
        return end.code or 0


@contextmanager
def _place(cwd, env):
    folder = Path.cwd()
    with patch.dict(os.environ):
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        os.chdir(cwd or folder)
        try:
            yield
        finally:
            os.chdir(folder)
