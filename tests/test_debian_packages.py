"""Debian's package lists: fields, tags, descriptions, versions, and what is wrong with a line."""

import gzip
import importlib.util
import json
import string
import subprocess
import sys
from pathlib import Path

import pytest
from debian_lists import PACKAGES, write_lists
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "debian_packages.py"
_spec = importlib.util.spec_from_file_location("debian_packages", SCRIPT)
_module = sys.modules["debian_packages"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
Package, paragraphs, flowing = _module.Package, _module.paragraphs, _module.flowing
list_files, read_packages, read_vocabulary = _module.list_files, _module.read_packages, _module.read_vocabulary
compare_versions, version_key = _module.compare_versions, _module.version_key

NAMES = st.text(string.ascii_letters + string.digits + "-", min_size=1)
VALUES = st.text(st.characters(exclude_categories=("C", "Z")), max_size=8)
VERSIONS = st.from_regex(r"([0-9]:)?[0-9A-Za-z.+~]{1,4}(-[0-9A-Za-z.+~]{1,3})?", fullmatch=True)


def problems(read) -> list[str]:
    with pytest.raises(ToolkitError) as raised:
        read()
    return [str(problem) for problem in raised.value.problems] or [raised.value.message]


def test_packages_come_by_name_with_the_highest_version_and_the_description_of_its_digest(tmp_path):
    assert list(read_packages(write_lists(tmp_path))) == [
        Package(
            "ant-counter",
            "2.0~rc1",
            "counts ants",
            "Counts every ant that comes by.",
            ("use::counting", "works-with::insects", "made-in::TODO"),
        ),
        Package(
            "bee-viewer",
            "1.10-1",
            "looks at bees",
            "Looks at bees from afar, and at their hives.\n\nIt shows:\n* wings\n* stings",
            ("use::viewing", "works-with::insects", "made-in::wood"),
        ),
        Package("moth-lamp", "1:0.1", "calls moths", "", ()),
    ]


def test_of_equal_versions_the_first_is_taken(tmp_path):
    again = PACKAGES + "\nPackage: moth-lamp\nVersion: 1:0.1\nDescription: the same once more\n"
    assert [package.summary for package in read_packages(write_lists(tmp_path, again))][-1] == "calls moths"


def test_folded_tags_are_one_field(tmp_path):
    folder = write_lists(tmp_path, "Package: a\nVersion: 1\nDescription: x\nTag: f::one,\n f::two,\n\tg::three, f::one\n")
    assert [package.tags for package in read_packages(folder)] == [("f::one", "f::two", "g::three")]


def test_compressed_lists_are_read(tmp_path):
    write_lists(tmp_path, packages="")
    (tmp_path / "x_Packages.gz").write_bytes(gzip.compress(PACKAGES.encode()))
    assert len(list(read_packages(tmp_path))) == 3


def test_what_a_wrong_line_spoils_is_not_given(tmp_path):
    path = tmp_path / "Packages"
    path.write_text("A: 1\n\nB: 2\nno colon\n\nC: 3\n")
    found = []
    with pytest.raises(ToolkitError):
        found.extend(paragraph.fields for paragraph in paragraphs(path))
    assert found == [{"a": "1"}, {"c": "3"}]


def test_every_wrong_line_is_named(tmp_path):
    path = tmp_path / "Packages"
    path.write_bytes(b" lost\n\nA: 1\nno colon\nB: \xff\na: 2\n\nC: 3\n")
    assert problems(lambda: list(paragraphs(path))) == [
        "line 1: continues no field",
        "line 4: expected `Name: value`, or a blank first that continues the field above",
        "line 5: not UTF-8 text",
        "line 6: field a comes a second time (line 3)",
    ]


@pytest.mark.parametrize(
    ("packages", "found"),
    [
        ("Package: a\nVersion: 1\n", "line 1: a package without Description"),
        ("Description: x\n", "line 1: a package without Package and Version"),
        ("Package: a\nVersion: 1 2\nDescription: x\n", "line 2: '1 2' is no version"),
        ("Package: a\nVersion: 1\nDescription: x\nTag: f::a, b\n", "line 4: 'b' is no tag: expected facet::value"),
        ("Package: a\nVersion: 1\nDescription: x\nTag: f::{a,b}\n", "line 4: 'f::{a' is no tag: expected facet::value"),
    ],
)
def test_a_package_that_is_none_is_named_by_its_line(tmp_path, packages, found):
    folder = write_lists(tmp_path, f"\n{packages}")
    (problem,) = problems(lambda: list(read_packages(folder)))
    line, rest = found.removeprefix("line ").split(":", 1)
    assert problem.endswith(f"_Packages, line {int(line) + 1}:{rest}")


def test_a_folder_without_lists_says_how_they_are_fetched(tmp_path):
    with pytest.raises(ToolkitError, match="holds no file Packages") as raised:
        list_files(tmp_path)
    assert "apt-get -o Acquire::Languages=en" in raised.value.hint
    (tmp_path / "x_Packages.lz4").write_bytes(b"")
    with pytest.raises(ToolkitError, match=r"x_Packages.lz4: compressed lists are read as .gz and .zst"):
        list_files(tmp_path)


def test_a_list_that_breaks_off_names_the_line(tmp_path):
    path = tmp_path / "Packages.gz"
    path.write_bytes(gzip.compress(b"A: 1\n" * 9)[:-9])
    (problem,) = problems(lambda: list(paragraphs(path)))
    assert "damaged or breaks off here" in problem


def test_the_vocabulary_names_tags_and_facets(tmp_path):
    path = write_lists(tmp_path) / "vocabulary"
    assert read_vocabulary(path) == {"works-with": "Works with", "works-with::insects": "Insects and Spiders"}


def test_lines_of_prose_are_joined_and_indented_ones_stay():
    assert flowing(" One\n two.\n .\n List:\n  a\n  b\n three") == "One two.\n\nList:\na\nb\nthree"


def test_versions_compare_as_in_debians_policy():
    # section 5.6.12: `~~`, `~~a`, `~`, the empty part, `a`
    order = ["1~~", "1~~a", "1~", "1", "1a"]
    assert sorted(["1", "1a", "1~~a", "1~", "1~~"], key=version_key) == order
    assert compare_versions("1.2", "1.10") < 0
    assert compare_versions("1:0.1", "2") > 0
    assert compare_versions("1.0-2", "1.0-10") < 0
    assert compare_versions("1.0a", "1.0+") < 0
    assert compare_versions("1.0", "1.0-0") == 0
    assert compare_versions("1.01", "1.1") == 0
    assert compare_versions("9" * 5000, "1" + "0" * 5000) < 0


@given(VERSIONS, VERSIONS, VERSIONS)
def test_the_order_of_versions_is_an_order(one, two, three):
    assert compare_versions(one, two) == -compare_versions(two, one)
    if compare_versions(one, two) <= 0 and compare_versions(two, three) <= 0:
        assert compare_versions(one, three) <= 0


@given(st.lists(st.dictionaries(NAMES.map(str.lower), st.lists(VALUES, min_size=1), min_size=1), max_size=4))
def test_what_is_written_is_read(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("control") / "Packages"
    text = "\n".join("".join(f"{name}: " + "\n x".join(value) + "\n" for name, value in entry.items()) for entry in content)
    path.write_bytes(text.encode())
    expected = [{name: "\n x".join(value) for name, value in entry.items()} for entry in content]
    assert [paragraph.fields for paragraph in paragraphs(path)] == expected


@given(st.data())
def test_a_changed_file_gives_packages_or_an_error_that_names_a_line(tmp_path_factory, data):
    raw = bytearray(PACKAGES.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 3))] = data.draw(
            st.sampled_from([b"\n", b"\0", b"\xff", b":", b" ", b"\r", b""])
        )
    folder = write_lists(tmp_path_factory.mktemp("lists"), packages="")
    (folder / "x_Packages").write_bytes(bytes(raw))
    assert all(problem == "packages" or "line " in problem for problem in outcome(folder))


def outcome(folder) -> list[str]:
    try:
        assert all(package.name and package.version for package in read_packages(folder))
    except ToolkitError as error:
        return [str(problem) for problem in error.problems] or [error.message]
    return ["packages"]


@pytest.mark.process
def test_the_script_writes_tagged_documents_and_names(tmp_path):
    command = [sys.executable, SCRIPT, write_lists(tmp_path / "lists"), "--to", tmp_path / "out"]
    subprocess.run(command, check=True)
    rows = [json.loads(line) for line in (tmp_path / "out" / "packages.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["ant-counter", "bee-viewer", "moth-lamp"]
    assert rows[1]["title"] == "looks at bees"
    assert rows[1]["tags"] == ["use::viewing", "works-with::insects", "made-in::wood"]
    assert json.loads((tmp_path / "out" / "vocabulary.yaml").read_text())["works-with::insects"] == "Insects and Spiders"
    (tmp_path / "lists" / "deb.example.org_main_binary-amd64_Packages").unlink()
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: {tmp_path / 'lists'} holds no file Packages")
