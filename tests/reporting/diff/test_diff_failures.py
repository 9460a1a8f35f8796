"""What is no difference never ends with the status of one."""

import errno

import pytest
from command import tandem

from toolkit.reporting.diff import compare_runs


@pytest.mark.parametrize("raised", [MemoryError("malloc of size 8 failed"), OSError(errno.ENOSPC, "No space left on device")])
def test_a_failure_is_one_error_with_status_2(monkeypatch, raised):
    def load(*args, **options):
        raise raised

    monkeypatch.setattr(compare_runs, "load", load)
    done = tandem("diff", "a.trec", "b.trec")
    assert done.returncode == 2
    assert [line.partition(" ")[0] for line in done.stderr.splitlines()] == ["error:", "hint:"]
