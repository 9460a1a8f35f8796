"""What a machine may not allow a test to do: `.ci/run` prints the tests that lacked a right, apart from all others skipped."""

import subprocess
from contextlib import contextmanager

import pytest

NOT_ALLOWED = "not allowed here: "  # .ci/run knows these words


def not_allowed(what):
    """End the test, as this machine does not let it do something."""
    pytest.skip(NOT_ALLOWED + what)


@contextmanager
def small_disk(folder):
    """A disk of 1 MB at a new folder, as long as the block."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True)
    if mounted.returncode:
        not_allowed(mounted.stderr.strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
