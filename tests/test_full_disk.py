"""A disk that takes no more: one line, status 1, nothing under the output's name, and what was there before as it was."""

import json
import os
import resource

import pytest
from command import process

from toolkit.core.runs import Run
from toolkit.files.formats import write_run

ROOM = 4096  # bytes that a file may have
COMMANDS = {
    "fuse": ("fuse", "a.trec", "b.trec", "--output", "out"),
    "pool": ("runs", "pool", "a.trec", "b.trec", "--output", "out"),
    "convert to json": ("runs", "convert", "a.trec", "--to", "json", "--output", "out"),
    "convert to parquet": ("runs", "convert", "wide.trec", "--to", "parquet", "--output", "out"),
    "convert to gz": ("runs", "convert", "wide.trec", "--to", "trec", "--output", "out.gz"),
    "convert to zst": ("runs", "convert", "wide.trec", "--to", "trec", "--output", "out.zst"),
    "repair": ("runs", "verify", "a.trec", "--fix", "out"),
    "merge": ("expand", "merge", "lists.trec", "--output", "out"),
    "merge to json": ("expand", "merge", "lists.trec", "--format", "json", "--output", "out"),
    "topics": ("expand", "topics", "--topics", "topics.jsonl", "--from", "given", "--output", "out"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    for name, width in (("a", 1), ("b", 1), ("wide", 30)):
        docs = {f"document-{os.urandom(width).hex()}-{number}": 1000.0 - number for number in range(400)}
        write_run(Run.from_dict({"q1": docs}, tag=name), folder / f"{name}.trec")
    write_run(
        Run.from_dict({f"q1.{n}": {f"{n}-{m}-{60 * chr(100)}": -m for m in range(100)} for n in range(1, 9)}),
        folder / "lists.trec",
    )
    topic = {"query_id": "q1", "query": "Cats?", "perspectives": [f"Perspective {number}." for number in range(200)]}
    (folder / "topics.jsonl").write_text(json.dumps(topic))
    return folder


def full():
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


@pytest.mark.process
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_one_line_and_leaves_what_was_there(place, command):
    line = COMMANDS[command]
    output = place / line[-1]
    before = sorted(path.name for path in place.iterdir())
    done = process(*line, cwd=place, preexec_fn=full, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 1, done.stderr
    lines = [text for text in done.stderr.splitlines() if not text.startswith("note: ")]
    assert lines[0].startswith("error: no space left on the disk")
    assert lines[1].startswith("hint:  free some space")
    assert len(lines) == 2
    assert sorted(path.name for path in place.iterdir()) == before
    assert not output.exists()
