"""A prebuilt index: from a mirror that breaks off once to a folder, once for two processes."""

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from serving import Files, serving

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import IndexSpec
from toolkit.files.provenance import comparing
from toolkit.files.store import fetch_index, home, index_folder, lock, new_folder

pytestmark = pytest.mark.usefixtures("no_pauses")


def archive(*names):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as packed:
        for name in names:
            info = tarfile.TarInfo(name)
            content = os.urandom(300_000)  # does not compress: there is something to break off from
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return data.getvalue()


def spec(data, base="http://127.0.0.1:1"):
    return IndexSpec("tiny", "an index", "lucene", (f"{base}/tiny.tar.gz",), hashlib.md5(data).hexdigest(), len(data))


def test_an_index_comes_from_the_mirror_resumed_and_unpacked(home, monkeypatch):
    data = archive("lucene-tiny/segments_1", "lucene-tiny/_0.cfs")
    with serving(Files({"/mirror/tiny.tar.gz": data}, break_at=100_000)) as files:
        monkeypatch.setenv("TANDEM_INDEX_MIRROR", f"{files.base}/mirror")
        folder = fetch_index(spec(data))
        assert fetch_index(spec(data)) == folder
    assert files.requests == [("/mirror/tiny.tar.gz", ""), ("/mirror/tiny.tar.gz", "bytes=100000-")]
    assert folder == index_folder(spec(data)) / "lucene-tiny"
    assert sorted(path.name for path in folder.iterdir()) == ["_0.cfs", "segments_1"]
    assert list((home / "downloads").iterdir()) == []


def test_an_index_that_is_there_needs_no_place_to_write(home):
    data = archive("segments_1", "_0.cfs")
    index_folder(spec(data)).mkdir(parents=True)
    (home / "locks").touch()  # a lock would fail, as in a home that may only be read
    assert fetch_index(spec(data)) == index_folder(spec(data))


def test_an_older_folder_is_replaced_as_a_whole_or_kept(tmp_path, monkeypatch):
    folder = tmp_path / "index"
    (folder / "old").mkdir(parents=True)
    rename = Path.rename

    def interrupted(path, target):
        if target == folder and not path.name.endswith(".old.part"):
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), new_folder(folder) as part:
        (part / "new").mkdir()
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["index", "index/old"]
    monkeypatch.setattr(Path, "rename", rename)
    with new_folder(folder) as part:
        (part / "new").mkdir()
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["index", "index/new"]


def test_an_archive_without_a_top_folder_is_the_index_itself(home):
    data = archive("segments_1", "_0.cfs")
    with serving(Files({"/tiny.tar.gz": data})) as files:
        assert fetch_index(spec(data, files.base)) == index_folder(spec(data))


def test_without_network_the_error_names_what_could_not_be_had(home):
    with pytest.raises(ToolkitError) as caught:
        fetch_index(spec(b"x"))
    assert caught.value.message == "cannot download tiny.tar.gz"
    assert "TANDEM_INDEX_MIRROR" in caught.value.hint
    assert not index_folder(spec(b"x")).exists()


def test_home_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "there"))
    assert home() == tmp_path / "there"
    monkeypatch.delenv("TANDEM_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".cache" / "tandem"


def test_a_home_that_is_a_file_is_one_error(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "file"))
    with pytest.raises(ToolkitError, match="cannot write into"), lock("x"):
        pass


@pytest.mark.process
def test_a_lock_may_be_taken_again_within_and_is_given_back(home):
    with lock("index x"), lock("index x"):
        pass
    code = "from toolkit.files.store import lock\nwith lock('index x'): print('mine')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("mine\n", "")


def test_two_entries_whose_addresses_end_alike_get_each_its_own(home):
    first, second = archive("segments_1"), archive("segments_2")
    with serving(Files({"/a/index.tar.gz": first, "/b/index.tar.gz": second})) as files:
        specs = [
            IndexSpec(name, "", "lucene", (f"{files.base}/{place}/index.tar.gz",), hashlib.md5(data).hexdigest(), len(data))
            for name, place, data in (("one", "a", first), ("two", "b", second))
        ]
        # as left by a process that was killed before it unpacked
        kept = home / "downloads" / specs[1].md5 / "index.tar.gz"
        kept.parent.mkdir(parents=True)
        kept.write_bytes(first)
        folders = [fetch_index(spec) for spec in specs]
    assert [[path.name for path in folder.glob("segments*")] for folder in folders] == [["segments_1"], ["segments_2"]]


@pytest.mark.parametrize(("name", "md5"), [("x", "../../../evil"), ("x", "a" * 31), ("../x", "a" * 32), ("x/y", "a" * 32)])
def test_an_entry_that_is_no_name_and_digest_is_no_path(home, name, md5):
    with pytest.raises(ToolkitError, match="has the MD5"):
        fetch_index(IndexSpec(name, "", "lucene", ("http://127.0.0.1:1/x.tar.gz",), md5, 1))
    assert not home.exists()


def test_files_are_compared_with_what_was_unpacked_when_they_are_used(home):
    data = archive("lucene-tiny/segments_1", "lucene-tiny/_0.cfs")
    with serving(Files({"/tiny.tar.gz": data})) as files:
        there = spec(data, files.base)
        folder = fetch_index(there)
        with comparing([folder]) as compared:
            assert compared == set()  # not yet
        assert compared == {folder}
        (folder / "_0.cfs").write_bytes(b"another")
        with pytest.raises(ToolkitError, match=r"not as they were: lucene-tiny/_0.cfs: changed"), comparing([folder]):
            pass
        shutil.rmtree(index_folder(there))
        with comparing([fetch_index(there)]):
            pass


def test_a_body_that_goes_on_is_left_near_the_size_of_the_entry(home):
    data = archive("segments_1")
    with serving(Files({"/tiny.tar.gz": data + bytes(1 << 22)})) as files, pytest.raises(ToolkitError) as caught:
        fetch_index(spec(data, files.base))
    assert "it sends more than 1.4 MB: the file has 0.3 MB" in caught.value.problems[0]
    assert list((home / "downloads").rglob("*.part")) == []
