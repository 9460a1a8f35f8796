"""Columns of ids, line by line and encoded: both give the same answers."""

import numpy as np
import pyarrow
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.core.tables import columns
from toolkit.core.tables.columns import Ids, hashes, to_arrow

IDS = ["b", "a", "b", "", "clueweb09-en0000-00-00000", "a", "東京"]
texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=30)


def forms(values: list[str]) -> list[Ids]:
    """The same column as it was read, in pieces, and encoded."""
    half = len(values) // 2
    pieces = Ids.of(pyarrow.chunked_array([to_arrow(values[:half]), to_arrow(values[half:])]))
    encoded = Ids.of(values)
    assert len(encoded.codes) == len(values)
    return [Ids.of(values), pieces, encoded, Ids.join([Ids.of(values[:half]), Ids.of(values[half:])])]


@given(texts)
def test_every_form_has_the_same_ids(values):
    for column in forms(values):
        lines = np.arange(len(values))[::-1]
        assert column.texts(lines).to_pylist() == values[::-1]
        assert column.take(lines).texts(lines).to_pylist() == values
        assert column.distinct.to_pylist() == list(dict.fromkeys(values))
        assert column.distinct.take(to_arrow(column.codes)).to_pylist() == values


def test_ids_are_found_among_others_in_every_form():
    wanted = to_arrow(["x", "a", "東京", "b"])
    for column in forms(IDS):
        assert column.find(wanted).tolist() == [3, 1, 3, -1, -1, 1, 2]
        assert column.find(wanted) is column.find(wanted)
        assert column.find(to_arrow(["b"])).tolist() == [0, -1, 0, -1, -1, -1, -1]


def test_numbers_of_lines_compare_as_their_ids_do_in_bytes():
    for column in forms(IDS):
        order = column.ordered(np.array([6, 0, 1, 2])).tolist()
        assert order[0] > order[1] == order[3] > order[2]


@pytest.mark.parametrize(("groups", "twice"), [([0, 0, 1, 0, 0, 2, 0], False), ([0, 1, 0, 0, 0, 2, 0], True)])
@pytest.mark.parametrize("collide", [False, True])
def test_an_id_that_comes_twice_in_a_group_is_seen(groups, twice, collide, monkeypatch):
    if collide:  # different ids may share a hash: nothing is said before the ids themselves were compared
        monkeypatch.setattr(columns, "hashes", lambda values: np.zeros(len(values), np.uint64))
    for column in forms(IDS):
        assert column.comes_twice(np.array(groups, np.int32)) is twice


@given(texts)
@example(["", "\x01"])
def test_ids_have_a_hash_of_their_own_wherever_they_stand(values):
    made = hashes(to_arrow(values)).tolist()
    assert made == [hashes(to_arrow([value]))[0] for value in values]
    assert len(set(made)) == len(set(values))
    assert hashes(to_arrow(["x", *values]).slice(1)).tolist() == made
