"""Ids in a pickled list: what is read, and that nothing in a file is ever executed."""

import contextlib
import io
import os
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.files.formats.pickled_ids import pickled_ids

IDS = [f"sphere-{number}" for number in range(2_500)]  # three batches
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def written(tmp_path, content, protocol=4):
    path = tmp_path / "meta.pkl"
    path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_texts_numbers_and_tuples_of_every_protocol(tmp_path, protocol):
    assert list(pickled_ids(written(tmp_path, IDS, protocol))) == IDS
    assert list(pickled_ids(written(tmp_path, [7, -1, 1 << 40], protocol))) == ["7", "-1", str(1 << 40)]
    entries = [(doc_id, "a title", 3, 0.5, None, True) for doc_id in IDS]  # the title is one object, recalled
    assert list(pickled_ids(written(tmp_path, entries, protocol))) == IDS
    entries = [[number, doc_id] for number, doc_id in enumerate(IDS)]
    assert list(pickled_ids(written(tmp_path, entries, protocol), column=1)) == IDS
    assert list(pickled_ids(written(tmp_path, [("a",), ("b", ())], protocol))) == ["a", "b"]
    assert list(pickled_ids(written(tmp_path, [], protocol))) == []


class Evil:
    def __reduce__(self):
        return os.mkdir, ("executed",)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_file_that_would_run_code_is_refused_in_one_line_and_runs_none(tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, ["a", Evil()], protocol)
    with pytest.raises(ToolkitError, match=r"byte \d+: the instruction (STACK_)?GLOBAL makes something else than ids") as error:
        list(pickled_ids(path))
    assert "\n" not in error.value.message
    assert not (tmp_path / "executed").exists()
    pickle.loads(path.read_bytes())  # it is one that does
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": 1}, "the instruction EMPTY_DICT makes something else"),
        (["a", 0.5], "'0.5' is no id"),
        (["a", None], "'None' is no id"),
        (["a", True], "'True' is no id"),
        ([("a",), ()], "an entry has no value 0"),
        (["a\nb"], "an id of no or several lines"),
        ([""], "an id of no or several lines"),
        ("a", "it leaves something else than one list"),
        (b"no pickle", "no pickle, or a damaged one"),
        (b"", "no pickle, or a damaged one"),
        (pickle.dumps(IDS)[:-2000], "no pickle, or a damaged one"),
        (b"\x80\x04\x8d" + (1 << 40).to_bytes(8, "little"), "a value of 1,099,511,627,776 bytes"),
        (b"\x80\x04]" + b"(" * (1 << 17) + b".", "too many values wait"),
        (b"\x80\x04]h\x05a.", "a value that is not there"),
        (b"\x80\x04]\x94h\x00a.", "the list is in itself"),
        (b"\x80\x04e.", "a damaged pickle"),
        (b"\x80\x04a.", "a damaged pickle"),
        (b"\x80\x04]\x85.", "it leaves something else than one list"),
        (b"\x80\x04](X\x01\x00\x00\x00a.", "it leaves something else than one list"),
    ],
)
def test_what_is_no_list_of_ids_is_refused_with_its_byte(tmp_path, content, message):
    with pytest.raises(ToolkitError, match=r"meta\.pkl") as error:
        list(pickled_ids(written(tmp_path, content)))
    assert message in str(error.value)


@given(st.binary(max_size=200), st.randoms(use_true_random=False))
def test_damaged_files_end_in_ids_or_one_line(tmp_path_factory, noise, chance: random.Random):
    data = bytearray(pickle.dumps([("a", 1), ("b", 2)]))
    for byte in noise:
        data[chance.randrange(len(data))] = byte
    path = tmp_path_factory.mktemp("damaged") / "meta.pkl"
    path.write_bytes(io.BytesIO(bytes(data)).getvalue())
    with contextlib.suppress(ToolkitError):
        assert all(isinstance(each, str) for each in pickled_ids(path))
