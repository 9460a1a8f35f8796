"""A prebuilt index: from a mirror that breaks off once to a folder, once for two processes."""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from serving import Files, serving

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import IndexSpec
from toolkit.store import fetch_index, home, index_folder, lock, new_folder


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
    code = "from toolkit.store import lock\nwith lock('index x'): print('mine')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("mine\n", "")
