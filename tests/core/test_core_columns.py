"""Text columns as codes, and the way between numpy and arrow that does not load pandas."""

import subprocess
import sys

import numpy as np
import pyarrow
import pytest

from toolkit.core.tables.columns import encode, lookup, merge, text_order, to_arrow, to_numpy


def test_texts_and_numbers_come_back_as_they_were():
    texts = ["", "a", "né", "长", "a"]
    assert to_arrow(texts).equals(pyarrow.array(texts))
    assert to_arrow(np.array(texts, object)).equals(pyarrow.array(texts))
    assert to_arrow([]).equals(pyarrow.array([], pyarrow.string()))
    for numbers in (np.arange(5, dtype=np.int32)[::2], np.array([0.5, -0.0]), np.empty(0, np.int64)):
        assert to_arrow(numbers).equals(pyarrow.array(numbers))
        assert np.array_equal(to_numpy(to_arrow(numbers)), numbers)


def test_chunked_columns_become_one():
    assert to_numpy(pyarrow.chunked_array([[1, 2], [], [3]])).tolist() == [1, 2, 3]
    assert to_numpy(pyarrow.chunked_array([], pyarrow.float64())).dtype == np.float64


def test_values_are_coded_in_order_of_first_appearance():
    codes, known = encode(["b", "a", "b"])
    assert (codes.tolist(), known.to_pylist()) == ([0, 1, 0], ["b", "a"])
    codes, known = encode([])
    assert (codes.tolist(), known.to_pylist()) == ([], [])


def test_merged_columns_share_their_values():
    codes, known = merge([encode(["b", "a"]), (np.array([1, 0, 1], np.int32), ("c", "a")), encode([])])
    assert [known[code].as_py() for code in codes.tolist()] == ["b", "a", "a", "c", "a"]
    assert sorted(known.to_pylist()) == ["a", "b", "c"]
    assert merge([encode([]), encode([])])[0].tolist() == []


def test_lookup_gives_codes_or_minus_one():
    known = to_arrow(["x", "y"])
    assert lookup(["y", "z", "x"], known).tolist() == [1, -1, 0]
    assert lookup(["y"], known).tolist() == [1]
    assert lookup(["z"], known).tolist() == [-1]
    assert lookup([], known).tolist() == []
    assert lookup(["a"], to_arrow([])).tolist() == [-1]


def test_text_order_is_that_of_bytes():
    assert text_order(to_arrow(["é", "Z", "a", ""])).tolist() == [3, 1, 2, 0]


@pytest.mark.process
def test_ranking_and_joining_runs_loads_no_pandas():
    code = (
        "import sys\n"
        "from toolkit.core.runs import Run, join_runs\n"
        "runs = [Run.from_dict({q: {'a': 1.0, 'b': 1.0}}) for q in 'xy']\n"
        "assert join_runs(runs).order().tolist() == [1, 0, 3, 2]\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
