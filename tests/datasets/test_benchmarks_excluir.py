"""ExcluIR in both spellings of its columns, and the pairs of the hub's copy."""

import json

import pytest

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.datasets.group_data import counts
from toolkit.datasets.layouts import excluir
from toolkit.evaluation import evaluate

TEXTS = ["about cats", "about dogs", "about birds"]
SPELLINGS = [("ExcluQ", "index"), ("RQ_rewrite", "corpus_sub_index")]


def write(folder, spelling=SPELLINGS[0], **changes):
    """Two questions: 0 wants document 1 and excludes 0; 1 wants document 2 and excludes 1."""
    question, places = spelling
    rows = [
        {"question0": f"pets {n}?", question: f"pets {n}, but not {TEXTS[n]}?", places: [n, n + 1]} | changes for n in (0, 1)
    ]
    data = folder / "src" / "data"
    data.mkdir(parents=True)
    (data / "corpus.json").write_text(json.dumps(TEXTS))
    (data / "test_manual_final.json").write_text(json.dumps(rows))
    return folder


def read(folder, group="test"):
    spec = registry.benchmark("excluir")
    return excluir.read(excluir.find(folder, spec.group(group)), spec, spec.group(group))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_excluded_document_is_judged_0_and_without_exclusion_1(tmp_path, spelling):
    part = read(write(tmp_path, spelling))
    assert counts(part) == {"cores": 2, "queries": 2, "documents": 3}
    topic = part.topics["exclude"][0]
    assert (topic.query_id, topic.text) == ("test-0-exclude", "pets 0, but not about cats?")
    judged = {mode: [(row.query_id, row.doc_id, row.relevance) for row in qrels] for mode, qrels in part.qrels.items()}
    assert judged["exclude"][:2] == [("test-0-exclude", "1", 1), ("test-0-exclude", "0", 0)]
    assert judged["base"][:2] == [("test-0-base", "1", 1), ("test-0-base", "0", 1)]


def test_without_the_original_question_there_is_no_base_mode(tmp_path):
    part = read(write(tmp_path, question0=None))
    assert (len(part.topics["base"]), len(part.topics["exclude"])) == (0, 2)
    assert part.notes == ("test: 2 questions have no question0: they have no mode base",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"index": [0, 3]}, "expected the places of two documents in index or corpus_sub_index, found [0, 3]"),
        ({"index": [1, 1]}, "expected the places of two documents in index or corpus_sub_index, found [1, 1]"),
        ({"ExcluQ": " "}, "question 0 has no text"),
    ],
)
def test_what_cannot_be_right_is_named(tmp_path, changes, message):
    with pytest.raises(ToolkitError) as caught:
        read(write(tmp_path, **changes))
    assert f"{tmp_path}/src/data/test_manual_final.json, entry 1: {message}" in caught.value.problems


def test_the_papers_measures_are_the_default_table(home, tmp_path):
    datasets.take("excluir", write(tmp_path), ("test",))
    orders = {"test-0-base": "10", "test-1-base": "12", "test-0-exclude": "012", "test-1-exclude": "201"}
    run = Run.from_dict({query: {doc: -float(rank) for rank, doc in enumerate(docs)} for query, docs in orders.items()})
    scores = evaluate(run, benchmark="excluir").rows
    found = {row.measure: row.value for row in scores if row.mode == "exclude"}
    # question 0 has the excluded document first and the wanted one second; 1 the wanted one first, the excluded one third
    assert found == {
        "R@1": 1 / 2,
        "RR@10": (1 / 2 + 1) / 2,
        "DeltaR@1": (-1 + 1) / 2,
        "DeltaRR@10": pytest.approx((-1 / 2 + 2 / 3) / 2),
        "RightRank@10": 1 / 2,
    }
    assert {row.measure: row.value for row in scores if row.mode == "base"}["R@1"] == 1 / 2  # one of two relevant ones


def test_the_hubs_pairs_have_a_corpus_of_their_own_documents(tmp_path):
    rows = [
        {"query": "no cats", "doc_pos": "dogs", "doc_neg": "cats"},
        {"query": "no dogs", "doc_pos": "cats", "doc_neg": "dogs"},
    ]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    part = read(tmp_path, "pairs")
    assert counts(part) == {"cores": 2, "queries": 2, "documents": 2}
    judged = [(row.query_id, row.doc_id, row.relevance) for row in part.qrels["exclude"]]
    assert judged[2:] == [("pairs-1-exclude", "d1", 1), ("pairs-1-exclude", "d0", 0)]
