"""A damaged archive of a reproduction: problems or one error, whatever its bytes are."""

import hashlib
import io
import json
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.reproduce.packed import verify

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
