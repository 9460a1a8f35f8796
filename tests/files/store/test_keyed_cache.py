"""Blobs by key: what was put is on disk, the first value stays, and whatever is wrong with the file is one line."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from toolkit.core.errors import ToolkitError
from toolkit.files.store.keyed_cache import KeyedCache

ROOT = Path(__file__).resolve().parents[3]
UNTIL_FULL = """
import resource, sys
from pathlib import Path
from toolkit.core.errors import ToolkitError
from toolkit.files.store.keyed_cache import KeyedCache
cache = KeyedCache(Path(sys.argv[1]), "scores")
cache.put({b"first": b"1"})
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # no file may grow beyond
try:
    for number in range(1000):
        cache.put({str(number).encode(): b"a long value " * 100})
except ToolkitError as error:
    print(number, *error.lines(), sep="\\n")
"""
PUT_200 = """
import sys
from pathlib import Path
from toolkit.files.store.keyed_cache import KeyedCache
cache = KeyedCache(Path(sys.argv[1]), "scores")
for number in range(200):
    own = sys.argv[2] if number < 100 else ""
    cache.put({f"{number % 150}-{own}".encode(): sys.argv[2].encode()})
"""


@pytest.fixture
def path(tmp_path, home):
    return tmp_path / "cache.sqlite"


def count(path):
    with sqlite3.connect(path) as database:
        return database.execute("select count(*) from entries").fetchone()[0]


def test_what_was_put_is_there_for_the_next_process_and_nothing_else(path):
    values = {f"{number}".encode(): bytes([number % 256]) for number in range(1200)}  # more than are asked for at once
    KeyedCache(path, "scores").put(values)
    assert KeyedCache(path, "scores").get([*values, b"other"]) == values


def test_looking_makes_no_file(path):
    assert KeyedCache(path, "scores").get([b"key"]) == {}
    assert not path.exists()


def test_the_first_value_stays(path):
    one, two = KeyedCache(path, "scores"), KeyedCache(path, "scores")
    one.put({b"key": b"first"})
    two.put({b"key": b"second", b"new": b"third"})
    assert one.get([b"key", b"new"]) == {b"key": b"first", b"new": b"third"}


def test_entries_of_another_identity_are_removed_and_that_is_said(path, capsys):
    KeyedCache(path, "scores", "one").put({b"key": b"value"})
    assert KeyedCache(path, "scores", "one").get([b"key"]) == {b"key": b"value"}
    assert capsys.readouterr().err == ""
    assert KeyedCache(path, "scores", "other").get([b"key"]) == {}
    assert capsys.readouterr().err == f"note: the scores in {path} were computed with other settings: recomputed\n"
    assert KeyedCache(path, "scores", "one").get([b"key"]) == {}


def test_closed_it_leaves_one_file_and_can_be_used_again(path):
    cache = KeyedCache(path, "scores")
    cache.put({b"key": b"value"})
    cache.close()
    assert list(path.parent.glob("cache.sqlite*")) == [path]
    path.unlink()
    cache.put({b"key": b"again"})
    assert cache.get([b"key"]) == {b"key": b"again"}


@pytest.mark.parametrize("damage", ["text", "head", "middle", "other columns"])
def test_a_damaged_file_is_one_line(path, damage):
    cache = KeyedCache(path, "scores")
    cache.put({f"{number:064}".encode(): b"a long value " * 20 for number in range(500)})
    cache._open().execute("pragma wal_checkpoint(truncate)")
    cache.close()
    if damage == "text":
        path.write_text("no database, but long enough to be read as one " * 100)
    elif damage == "other columns":
        with sqlite3.connect(path) as database:
            database.execute("drop table entries")
            database.execute("create table entries (something text)")
    else:
        content = bytearray(path.read_bytes())
        start = 0 if damage == "head" else 4096
        content[start : start + 60_000] = b"\xff" * 60_000
        path.write_bytes(content)
    with pytest.raises(ToolkitError) as caught:
        KeyedCache(path, "scores").get([f"{250:064}".encode()])
    lines = caught.value.lines()
    assert len(lines) == 2
    assert str(path) in lines[0]
    assert caught.value.status == 1


ALTERED = {
    "one more column": ("alter table entries add column note text", "table entries has the columns key, value, created, note"),
    "a text": ("update entries set value = 'x'", "an entry is str, not bytes"),
    "a number": ("update entries set value = 1e300", "an entry is float, not bytes"),
    "another length": ("update entries set value = x'0102'", "an entry of 2 bytes is none of the scores: "),
    "too long": ("update entries set value = zeroblob(100000000)", "string or blob too big"),
    "another identity's table": ("drop table about", "table about has the columns of none"),
}


@pytest.mark.parametrize(("statement", "how"), ALTERED.values(), ids=ALTERED)
def test_entries_that_are_something_else_are_one_line_that_names_the_file(path, statement, how):
    KeyedCache(path, "scores").put({b"key": np.float64(1).tobytes()})
    with sqlite3.connect(path) as database:
        database.execute(statement)
    database.close()
    with pytest.raises(ToolkitError) as caught:
        KeyedCache(path, "scores").get([b"key"], lambda blob: np.frombuffer(blob)[0])
    assert caught.value.message.startswith(f"{path}: the cache is damaged ({how}")
    assert caught.value.hint == "remove the file (the scores in it are lost), or name another"
    assert caught.value.status == 1


def test_a_database_of_something_else_is_left_alone(path):
    with sqlite3.connect(path) as other:
        other.execute("create table entries (key, value)")
    before = path.read_bytes()
    with pytest.raises(ToolkitError, match="is an SQLite file of something else"):
        KeyedCache(path, "scores").put({b"key": b"value"})
    assert path.read_bytes() == before


def test_a_folder_in_its_place_is_one_line(path):
    path.mkdir()
    with pytest.raises(ToolkitError, match="the scores cached there cannot be written"):
        KeyedCache(path, "scores").put({b"key": b"value"})
    assert path.is_dir()


@pytest.mark.process
def test_a_disk_that_is_full_is_one_line_and_what_was_put_stays(path):
    done = subprocess.run([sys.executable, "-c", UNTIL_FULL, str(path)], cwd=ROOT, capture_output=True, text=True)
    number, *lines = done.stdout.splitlines()
    assert (len(lines), done.stderr) == (2, "")
    assert lines[0].startswith(f"error: {path}: the scores cached there cannot be written (")
    cache = KeyedCache(path, "scores")
    before = str(int(number) - 1).encode()
    assert cache.get([b"first", before]) == {b"first": b"1", before: b"a long value " * 100}
    cache.put({b"again": b"room"})
    assert cache.get([b"again"]) == {b"again": b"room"}


@pytest.mark.process
def test_several_processes_share_a_file(path):
    commands = [[sys.executable, "-c", PUT_200, str(path), name] for name in ("a", "b", "c")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT) for command in commands]
    for process in running:
        assert b"rror" not in process.communicate()[1]
        assert process.returncode == 0
    assert count(path) == 3 * 100 + 100  # 100 of each process alone, and 100 that all three have
    found = KeyedCache(path, "scores").get([b"99-a", b"99-b", b"99-c", b"149-"])
    assert found.pop(b"149-") in (b"a", b"b", b"c")
    assert found == {b"99-a": b"a", b"99-b": b"b", b"99-c": b"c"}
