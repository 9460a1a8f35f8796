"""Files are complete or not there; bytes depend on what is written alone."""

import gzip
import os
import stat
import sys

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.system import files as shipped_module
from toolkit.core.system.files import atomic_path, open_input, open_output, shipped
from toolkit.core.system.progress import progress, tell


@pytest.mark.parametrize("name", ["run.txt", "run.txt.gz", "run.txt.zst"])
def test_what_is_written_is_read_again(tmp_path, name):
    path = tmp_path / "new folder" / name
    with open_output(path) as out:
        out.write(b"one\ntwo\n")
    with open_input(path) as file:
        assert file.read() == b"one\ntwo\n"
    assert os.listdir(path.parent) == [name]


def test_gzip_bytes_hold_no_time_and_no_name(tmp_path):
    for name in ("a.gz", "b.gz"):
        with open_output(tmp_path / name) as out:
            out.write(b"same")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"same"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "result.txt"
    path.write_text("old")
    with pytest.raises(TypeError), open_output(path) as out:
        out.write([out.write(b"half of the n"), object()][1])
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.txt"]


def test_a_result_has_the_mode_of_any_new_file(tmp_path):
    with atomic_path(tmp_path / "atomic") as part:
        part.write_text("x")
    (tmp_path / "plain").write_text("x")
    assert stat.S_IMODE((tmp_path / "atomic").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open_output(path) as out:
        out.write(b"one\n")
    assert os.read(reader, 9) == b"one\n"
    os.close(reader)
    assert path.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "run.txt").symlink_to(tmp_path / "disk" / "run.txt")
    for content in (b"old", b"new"):  # the file is not there yet, and is
        with open_output(tmp_path / "run.txt") as out:
            out.write(content)
    assert (tmp_path / "run.txt").is_symlink()
    assert (tmp_path / "disk" / "run.txt").read_bytes() == b"new"


def test_an_output_that_is_a_folder_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ToolkitError, match="is a folder, not a file"), open_output(tmp_path) as out:
        out.write(b"never")
    assert os.listdir(tmp_path) == []


def test_missing_file_and_folder_are_named(tmp_path):
    with pytest.raises(ToolkitError, match=r"no file .*absent\.txt"):
        open_input(tmp_path / "absent.txt")
    with pytest.raises(ToolkitError, match="is a folder, not a file"):
        open_input(tmp_path)


def test_shipped_files_are_the_checkouts_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped_module, "PACKAGE", tmp_path / "toolkit")
    assert shipped("topics", "x.trec") == tmp_path / "toolkit" / "shipped" / "topics" / "x.trec"
    (tmp_path / "setup.cfg").touch()
    assert shipped("topics", "x.trec") == tmp_path / "topics" / "x.trec"


def test_errors_show_the_first_twenty_problems():
    error = ToolkitError("f.txt: 25 problems", "mend them", problems=[f"line {n}" for n in range(25)])
    lines = error.lines()
    assert lines[0] == "error: f.txt: 25 problems"
    assert lines[1:21] == [f"  line {n}" for n in range(20)]
    assert lines[21:] == ["  ... and 5 more", "hint:  mend them"]


def test_short_work_prints_no_progress(capsys):
    with progress("indexing", total=3) as advance:
        for _ in range(3):
            advance(1)
    assert capsys.readouterr() == ("", "")


def test_long_work_prints_lines_into_a_log(capsys, monkeypatch):
    clock = iter(range(0, 1000, 100))
    monkeypatch.setattr("toolkit.core.system.progress.time.monotonic", lambda: next(clock))
    with progress("indexing", total=4, unit="documents") as advance:
        advance(2)
    # 2 in the 400 s until the line is made
    assert capsys.readouterr().err == "indexing: 2 documents (50%), 0.005/s, 0:06:40 left\n"


def test_a_log_has_a_line_a_minute_where_nothing_moves_and_the_pace_of_a_cluster(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("toolkit.core.system.progress.time.monotonic", lambda: now[0])
    with progress("encoding", total=100, unit="documents") as advance:
        advance(40)  # there already: they went by in no time
        for now[0] in range(0, 130, 5):
            tell("2 units done, 1 of 2 workers", 0.5)
    line = "encoding: 40 documents (40%), 0.5/s, 0:02:00 left; 2 units done, 1 of 2 workers\n"
    assert capsys.readouterr().err == line * 2
    tell("nobody shows it", 1.0)
    assert capsys.readouterr().err == ""


def test_what_was_resumed_does_not_make_the_pace(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("toolkit.core.system.progress.time.monotonic", lambda: now[0])
    with progress("encoding", total=100_000) as advance:
        advance(50_000)
        for now[0] in range(10, 1210, 10):
            advance(10)
    assert capsys.readouterr().err.splitlines()[-1] == "encoding: 51,200 (51%), 1/s, 13:33:20 left"
    assert not sys.stderr.isatty()
