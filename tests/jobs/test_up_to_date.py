"""Whether a run that is there is the one that a job would make."""

import json

import pytest
from endpoint import Script, serving
from published_layout import write_infosearch

from toolkit import datasets
from toolkit.jobs import search_job
from toolkit.jobs.search_jobs import rerank_job
from toolkit.retrieval.rerank import Rerank
from toolkit.studies.planned_rows import why_outdated

pytestmark = pytest.mark.lucene


def test_topics_without_documents_of_their_own_are_searched_in_a_named_index_once(home, tmp_path):
    question = {"id": "1", "question": "Should zoos exist?", "perspectives": ["Zoos should exist.", "No zoo should exist."]}
    (tmp_path / "kialo.dev.jsonl").write_text(json.dumps(question) + "\n")
    datasets.take("berds", tmp_path)
    run = tmp_path / "bm25.trec"

    def job(index):
        return search_job("berds-kialo-dev", index=index, output=run)

    assert why_outdated(job("berds-mini-dev"), run) == "not there yet"
    job("berds-mini-dev").make()
    assert why_outdated(job("berds-mini-dev"), run) == ""
    assert why_outdated(job("infosearch-mini-audience"), run) == "searched in another index"


def test_a_prompt_of_ours_in_the_place_of_one_that_was_not_published_is_the_same_one(home, tmp_path, monkeypatch):
    datasets.take("infosearch", write_infosearch(tmp_path / "copy", with_candidates=True))
    run = tmp_path / "gpt-4o.trec"

    def job(recipe="infosearch"):
        return rerank_job("candidates", Rerank("gpt-4o", recipe=recipe), topics="infosearch-audience", output=run)

    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with serving(Script(lambda messages: "[2] > [1]")) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        job().make()
    assert why_outdated(job(), run) == ""
    assert why_outdated(job(None), run).startswith("gpt-4o: template digest was ")
