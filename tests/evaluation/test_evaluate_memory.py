"""What evaluate and diff hold of a run's lines: measured as the difference between a large and a small run."""

import os
import sys

import pytest

MOST = 150  # bytes a line of all runs together, beyond what a small run takes
SMALL, LARGE = 500, 1500  # queries with 1,000 documents each


def write_runs(folder, queries):
    for start, name in enumerate("ab"):
        with (folder / f"{name}.trec").open("w") as out:
            for query in range(queries):
                docs = ((start + 7919 * query + 1009 * rank) % 8_000_000 for rank in range(1000))
                out.writelines(f"q{query} Q0 d{doc:07d} {rank} {20 - rank / 50:.6f} {name}\n" for rank, doc in enumerate(docs))
    (folder / "qrels.txt").write_text("".join(f"q{query} 0 d{7919 * query % 8_000_000:07d} 1\n" for query in range(queries)))


def largest(command, folder, names):
    """Bytes of memory that the command had at most."""
    runs = [str(folder / f"{name}.trec") for name in names]
    line = [sys.executable, "-m", f"toolkit.{command}", *runs, "--qrels", str(folder / "qrels.txt"), "--output", os.devnull]
    _, status, used = os.wait4(os.posix_spawn(line[0], line, os.environ), 0)
    assert os.waitstatus_to_exitcode(status) == (1 if command == "diff" else 0)  # 1: the runs differ
    return used.ru_maxrss * 1024


@pytest.mark.process
@pytest.mark.slow
def test_what_is_held_of_a_line_is_bounded(tmp_path):
    sizes = {}
    for queries in (SMALL, LARGE):
        (tmp_path / str(queries)).mkdir()
        write_runs(tmp_path / str(queries), queries)
        for command, names in (("evaluate", "a"), ("evaluate", "ab"), ("diff", "ab")):
            sizes[command, names, queries] = largest(command, tmp_path / str(queries), names)
    for command, names in (("evaluate", "a"), ("evaluate", "ab"), ("diff", "ab")):
        more = sizes[command, names, LARGE] - sizes[command, names, SMALL]
        assert more / ((LARGE - SMALL) * 1000 * len(names)) < MOST, (command, names, sizes)
