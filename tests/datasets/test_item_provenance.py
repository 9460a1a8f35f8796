"""`provenance.jsonl`: who wrote, filtered and judged each item."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.datasets.own import provenance_file
from toolkit.datasets.own.item_provenance import ROLES, Made, read_provenances

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
rows = st.builds(Made, st.sampled_from(ROLES), names, *[names | st.just("")] * 4)


def write(path, *lines):
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@given(st.dictionaries(names, st.lists(rows, unique=True, max_size=3), max_size=4))
def test_what_is_written_is_read(tmp_path_factory, made):
    lines = [{"id": item, "made": [one._asdict() for one in each]} for item, each in made.items()]
    path = write(tmp_path_factory.mktemp("provenance") / "provenance.jsonl", *lines)
    assert read_provenances(path) == {item: tuple(each) for item, each in made.items()}


@given(st.lists(st.tuples(names, st.lists(rows, max_size=2)), max_size=6), st.booleans())
def test_lines_that_repeat_each_other_are_read_as_others_are(tmp_path_factory, lines, ascii_only):
    """A line in the form that builds write is read more quickly than the same with its keys in another order."""
    folder, texts = tmp_path_factory.mktemp("provenance"), {}
    for order in (("id", "made"), ("made", "id")):
        written = [{"id": item, "made": [one._asdict() for one in made]} for item, made in [*lines, *lines]]
        texts[order] = "".join(json.dumps({key: row[key] for key in order}, ensure_ascii=ascii_only) + "\n" for row in written)
    first, second = (read_provenances(write(folder / "p.jsonl", text)) for text in texts.values())
    assert first == second


def test_lines_of_one_item_count_together_and_each_maker_once(tmp_path):
    wrote, judged = {"role": "wrote", "by": "gpt-4o"}, {"role": "judged", "by": "person", "step": "review", "family": None}
    path = write(tmp_path / "p.jsonl", {"id": "d1", "made": [wrote, wrote]}, "\n", {"id": "d1", "made": [judged]})
    assert read_provenances(path) == {"d1": (Made("wrote", "gpt-4o"), Made("judged", "person", step="review"))}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{\n", "line 2: not JSON"),
        ("[1]\n", "line 2: expected the keys id (a text) and made (a list)"),
        ('{"id": 7, "made": []}\n', "line 2: expected the keys id"),
        ('{"id": "d1"}\n', "line 2: expected the keys id"),
        ('{"id": "d1", "made": [{"role": "made up", "by": "x"}]}\n', "line 2: d1: a role is one of wrote, filtered, judged"),
        ('{"id": "d1", "made": [{"role": "wrote"}]}\n', "line 2: d1: a role is one of"),
        ('{"id": "d1", "made": [{"role": "wrote", "by": 3}]}\n', "line 2: d1: a role is one of"),
        ('{"id": "d1", "made": ["gpt-4o"]}\n', "line 2: d1: a role is one of"),
    ],
)
def test_all_that_is_wrong_is_said_with_its_line(tmp_path, line, problem):
    path = write(tmp_path / "p.jsonl", {"id": "d0", "made": []}, line, "also wrong\n")
    with pytest.raises(ToolkitError) as raised:
        read_provenances(path)
    assert "2 lines are no provenance" in raised.value.message
    assert raised.value.problems[0].startswith(problem)
    assert raised.value.problems[1].startswith("line 3: not JSON")


def test_a_benchmark_without_the_file_has_none(tmp_path):
    assert provenance_file(tmp_path) is None
    assert provenance_file("") is None
    assert provenance_file(write(tmp_path / "provenance.jsonl").parent) == tmp_path / "provenance.jsonl"
