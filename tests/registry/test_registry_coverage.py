"""What the registry says of the papers' items: each is there once, its command prints what it should, its tests are there."""

import ast
import shlex
from functools import cache
from pathlib import Path

import pytest
import yaml
from command import script, tandem

from toolkit.registry.loader import FOLDER
from toolkit.registry.published.paper_tables import papers
from toolkit.studies.reproduce.table_rows import tables_of

TESTS = Path(__file__).resolve().parents[1]
COVERAGE = yaml.safe_load((FOLDER / "coverage.yaml").read_text(encoding="utf-8"))
ITEMS = [item for items in COVERAGE.values() for item in items]
# a command that shows several items is run once
SHOWN = {}
for each in ITEMS:
    if "command" in each:
        SHOWN.setdefault(each["command"], []).append(each["shows"])
KEYS = {"number", "place", "what", "state", "systems", "command", "shows", "tests", "missing"}
WORKS, PARTIAL = 210, 4  # at least, at most


@cache
def functions(path):
    """The names of a file's functions, but for those that are there under a condition."""
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_item_is_there_once_and_says_what_shows_it():
    assert list(COVERAGE) == ["infosearch", "instructir", "mfollowir", "berds"]
    assert set(COVERAGE) == set(papers())
    assert [item["number"] for item in ITEMS] == list(range(1, 222))
    for item in ITEMS:
        assert item.keys() <= KEYS, item
        assert all(item[name] for name in ("place", "what")), item
        assert ("missing" in item) == (item["state"] in ("partial", "none")), item
        assert ("command" in item or "tests" in item) == (item["state"] in ("works", "partial")), item
        assert ("command" in item) == ("shows" in item), item


def test_most_work_and_few_are_partial():
    counts = {state: sum(item["state"] == state for item in ITEMS) for state in ("works", "partial", "none")}
    assert counts["works"] >= WORKS
    assert counts["partial"] <= PARTIAL
    # what is left names what cannot be had
    assert [item["number"] for item in ITEMS if item["state"] == "partial" and "nobody" not in item["missing"]] == []
    assert sum(counts.values()) == len(ITEMS)


def test_every_test_that_is_named_is_there():
    named = [name.split("::") for item in ITEMS for name in item.get("tests", ())]
    assert [(path, name) for path, name in named if name not in functions(path)] == []


@pytest.mark.parametrize("command", SHOWN, ids=lambda command: command.removeprefix("tandem ").replace(" ", "_"))
def test_a_command_prints_what_the_item_says(command, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, *words = shlex.split(command)
    assert name == "tandem"
    done = tandem(*words, check=True)
    assert [text for text in SHOWN[command] if text not in done.stdout + done.stderr] == []


@pytest.mark.parametrize("paper", COVERAGE)
def test_a_system_that_works_is_a_row_that_the_rehearsal_makes(paper):
    not_made = yaml.safe_load((TESTS / "rehearsal" / "not_made.yaml").read_text(encoding="utf-8"))[paper]
    rows = tables_of(paper).rows
    for item in (item for item in COVERAGE[paper] if item["state"] == "works"):
        for system in item.get("systems", ()):
            own = [row.name for row in rows if row.system.name == system and row.cells]
            assert own, (item["number"], system)
            assert not set(own) & set(not_made), (item["number"], system)


def test_the_page_is_what_the_registry_says():
    assert "coverage.md" not in script("render_docs", "--check").stdout.splitlines()
