import hashlib
import json

import pytest

from toolkit import registry
from toolkit.construction.kinds import KINDS, kind_module
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.llm import load_prompt
from toolkit.models.llm.prompts import PROMPTS, slot_problems

SHORT = """
kind: listwise
turns:
  - {role: system, content: "You sort."}
  - {role: user, content: "{count} for {query}:"}
  - each:
      - {role: user, content: "[{number}] {passage}"}
  - {role: user, content: "Sort {count}."}
"""
PASSAGES = [{"number": "1", "passage": "one {query}"}, {"number": "2", "passage": "two"}]
VALUES = {"query": "cats {number}", "count": "2"}


def written(folder, text=SHORT):
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_neighbouring_turns_of_one_role_are_one_and_slots_in_texts_stay(tmp_path):
    prompt = load_prompt(written(tmp_path), "listwise")
    assert prompt.messages(VALUES, PASSAGES) == [
        {"role": "system", "content": "You sort."},
        {"role": "user", "content": "2 for cats {number}:\n[1] one {query}\n[2] two\nSort 2."},
    ]


@pytest.mark.parametrize(("system", "first"), [("merge", "You sort.\n2 for cats {number}:"), ("drop", "2 for cats {number}:")])
def test_a_system_turn_is_merged_or_dropped(tmp_path, system, first):
    (message,) = load_prompt(written(tmp_path), "listwise").messages(VALUES, [], system=system)
    assert message == {"role": "user", "content": f"{first}\nSort 2."}


def test_a_block_of_turns_comes_once_for_every_passage():
    roles = [message["role"] for message in load_prompt("listwise-dialogue.v1", "listwise").messages(VALUES, PASSAGES)]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"]


def test_the_digest_is_of_what_is_sent(tmp_path):
    turns = [
        ["system", "You sort.", False],
        ["user", "{count} for {query}:", False],
        ["user", "[{number}] {passage}", True],
        ["user", "Sort {count}.", False],
    ]
    plain = load_prompt(written(tmp_path), "listwise")
    assert plain.sha256 == hashlib.sha256(json.dumps(turns).encode()).hexdigest()
    assert load_prompt(written(tmp_path, f"# a comment\ndescription: words\n{SHORT}"), "listwise").sha256 == plain.sha256
    assert load_prompt(written(tmp_path, SHORT.replace("sort", "order")), "listwise").sha256 != plain.sha256


def test_metadata_mark_our_prompt_where_a_model_has_its_own(tmp_path):
    ours, theirs = load_prompt("listwise.v1", "listwise"), load_prompt(written(tmp_path), "listwise")
    free = SystemSpec(name="s", description="", kind="listwise")
    trained = SystemSpec(name="s", description="", kind="listwise", parameters={"prompt_source": "there"})
    said = {"prompt_sha256": ours.sha256, "prompt_of": "ours"}
    assert ours.facts(free) == {"prompt": "listwise.v1", **said}
    marked = {"prompt": "ours", "prompt_name": "listwise.v1", "prompt_source": "there", **said}
    assert ours.facts(trained) == marked
    said = {"prompt_sha256": theirs.sha256, "prompt_of": "a file"}
    assert theirs.facts(trained) == {"prompt": "mine.yaml", "prompt_source": "there", **said}


def test_a_prompt_is_shown_with_its_slots(tmp_path):
    assert load_prompt(written(tmp_path), "listwise").show().splitlines() == [
        *("--- system", "You sort.", "", "--- user", "{count} for {query}:", ""),
        *("--- user, once for every passage", "[{number}] {passage}", "", "--- user", "Sort {count}."),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SHORT.replace("listwise", "judge"), "it is of kind judge"),
        (SHORT.replace("{query}", "it"), "slot {query} is missing"),
        (SHORT.replace("{passage}", "it"), "slot {passage} is missing"),
        (SHORT.replace("Sort {count}.", "{question}"), "slot {question} is unknown here"),
        (SHORT.replace("system", "boss"), "a turn is a role (system, user, assistant) and its content, found"),
        (SHORT.replace('"You sort."', "7"), "a turn is a role"),
        (SHORT.replace("role: system,", "role: system, name: me,"), "a turn is a role"),
        ("kind: listwise\nturns: [{each: 5}]", "`each` has a list of turns"),
        ("kind: listwise\nturns: [{each: [], role: user, content: lost}]", "`each` has a list of turns"),
        ("kind: listwise", "it has the keys kind and turns"),
        ("- one", "it has the keys kind and turns"),
        (f"extra: 1\n{SHORT}", "it has the keys kind and turns"),
        ("kind: listwise\nturns: all of them", "slot {query} is missing"),
    ],
)
def test_a_prompt_that_is_none_is_refused_with_what_is_wrong(tmp_path, text, told):
    with pytest.raises(ToolkitError, match=r"mine\.yaml is no prompt of kind listwise") as caught:
        load_prompt(written(tmp_path, text), "listwise")
    assert any(problem.startswith(told) for problem in caught.value.problems), caught.value.problems


def test_an_unknown_prompt_is_answered_with_the_nearest():
    with pytest.raises(ToolkitError, match=r"no prompt 'listwise\.v2'") as caught:
        load_prompt("listwise.v2", "listwise")
    assert caught.value.hint.startswith("did you mean 'listwise.v1'?")


@pytest.mark.parametrize("name", sorted(path.stem for path in PROMPTS.glob("*.yaml")))
def test_every_prompt_of_the_registry_loads(name):
    kind = "judge-stance" if name.startswith("judge-stance") else name.partition("-")[0].partition(".")[0]
    assert load_prompt(name, kind).ours


@pytest.mark.parametrize("kind", ["listwise", "judge", "expander"])
def test_every_system_that_writes_has_a_prompt_of_its_kind(kind):
    systems = [spec for spec in registry.systems().values() if spec.kind == kind]
    assert systems
    for spec in systems:
        if spec.parameters.get("positive") != "entailment":  # a classifier is asked nothing
            assert load_prompt(spec.parameters["prompt"], kind).ours


def test_a_prompt_of_a_build_has_the_slots_that_its_step_fills(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text('kind: build\nturns:\n  - {role: user, content: "{query} {b} {\\"a\\": 1}"}\n')
    prompt = load_prompt(str(path), "build")
    assert prompt.slots == {"query", "b"}
    assert slot_problems(prompt, ["query", "b"]) == []
    assert slot_problems(prompt, ["query", "c"]) == ["slot {c} is missing", "slot {b} is unknown here"]
    path.write_text('kind: build\nturns:\n  - each: [{role: user, content: "{query}"}]\n')
    with pytest.raises(ToolkitError) as caught:
        load_prompt(str(path), "build")
    assert caught.value.problems == ("`each` has no meaning in a build",)


@pytest.mark.parametrize("kind", KINDS)
def test_the_prompts_of_a_kind_fit_its_steps(kind):
    for step in kind_module(kind).STEPS:
        for parameter, slots in step.slots.items():
            if name := step().parameters()[parameter]:
                assert slot_problems(load_prompt(name, "build"), slots) == [], (step.name, name)
