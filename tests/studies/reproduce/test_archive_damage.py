"""A damaged archive of a reproduction: problems or one error, whatever its bytes are."""

import hashlib
import io
import json
import os
import socket
import stat
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.studies.reproduce.packed import verify

RUN = b"q1 Q0 d1 1 0.5 t\n" * 50
MANIFEST = json.dumps({"paper": "infosearch", "files": {"a/run.trec": hashlib.sha256(RUN).hexdigest()}}).encode()


def packed(*members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


SOUND = packed(("manifest.json", MANIFEST), ("a/run.trec", RUN))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("archive") / "a.zip"


@given(st.dictionaries(st.integers(0, len(SOUND) - 1), st.integers(0, 255), min_size=1, max_size=5))
def test_an_archive_with_other_bytes_has_problems_or_is_one_error(path, changes):
    data = bytearray(SOUND)
    for place, value in changes.items():
        data[place] = value
    path.write_bytes(data)
    with suppress(ToolkitError):
        digest, problems = verify(path)
        assert problems or digest == hashlib.sha256(MANIFEST).hexdigest()  # a date in the archive may differ


def test_compressed_data_that_are_none_are_a_problem_of_their_file(path):
    start = SOUND.index(b"a/run.trec") + len("a/run.trec")
    path.write_bytes(SOUND[:start] + b"\xff" * 8 + SOUND[start + 8 :])
    _, [problem] = verify(path)
    assert problem.startswith("a/run.trec: cannot be read (Error -3 while decompressing data")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused(path):
    path.write_bytes(packed(("manifest.json", MANIFEST), ("a/run.trec", b"another"), ("a/run.trec", RUN)))
    with pytest.raises(ToolkitError, match="several files of one name"):
        verify(path)


@pytest.fixture
def folder(tmp_path):
    """A sound archive, unpacked."""
    made = tmp_path / "unpacked"
    with zipfile.ZipFile(io.BytesIO(SOUND)) as archive:
        archive.extractall(made)
    return made


def listening(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))  # the whole path may be longer than a socket's can be


EXTRAS = {
    "a/pipe": os.mkfifo,
    "a/socket": listening,
    "a/dangling": lambda path: path.symlink_to("nowhere"),
    "a/round": lambda path: path.symlink_to(path),
    "a/elsewhere": lambda path: path.symlink_to(path.parent.parent),  # a folder
    "a/run.trec.link": lambda path: path.symlink_to("run.trec"),
    "a/.hidden": Path.touch,
    ".DS_Store": Path.touch,
    "RUN.TREC": Path.touch,
}


@pytest.mark.parametrize("name", EXTRAS)
def test_whatever_lies_beside_the_files_of_the_manifest_is_named(folder, name):
    assert verify(folder)[1] == []
    EXTRAS[name](folder / name)
    assert verify(folder)[1] == [f"{name}: not in the manifest"]


def test_folders_without_files_are_named_and_so_is_all_that_is_in_others(folder):
    (folder / "a" / "empty").mkdir()
    (folder / "b").mkdir()
    os.mkfifo(folder / "b" / "pipe")
    assert verify(folder)[1] == [f"{name}: not in the manifest" for name in ("a/empty/", "b/", "b/pipe")]


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to(path.name)])
def test_a_pipe_in_the_place_of_a_file_is_named_and_nobody_waits_for_it(folder, make):
    (folder / "a" / "run.trec").unlink()
    make(folder / "a" / "run.trec")
    assert {problem.partition(" (")[0] for problem in verify(folder)[1]} & {"a/run.trec: cannot be read", "a/run.trec: missing"}


def test_a_pipe_in_the_place_of_the_manifest_or_of_the_archive_is_one_error(folder):
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")
    with pytest.raises(ToolkitError, match=r"there is no .*manifest.json"):
        verify(folder)
    with pytest.raises(ToolkitError, match="neither a folder nor a zip archive"):
        verify(folder / "manifest.json")


def test_names_that_read_as_others_are_escaped(folder):
    for name in ("re\u0301sume\u0301", "two\nlines", os.fsdecode(b"\xff")):
        (folder / name).mkdir()
    said = [problem.partition(":")[0] for problem in verify(folder)[1]]
    assert said == [r"'re\u0301sume\u0301/'", r"'two\nlines/'", r"'\udcff/'"]


def with_files(*names):
    files = dict.fromkeys(names, hashlib.sha256(RUN).hexdigest())
    return [("manifest.json", json.dumps({"files": files})), *((name, RUN) for name in names)]


def test_two_files_of_the_manifest_that_some_disks_take_for_one_are_named(path):
    path.write_bytes(packed(*with_files("caf\u00e9.trec", "cafe\u0301.trec")))
    [problem] = verify(path)[1]
    assert problem.startswith(r"café.trec and 'cafe\u0301.trec' become one")


def test_folders_and_links_of_an_archive_are_looked_at(path):
    link = zipfile.ZipInfo("a/run.trec")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    [manifest, _] = with_files("a/run.trec")
    path.write_bytes(packed(manifest, ("a/", b""), ("b/", b""), (link, RUN)))
    assert verify(path)[1] == ["a/run.trec: cannot be read (no regular file)", "b/: not in the manifest"]
