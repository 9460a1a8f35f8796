"""Searches that may find given documents only: the scores stay those of the whole search."""

import random

import numpy as np
import pytest
import yaml
from command import tandem

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.system.files import shipped
from toolkit.core.topics import Topic
from toolkit.datasets import load, resolve_topics
from toolkit.files.formats import read_run, write_run
from toolkit.jobs.search_jobs import search_job, search_name
from toolkit.models.lucene import anserini
from toolkit.retrieval.search.candidates import among

TOPICS = resolve_topics("mfollowir-mini-rus").topics
INDEX = shipped("indexes", "lucene", "mfollowir-mini-rus")
EVERYTHING = 1000


def some(topics, doc_ids, count, seed=1):
    """As many of the documents for each topic."""
    drawn = random.Random(seed)
    return {topic.query_id: drawn.sample(sorted(doc_ids), count) for topic in topics}


def kept(run, candidates):
    """(document, score) of each query in the order of the lines, the candidates alone."""
    docs, found = run.doc_ids.to_pylist(), {}
    for query, doc, score in zip(run.queries.tolist(), run.docs.tolist(), run.scores.tolist(), strict=True):
        query_id = run.query_ids[query]
        if docs[doc] in candidates[query_id]:
            found.setdefault(query_id, []).append((docs[doc], score))
    return found


@pytest.mark.lucene
@pytest.mark.parametrize("rm3", [False, True])
def test_lucenes_scores_and_order_are_those_of_the_whole_search(monkeypatch, rm3):
    # the steps of 1e-6 that make ties strict are among those that are listed: here they are left out
    monkeypatch.setattr(anserini, "strict_scores", lambda rankings: [np.array(scores, np.float32) for scores in rankings])
    candidates = some(TOPICS, [doc.doc_id for doc in load("mfollowir-mini").docs("rus")], 30)
    searcher = anserini.Searcher(INDEX, rm3=rm3, language="ru")
    whole = searcher.search(TOPICS, hits=EVERYTHING)
    found = searcher.search(TOPICS, hits=EVERYTHING, threads=2, candidates=candidates)
    assert kept(found, candidates) == kept(whole, candidates)
    assert 0 < len(found) < len(whole)


@pytest.mark.lucene
def test_the_same_text_is_searched_anew_for_other_candidates_and_hits_count_among_them():
    docs = [doc.doc_id for doc in load("mfollowir-mini").docs("rus")]
    whole = anserini.Searcher(INDEX, language="ru").search([Topic("q", TOPICS[0].text)], hits=EVERYTHING)
    first, second, third, *_ = [doc.doc_id for doc in next(whole.rankings())[1]]
    topics = [Topic(name, TOPICS[0].text) for name in ("a", "b", "c")]
    candidates = {"a": [third, first], "b": [second], "c": docs}
    run = anserini.Searcher(INDEX, language="ru").search(topics, hits=2, candidates=candidates)
    assert {query: [doc.doc_id for doc in docs] for query, docs in run.rankings()} == {
        "a": [first, third],
        "b": [second],
        "c": [first, second],
    }


@pytest.mark.lucene
def test_candidates_that_the_index_lacks_are_counted(capsys):
    here = next(load("mfollowir-mini").docs("rus")).doc_id
    candidates = {topic.query_id: ["nowhere", "neither", here] for topic in TOPICS}
    anserini.Searcher(INDEX, language="ru").search(TOPICS, candidates=candidates)
    assert capsys.readouterr().err == f"note: {INDEX} lacks {2 * len(TOPICS)} of {3 * len(TOPICS)} candidates\n"


def test_what_a_search_of_everything_has_of_the_candidates(capsys):
    run = Run.from_dict({"a": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "b": {"d1": 1.0}})
    left = among(run, {"a": ["d3", "d1", "gone"], "b": ["d2"]})
    assert left.to_dict() == {"a": {"d1": 3.0, "d3": 1.0}, "b": {}}
    assert "note: the collection lacks 1 of 4 candidates" in capsys.readouterr().err


@pytest.mark.lucene
def test_the_command_takes_the_benchmarks_candidates_and_says_so(tmp_path):
    done = tandem("search", "--topics", "mfollowir-mini-rus-og", "--candidates", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "runs" / "run.mfollowir-mini-rus-og.mfollowir-mini.bm25.candidates.trec"
    metadata = yaml.safe_load(path.with_name(path.name + ".yaml").read_text())
    theirs = load("mfollowir-mini").scoreddocs("rus", "og")
    assert metadata["method"]["candidates"] == {
        "of": "mfollowir-mini",
        "queries": len(resolve_topics("mfollowir-mini-rus-og").topics),
        "lines": len(theirs),
    }
    candidates = {query: {doc.doc_id for doc in docs} for query, docs in theirs.rankings()}
    run = read_run(path)
    whole = tandem_ir.search("mfollowir-mini-rus-og", hits=EVERYTHING)
    wanted = {query: [doc.doc_id for doc in docs if doc.doc_id in candidates[query]] for query, docs in whole.rankings()}
    assert {query: [doc.doc_id for doc in docs] for query, docs in run.rankings()} == wanted


def test_topics_without_candidates_are_named(tmp_path):
    first = TOPICS[0].query_id
    write_run(Run.from_dict({first: {"rus-d01": 1.0}}, tag="few"), tmp_path / "few.trec")
    with pytest.raises(ToolkitError) as caught:
        search_job("mfollowir-mini-rus", candidates=tmp_path / "few.trec")
    assert caught.value.message.startswith(f"{tmp_path / 'few.trec'} has no candidates for {len(TOPICS) - 1} of {len(TOPICS)} ")
    with pytest.raises(ToolkitError, match="infosearch-mini has no candidates on this machine"):
        search_job("infosearch-mini", candidates="candidates")


def test_a_dry_run_and_the_name_say_which_candidates(tmp_path):
    write_run(Run.from_dict({topic.query_id: {"rus-d01": 1.0} for topic in TOPICS}, tag="few"), tmp_path / "few.trec.gz")
    job = search_job("mfollowir-mini-rus", candidates=tmp_path / "few.trec.gz")
    assert f"only the {len(TOPICS)} candidates-few of {len(TOPICS)} queries are searched" in job.describe()
    assert search_name(job) == "run.mfollowir-mini-rus.mfollowir-mini.bm25.candidates-few.trec"


@pytest.mark.lucene
@pytest.mark.parametrize("recipe", ["infosearch", "instructir"])
def test_the_recipes_of_bm25_know_candidates_too(tmp_path, recipe):
    topics = resolve_topics("infosearch-mini-audience-ori").topics
    candidates = some(topics, [doc.doc_id for doc in load("infosearch-mini").docs("audience")], 12)
    rows = [(query, doc, 1.0) for query, docs in candidates.items() for doc in docs]
    write_run(Run.from_rows(rows, tag="few"), tmp_path / "few.trec")
    whole = tandem_ir.search("infosearch-mini-audience-ori", recipe=recipe)
    found = tandem_ir.search("infosearch-mini-audience-ori", recipe=recipe, candidates=tmp_path / "few.trec")

    def rounded(its):
        """Fields are rounded as Anserini's runs are: ties become strict among those that are listed."""
        lists = kept(its, candidates)
        return {query: [(doc, pytest.approx(score, abs=1e-5)) for doc, score in docs] for query, docs in lists.items()}

    assert kept(found, candidates) == rounded(whole)
    assert 0 < len(found) < len(whole)
