"""Modes: names with roles, and query ids that end in one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import ROLES, Modes, join_mode

INFOSEARCH = Modes({"ori": "base", "ins": "instructed", "rev": "reversed"})
NAMES = st.text("abcdefgh_.0", min_size=1, max_size=4)


def test_a_mode_is_the_end_of_an_id():
    assert INFOSEARCH.split("audience-012-1-ins") == ("audience-012-1", "ins")
    assert Modes({"og": "base", "changed": "instructed"}).split("321-changed") == ("321", "changed")
    for query_id in ("not-a-mode", "-ins", "ins", "q-1-changed"):
        assert INFOSEARCH.split(query_id) == (query_id, "")
    assert join_mode("a-1", "rev") == "a-1-rev"
    assert join_mode("a-1", "") == "a-1"


def test_modes_are_asked_for_by_role_and_keep_their_order():
    assert list(INFOSEARCH) == ["ori", "ins", "rev"]
    assert INFOSEARCH.of("base") == ("ori",)
    assert INFOSEARCH.of("reversed", "base") == ("ori", "rev")
    assert list(INFOSEARCH.only(["rev", "ori", "x"]).items()) == [("ori", "base"), ("rev", "reversed")]
    assert sorted(["paired", "rev", "", "ori", "ins"], key=INFOSEARCH.place) == ["", "ori", "ins", "rev", "paired"]
    assert not Modes()


@given(st.lists(NAMES, min_size=1, max_size=3, unique=True), st.permutations(ROLES), st.text(min_size=1))
def test_an_id_is_split_where_it_was_joined_whatever_modes_are_called(names, roles, base):
    modes = Modes.declared(dict(zip(names, roles, strict=False)), "here")
    for name in modes:
        assert modes.split(join_mode(base, name)) == (base, name)
        assert name in modes.of(modes[name])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"pos": "positive"}, "'positive' is no role"),
        ({"pos": ""}, "'' is no role"),
        ({"a-b": "base"}, "'a-b' is no name"),
        ({False: "base"}, "False is no name"),  # what YAML makes of `no: base`
        ({"a": "base", "b": "base"}, "several are base"),
    ],
)
def test_what_is_no_mode_is_named_with_its_place(given, problem):
    with pytest.raises(ToolkitError) as caught:
        Modes.declared(given, "benchmark mine")
    assert caught.value.message == f"benchmark mine: modes: {problem}"
    assert "reversed" in caught.value.hint
