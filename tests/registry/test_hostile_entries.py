"""Entries of the user's own that cannot be right: one line each, nothing outside TANDEM_HOME, nothing that a terminal obeys."""

import copy
import os
import re

import pytest
import yaml
from command import tandem
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER

SHOWN = {
    "benchmarks": (["list"], ["show", "mine"], ["show", "mine", "--stats"], ["fetch", "mine", "--from", "."]),
    "systems": (["list"], ["show", "mine"]),
    "regressions": (["list"], ["show", "mine"], ["cite", "mine"]),
}
COMMAND = {"benchmarks": "benchmarks", "systems": "systems", "regressions": "regress"}
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
# the largest have nothing that the others lack
ENTRIES = {
    kind: [
        entry
        for path in sorted((FOLDER / kind).glob("*.yaml"))
        if path.stat().st_size < 9_000
        for content in [read_yaml(path)]
        for entry in (content if isinstance(content, list) else [content])
    ]
    for kind in SHOWN
}
HOSTILE = st.sampled_from(
    [
        *("../../x", "..", "/etc/passwd", "\x1b[31mred", "a\0b", "", "\u202e", "x" * 5_000, "{nope}", "nDCG@", "rrf:k=x"),
        *(None, True, -1, 0, 1.5, 10**30, float("inf"), float("nan"), [], {}, ["a"], [["a"]], {"a": {"b": [1]}}),
    ]
)


def places(value, place=()):
    """Where something stands in an entry: the keys and numbers that lead there."""
    found = [place] if place else []
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found += places(value[key], (*place, key))
    return found


@st.composite
def mutated(draw):
    """A shipped entry, called `mine`, in which one thing or two is another one, gone, or under another key."""
    kind = draw(st.sampled_from(sorted(SHOWN)))
    entry = copy.deepcopy(draw(st.sampled_from(ENTRIES[kind]))) | {"name": "mine"}
    for _ in range(draw(st.integers(1, 2))):
        *way, last = draw(st.sampled_from([place for place in places(entry) if place != ("name",)]))
        holder = entry
        for key in way:
            holder = holder[key]
        change = draw(st.sampled_from(["other", "other", "gone", "key"]))
        if change == "other" or (change == "key" and isinstance(holder, list)):
            holder[last] = copy.deepcopy(draw(HOSTILE))  # or it comes to hold itself
        else:
            value = holder.pop(last)
            if change == "key":
                holder[draw(st.sampled_from(["x", "../y", 3, None, "\x1b"]))] = value
    return kind, entry


@given(mutated())
def test_an_entry_that_was_mutated_is_shown_or_refused_in_a_line(tmp_path_factory, case):
    kind, entry = case
    folder = tmp_path_factory.mktemp("home")
    home = folder / "home"
    (home / "registry" / kind).mkdir(parents=True)
    (home / "registry" / kind / "mine.yaml").write_text(yaml.safe_dump(entry, allow_unicode=True), encoding="utf-8")
    for words in SHOWN[kind]:
        done = tandem(COMMAND[kind], *words, env=dict(os.environ, TANDEM_HOME=str(home)), cwd=folder, text=False)
        assert done.returncode in (0, 1, 2), (words, entry)
        assert done.returncode == 0 or done.stderr.startswith((b"error: ", b"note: ", b"warning: ")), (words, entry)
        assert not CONTROL.search(done.stdout + done.stderr), (words, entry)
    assert [path.name for path in folder.iterdir()] == ["home"]


def registered(home, kind, shipped, /, **changes):
    entry = next(entry for entry in ENTRIES[kind] if entry["name"] == shipped)
    path = home / "registry" / kind / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump(copy.deepcopy(entry) | {"name": "mine"} | changes), encoding="utf-8")
    return dict(os.environ, TANDEM_HOME=str(home))


def test_a_paper_may_print_measures_that_an_entry_does_not_have(tmp_path):
    env = registered(tmp_path / "home", "regressions", "infosearch.bm25.v1", measures=["RR@1"])
    done = tandem("regress", "show", "mine", env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("group", "problem"),
    [
        ({"revision": "../../../x"}, "'../../../x' is no revision (letters, digits and . _ -)"),
        ({"repository": ".."}, "'..' is no id of a repository (owner/name)"),
        ({"subset": "a/../../b"}, "'a/../../b' is no name of a subset (letters, digits and . _ -)"),
        ({"revision": 7}, "key 'groups', 1, 'revision': expected text, found 7"),
        ({"counts": {"queries": "many"}}, "key 'groups', 1, 'counts', 'queries': expected a whole number, found 'many'"),
        ({"name": "\x1b[2J"}, "key 'groups' holds the character '\\x1b'"),
    ],
)
def test_what_becomes_part_of_a_path_or_reaches_a_terminal_is_checked(tmp_path, group, problem):
    plain = {"name": "a", "repository": "me/mine", "revision": "main", "language": "en"}
    env = registered(tmp_path, "benchmarks", "nevir", groups=[plain | group])
    done = tandem("benchmarks", "show", "mine", env=env)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "\x1b" not in done.stderr


def test_a_mode_is_no_part_of_a_path(tmp_path):
    done = tandem("benchmarks", "show", "mine", env=registered(tmp_path, "benchmarks", "nevir", modes={"../../x": "base"}))
    assert done.returncode == 2
    assert "modes: '../../x' is no name" in done.stderr


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"commands": ["tandem search"]}, "regression mine has 1 commands"),
        ({"name": "a/mine"}, "regression a/mine: its id or its baseline is a path"),
        ({"system": {"name": "bm25"}}, "regression mine lacks system: parameters"),
        ({"expected": {"all": {"nDCG@10": {"ori": "high"}}}}, "'ori': expected a number, found 'high'"),
    ],
)
def test_a_registered_run_that_cannot_be_made_again_is_refused(tmp_path, changes, problem):
    env = registered(tmp_path, "regressions", "berds-mini.bm25.v2", **changes)
    done = tandem("regress", "show", changes.get("name", "mine"), env=env)
    assert done.returncode == 2
    assert problem in done.stderr
