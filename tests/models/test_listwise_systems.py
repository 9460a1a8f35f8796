"""The registry's listwise rerankers, judges and the expander, beside what is known of them (written by hand)."""

import pytest

from toolkit import registry
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic
from toolkit.models.rerankers.listwise_ranker import load_ranker

# name -> checkpoint, revision, loader, prompt, system turn
LISTWISE = {
    "rank-zephyr-7b": ("castorini/rank_zephyr_7b_v1_full", "", "transformers", "listwise.v1", "keep"),
    "rank-vicuna-7b": ("castorini/rank_vicuna_7b_v1", "", "transformers", "listwise.v1", "keep"),
    "zephyr-7b-beta-listwise": ("HuggingFaceH4/zephyr-7b-beta", "", "transformers", "listwise.v1", "keep"),
    "mistral-7b-instruct-v0.2-listwise": (
        *("mistralai/Mistral-7B-Instruct-v0.2", "3ad372fc79158a2148299e3318516c786aeded6c"),
        *("transformers", "listwise.v1", "merge"),
    ),
    "gpt-4o": ("", "", "endpoint", "listwise-dialogue.v1", "keep"),
}
# name -> checkpoint, loader, tokens of an answer, temperature
JUDGES = {
    "true-nli-t5-xxl": ("google/t5_xxl_true_nli_mixture", "transformers", None, None),
    "llama-2-13b-chat-judge": ("", "endpoint", 512, 0.6),
    "llama-2-70b-chat-judge": ("", "endpoint", 512, 0.6),
    "zephyr-7b-beta-judge": ("HuggingFaceH4/zephyr-7b-beta", "transformers", 512, 0.7),
    "gemma-7b-it-judge": ("google/gemma-7b-it", "transformers", 512, 0),
    "mistral-7b-instruct-v0.2-judge": ("mistralai/Mistral-7B-Instruct-v0.2", "transformers", 16, 0),
    "berds-mistral-evaluator": ("timchen0618/Mistral_BERDS_evaluator_full", "transformers", 16, 0),
    "berds-mistral-evaluator-lora": ("timchen0618/Mistral_BERDS_evaluator", "peft", 16, 0),
    "gpt-4-0613-judge": ("", "endpoint", None, None),
    "gpt-4-0613-judge-one-shot": ("", "endpoint", None, None),
}


def of_kind(kind):
    return {name: spec for name, spec in registry.systems().items() if spec.kind == kind}


def test_the_papers_listwise_rerankers_are_all_there():
    found = {
        name: (*(spec.checkpoint, spec.revision, spec.loader, spec.parameters["prompt"]), spec.parameters.get("system", "keep"))
        for name, spec in of_kind("listwise").items()
    }
    assert found == LISTWISE


def test_the_papers_judges_and_expander_are_all_there():
    found = {
        name: (spec.checkpoint, spec.loader, spec.parameters.get("max_tokens"), spec.parameters.get("temperature"))
        for name, spec in of_kind("judge").items()
        if spec.papers
    }
    assert found == JUDGES
    assert list(of_kind("expander")) == ["gpt-4-0613-expander"]


@pytest.mark.parametrize("name", LISTWISE)
def test_the_window_is_that_of_the_papers(name):
    parameters = registry.system(name).parameters
    told = {key: parameters[key] for key in ("window", "step", "passes", "length", "passage_words")}
    assert told == {"window": 20, "step": 10, "passes": 1, "length": 4096, "passage_words": 300}


@pytest.mark.parametrize("name", [name for name in LISTWISE if not name.startswith("mistral")])
def test_infosearch_takes_the_scores_of_the_candidates_and_drops_the_tail(name):
    spec = registry.system(name).with_recipe("infosearch")
    told = {key: spec.parameters[key] for key in ("run", "depth", "scores", "tail", "ids", "titled_passage")}
    assert told == {
        **{"run": "candidates", "depth": 100, "scores": "candidates", "tail": "drop", "ids": "digits"},
        "titled_passage": "Title: {title} Content: {text}",
    }
    # the prompt it was run with is published, and ours is another one
    assert spec.parameters["prompt_source"]


def test_infosearch_ran_all_list_wise_models_under_one_rule():
    specs = [spec for spec in registry.systems().values() if spec.kind == "listwise" and "infosearch" in spec.recipes]
    rules = {tuple(spec.with_recipe("infosearch").parameters[key] for key in ("depth", "scores", "tail")) for spec in specs}
    assert len(specs) == 5
    assert rules == {(100, "candidates", "drop")}


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("rank-zephyr-7b", True),
        ("rank-vicuna-7b", True),
        ("zephyr-7b-beta-listwise", False),
        ("mistral-7b-instruct-v0.2-listwise", False),
        ("gpt-4o", False),
    ],
)
def test_a_model_trained_on_a_prompt_is_marked_when_it_gets_ours(home, name, marked):
    ranker = load_ranker(registry.system(name), loader="endpoint")
    assert (ranker.facts()["prompt"] == "ours") == marked


def test_query_and_instruction_are_joined_by_a_blank():
    topic = Topic("q", "cats for children", query="cats", instruction="for children")
    for name in LISTWISE:
        assert topic_input(registry.system(name).templates, topic).whole == "cats for children"
