"""Models of MTEB's registry as systems, and scores in its form; the models are its own random baselines."""

import json
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
import pytest
from command import tandem

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.core.templates import Input
from toolkit.datasets import resolve_topics
from toolkit.models import choose_system

absent = pytest.mark.skipif(find_spec("mteb") is None, reason="mteb is not installed")  # importing it takes seconds
pytestmark = [pytest.mark.model, absent]
NAME, CROSS = "mteb:mteb/baseline-random-encoder", "mteb:mteb/baseline-random-cross-encoder"
TOPICS = "infosearch-mini-audience"


def test_a_model_is_known_by_name_revision_and_version():
    spec = choose_system(NAME)
    assert (spec.name, spec.kind, spec.parameters) == ("mteb-mteb-baseline-random-encoder", "dense", {"similarity": "cos"})
    assert spec.revision.endswith(f"mteb-{version('mteb')}-mteb/baseline-random-encoder-2")
    assert choose_system(CROSS).kind == "cross-encoder"


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("mteb:mteb/baseline-random-encodr", None, "no model 'mteb/baseline-random-encodr'"),
        ("mteb:mteb/baseline-bm25s", None, "is of MTEB's kind"),
        (CROSS, "dense", "is of kind cross-encoder, not dense"),
    ],
)
def test_what_cannot_be_used_is_refused(name, kind, said):
    with pytest.raises(ToolkitError, match=said):
        choose_system(name, kind=kind)


def test_models_are_given_what_mteb_gives_them(monkeypatch):
    from toolkit.models.encoders import load_encoder

    spec, seen = choose_system(NAME), []

    class Model:
        def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type, **how):
            seen.append((str(prompt_type.value), task_metadata.type, list(inputs)))
            return np.ones((len(inputs.dataset), 3))

    spec.instance._model = Model()
    encoder = load_encoder(spec, batch_size=8)
    seen.clear()
    assert encoder.encode([Input("", "b"), Input("", "a"), Input("", "b")], "passage").shape == (3, 3)
    assert seen == [("document", "Retrieval", [{"text": ["b", "a"], "body": ["b", "a"], "title": ["", ""]}])]
    encoder.encode([Input("", "q")], "query")
    assert seen[1] == ("query", "Retrieval", [{"text": ["q"], "query": ["q"]}])


def test_models_search_and_rerank_with_a_record(tmp_path):
    how = ("--topics", TOPICS, "--hits", "5")
    tandem("search", *how, "--system", NAME, "--output", "a.trec", cwd=tmp_path, check=True)
    tandem("rerank", "--run", "a.trec", "--system", CROSS, "--output", "b.trec", cwd=tmp_path, check=True)
    record = (tmp_path / "b.trec.yaml").read_text()
    assert "mteb-mteb-baseline-random-encoder" in record
    assert f"mteb-{version('mteb')}-mteb/baseline-random-cross-encoder-" in record
    assert len((tmp_path / "b.trec").read_text().splitlines()) == len(resolve_topics(TOPICS).topics) * 5


def test_scores_are_a_task_result(tmp_path):
    from mteb.results import TaskResult

    from tandem_ir.mteb import task_result

    tandem_ir.search("infosearch-mini", system="bm25", recipe="infosearch", output=tmp_path / "r.trec")
    written = ("--format", "mteb", "--output", "r.json")
    tandem("evaluate", "r.trec", "--benchmark", "infosearch-mini", *written, cwd=tmp_path, check=True)
    result = TaskResult.from_disk(tmp_path / "r.json")
    scores = tandem_ir.evaluate(str(tmp_path / "r.trec"), benchmark="infosearch-mini")
    assert (result.task_name, result.eval_splits) == ("infosearch-mini", ["test"])
    assert set(result.hf_subsets) == set(tandem_ir.load("infosearch-mini").groups)
    [audience] = [each for each in result.scores["test"] if each["hf_subset"] == "audience"]
    assert audience["pMRR"] == scores.value("pMRR", group="audience")
    assert audience["nDCG@10 rev"] == scores.value("nDCG@10", mode="rev", group="audience")
    assert audience["main_score"] == audience["nDCG@10 ori"]
    assert result.get_score() == pytest.approx(scores.value("nDCG@10", mode="ori"))
    assert task_result(scores, "infosearch-mini").scores == result.scores
    assert json.loads((tmp_path / "r.json").read_text())["mteb_version"] == version("mteb")


def test_a_task_result_is_of_one_run():
    from tandem_ir.mteb import task_result

    run = {"audience-001-1-ins": {"audience-021": 1.0}}
    scores = tandem_ir.evaluate({"a": run, "b": run}, benchmark="infosearch-mini-audience-ins", measures=["nDCG@10"])
    with pytest.raises(ToolkitError, match="of one run, not of 2"):
        task_result(scores, "infosearch-mini-audience-ins")
