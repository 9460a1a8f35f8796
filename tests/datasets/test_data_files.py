"""Tables as JSON and CSV: what a row is, and what is no table."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.datasets.copies.data_files import read_table

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def rows(folder, name):
    return [dict(record.values) for record in read_table(folder, name)]


@given(st.lists(st.fixed_dictionaries({"_id": TEXT, "text": TEXT}), min_size=1))
def test_the_same_rows_are_read_from_json_json_lines_and_csv(folder, table):
    (folder / "list.json").write_text(json.dumps(table), encoding="utf-8")
    # a single line could be a mapping of its own
    lines = [json.dumps(row) for row in [*table, table[0]]]
    (folder / "lines.json").write_text("\n".join(lines), encoding="utf-8")
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, ["_id", "text"])
    writer.writeheader()
    writer.writerows(table)
    (folder / "table.csv").write_bytes(file.getvalue().encode())
    assert rows(folder, "list") == rows(folder, "table") == table
    assert rows(folder, "lines") == [*table, table[0]]


def test_keys_of_a_mapping_and_places_of_texts_are_ids(tmp_path):
    (tmp_path / "mapping.json").write_text('{"a": {"x": 1},\n "b": {"x": 2}}')
    (tmp_path / "texts.json").write_text('["first", "second"]')
    assert rows(tmp_path, "mapping") == [{"_id": "a", "x": 1}, {"_id": "b", "x": 2}]
    assert rows(tmp_path, "texts") == [{"_id": "0", "text": "first"}, {"_id": "1", "text": "second"}]
    assert [record.place.rpartition(", ")[2] for record in read_table(tmp_path, "mapping")] == ["entry 'a'", "entry 'b'"]


def test_a_split_that_a_readme_declares_is_a_table(tmp_path):
    (tmp_path / "any.jsonl").write_text('{"id": 1}\n')
    head = "configs:\n- config_name: documents\n  data_files:\n  - {split: biology, path: any.jsonl}"
    head += "\n  - {split: other, path: no.jsonl}"
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\n")
    assert rows(tmp_path, "documents/biology") == [{"id": 1}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.json", '[{"a": 1}, 2]', "t.json, entry 2: expected a JSON object, found 2"),
        ("t.json", "3", "t.json: expected a list or a mapping, found 3"),
        ("t.json", '[{"a": 1}', "t.json, line 1: not JSON: Expecting ',' delimiter at column 10"),
        ("t.json", "[]", "t.json has no rows"),
        ("t.csv", "a,b\n1,2\n1\n", "t.csv, row 2: expected 2 columns, found 1"),
        ("t.csv", 'a,b\n1,"2\n', "t.csv: damaged after row 0 (unexpected end of data)"),
        ("t.csv", b"a,b\n1,\xff\n", "t.csv: no UTF-8 after row 0"),
        ("t.csv", "a,b\n", "t.csv has no rows"),
    ],
)
def test_what_is_no_table_is_named_with_its_place(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ToolkitError) as caught:
        rows(tmp_path, "t")
    assert caught.value.message.removeprefix(f"{tmp_path}/") == message
