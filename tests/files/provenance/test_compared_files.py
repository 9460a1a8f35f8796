"""When the files of an index are compared with their record, and what is remembered of it."""

import os
import time

import numpy as np
import pytest

from toolkit.core.errors import ToolkitError
from toolkit.files.formats.indexes import write_index_record
from toolkit.files.formats.vectors import VectorStore
from toolkit.files.provenance import compared_files
from toolkit.files.provenance.compared_files import DAY, comparing
from toolkit.files.store.digests import write_digests
from toolkit.files.texts.per_query_corpus import Question


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder with a file and its record; TANDEM_HOME is beside it."""
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    folder = tmp_path / "index"
    folder.mkdir()
    (folder / "postings").write_bytes(b"abc")
    write_index_record(folder, {"kind": "lucene"}, "by hand", time.time())
    return folder


@pytest.fixture
def reads(monkeypatch):
    """The folders whose files were read, in order."""
    read, problems = [], compared_files._problems
    monkeypatch.setattr(compared_files, "_problems", lambda folder: read.append(folder) or problems(folder))
    return read


def compare(*folders, **how):
    with comparing(folders, **how) as compared:
        pass
    return compared


def later(monkeypatch, seconds):
    now = time.time()
    monkeypatch.setattr(compared_files.time, "time", lambda: now + seconds)


def rot(path, monkeypatch):
    """Other bytes in a file of which the file system says what it said before, as a bad disk has them."""
    states = {path.parent: compared_files._state(path.parent)}
    path.write_bytes(b"abX")
    monkeypatch.setattr(compared_files, "_state", states.get)


def test_files_are_read_once_a_day(index, reads, monkeypatch):
    assert compare(index) == compare(index) == {index}
    assert reads == [index]
    later(monkeypatch, DAY - 60)
    assert (compare(index), reads) == ({index}, [index])
    later(monkeypatch, 2 * DAY)
    assert (compare(index), reads) == ({index}, [index, index])


def test_a_remembered_time_that_is_still_to_come_is_none(index, reads, monkeypatch):
    compare(index)
    later(monkeypatch, -DAY)
    compare(index)
    assert reads == [index, index]


def test_what_a_disk_has_lost_is_found_where_one_asks_and_from_then_on(index, monkeypatch):
    compare(index)
    rot(index / "postings", monkeypatch)
    assert compare(index) == {index}
    with pytest.raises(ToolkitError, match="postings: changed"):
        compare(index, again=True)
    with pytest.raises(ToolkitError, match="postings: changed"):  # it was found: nothing is remembered any more
        compare(index)


def test_what_a_disk_has_lost_is_found_after_a_day(index, monkeypatch):
    compare(index)
    rot(index / "postings", monkeypatch)
    later(monkeypatch, DAY + 1)
    with pytest.raises(ToolkitError) as caught:
        compare(index)
    assert caught.value.message == f"the files in {index} are not as they were: postings: changed"
    assert caught.value.status == 2


def test_a_time_that_was_set_back_hides_nothing(index):
    compare(index)
    before = (index / "postings").stat()
    (index / "postings").write_bytes(b"abX")
    os.utime(index / "postings", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ToolkitError, match="postings: changed"):
        compare(index)


def test_a_home_that_may_not_be_written_has_files_compared_each_time(index, reads, tmp_path):
    (tmp_path / "home").write_text("a file where the folder would be")
    assert compare(index) == compare(index) == {index}
    assert reads == [index, index]


def test_a_folder_without_digests_is_not_said_to_be_compared(index, tmp_path):
    (index / "tandem.yaml").unlink()
    (index / "postings").write_bytes(b"abX")
    assert compare(index) == set()
    assert not (tmp_path / "home" / "compared").exists() or not any((tmp_path / "home" / "compared").iterdir())


def test_a_fetched_index_is_compared_with_what_was_unpacked(index):
    (index / "tandem.yaml").unlink()
    write_digests(index)
    assert compare(index) == {index}
    (index / "postings").unlink()
    with pytest.raises(ToolkitError, match="postings: missing"):
        compare(index)


def test_hidden_files_of_the_system_are_no_part_of_an_index(index):
    (index / ".DS_Store").write_bytes(b"x")
    assert compare(index) == {index}


def test_vectors_are_compared_shard_by_shard(tmp_path, monkeypatch):
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    store = VectorStore(tmp_path / "vectors", {"side": "passage", "dimension": 2})
    store.add(["a", "b"], np.eye(2, dtype=np.float32), "0" * 64)
    store.finish({})
    assert compare(tmp_path / "vectors") == {tmp_path / "vectors"}
    (tmp_path / "vectors" / "ids-00000.txt").write_text("a\nc\n")
    with pytest.raises(ToolkitError, match=r"ids-00000.txt: changed"):
        compare(tmp_path / "vectors")


def test_changed_files_are_the_error_where_using_them_failed_too(index):
    (index / "postings").write_bytes(b"abX")
    with pytest.raises(ToolkitError, match="postings: changed"), comparing([index]):
        raise ValueError("a number that makes no sense")


def test_an_error_of_the_block_is_its_own_where_the_files_are_sound(index):
    with pytest.raises(ValueError, match="mine"), comparing([index]):
        raise ValueError("mine")


def test_an_index_of_questions_is_compared_where_that_of_each_question_is(index, monkeypatch):
    own = index / "q1"
    own.mkdir()
    (own / "postings").write_bytes(b"abc")
    monkeypatch.setattr(compared_files, "has_questions", lambda folder: folder == index)
    monkeypatch.setattr(compared_files, "read_questions", lambda folder: [Question("q1", own, 1)])
    write_index_record(index, {"kind": "lucene"}, "by hand", time.time())
    assert compare(index) == set()  # nobody knows what the files of q1 were
    write_index_record(own, {"kind": "lucene"}, "by hand", time.time())
    write_index_record(index, {"kind": "lucene"}, "by hand", time.time())
    assert compare(index) == {index}
