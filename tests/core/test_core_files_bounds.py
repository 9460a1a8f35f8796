"""Compressed files unpack to what a text has, and to no more."""

import gzip

import pytest
import zstandard

from toolkit.core.errors import ToolkitError
from toolkit.core.system import files
from toolkit.core.system.files import open_input


@pytest.mark.parametrize(("name", "pack"), [("a.gz", gzip.compress), ("a.zst", zstandard.compress)])
def test_a_file_that_unpacks_to_far_more_than_a_text_is_left(tmp_path, monkeypatch, name, pack):
    path = tmp_path / name
    path.write_bytes(pack(b"x" * 3_000_000))
    with open_input(path) as file:
        assert file.read() == b"x" * 3_000_000
    monkeypatch.setattr(files, "SAFE", 1_000_000)
    with open_input(path) as file:
        assert len(file.read(900_000)) == 900_000
        with pytest.raises(ToolkitError, match="unpacks to more than 200 times its size"):
            file.readline()
    monkeypatch.setattr(files, "RATIO", 1 << 20)
    with open_input(path) as file:
        assert len(file.readline()) == 3_000_000
