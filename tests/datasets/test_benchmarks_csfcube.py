"""CSFCube: a paper under several facets, two folds, and the authors' protocol."""

import json
import math

import pytest

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.datasets.group_data import totals
from toolkit.datasets.layouts import csfcube
from toolkit.evaluation import evaluate

PAPERS = [{"paper_id": str(n), "title": f"title {n}", "abstract": [f"First {n}.", "Second."]} for n in range(1, 8)]
# facet -> query paper -> candidates and labels
JUDGED = {
    "background": {"1": {"3": 3, "4": 0}, "2": {"4": 2, "2": 3}},
    "method": {"1": {"3": 0, "4": 2}, "5": {"6": 1, "7": 2}},
    "result": {"5": {"6": 3, "7": 0}, "2": {"4": 2, "3": 1}},
}
ANNOTATIONS = "test-pid2anns-csfcube"
FOLDS = {"fold1_test": ("1", "5"), "fold2_test": ("2",)}


def write(folder, labels="relevance_adju", papers=PAPERS):
    folder.mkdir(exist_ok=True)
    (folder / "abstracts-csfcube-preds.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    splits = {}
    for facet, queries in JUDGED.items():
        rows = {query: {"cands": list(pool), labels: list(pool.values())} for query, pool in queries.items()}
        (folder / f"test-pid2anns-csfcube-{facet}.json").write_text(json.dumps(rows))
        splits[facet] = {fold: [f"{q}_{facet}" for q in of if q in queries] for fold, of in FOLDS.items()}
    (folder / "evaluation_splits.json").write_text(json.dumps(splits))
    return folder


def read(folder, group="fold1"):
    spec = registry.benchmark("csfcube")
    return csfcube.read(folder, spec, spec.group(group))


def test_a_paper_is_a_core_query_and_its_facets_are_modes(tmp_path):
    part = read(write(tmp_path / "CSFCube"))
    topics = {mode: [topic.query_id for topic in topics] for mode, topics in part.topics.items()}
    assert topics == {"background": ["1-background"], "method": ["1-method", "5-method"], "result": ["5-result"]}
    topic = part.topics["method"][0]
    assert (topic.group_id, topic.original_id, topic.query) == ("1", "1_method", "title 1 First 1. Second.")
    assert topic.text == f"{topic.query} {csfcube.FACETS['method']}"
    assert part.scoreddocs["method"].to_dict()["5-method"] == {"6": 1.0, "7": 0.5}
    assert totals(part) == {"queries": 4, "qrels": 5, "documents": 7}


def test_the_second_fold_shares_the_corpus_and_a_paper_in_its_own_pool_stays(tmp_path):
    part = read(write(tmp_path / "CSFCube"), "fold2")
    assert part.docs is None
    assert part.notes == ("fold2: paper 2 is in its own pool for background; it stays, as in the authors' evaluation",)


def test_the_average_is_the_mean_of_the_folds_and_all_that_of_all_facets(home, tmp_path):
    datasets.take("csfcube", write(tmp_path / "CSFCube").parent)
    run = datasets.load("csfcube").scoreddocs
    runs = [run(group, facet) for group in ("fold1", "fold2") for facet in JUDGED if run(group, facet).query_ids]
    from toolkit.core.runs import join_runs

    scores = evaluate(join_runs(runs, source="pool"), benchmark="csfcube")
    found = {(row.group, row.mode): row.value for row in scores.rows if row.measure == "nDCG_JK"}
    # ranks 1 and 2 count in full, so of two documents every order is ideal
    assert set(found.values()) == {1}
    found = {(row.group, row.mode): row.value for row in scores.rows if row.measure == "LastRelevantP(rel=2)"}
    # fold 1: 3 first of background; method: 4 second, 7 second; result: 6 first. fold 2: both of background; 4 first of result
    assert found["fold1", "method"] == 1 / 2
    assert found["fold1", "all"] == (1 + 1 / 2 + 1 / 2 + 1) / 4
    assert found["fold2", "all"] == 1
    assert found["average", "all"] == (3 / 4 + 1) / 2
    assert found["average", "background"] == 1
    usual = evaluate(join_runs(runs, source="pool"), benchmark="csfcube", measures=["nDCG@20"])
    value = next(row.value for row in usual.rows if (row.group, row.mode) == ("fold2", "background"))
    assert value == pytest.approx((2 + 3 / math.log2(3)) / (3 + 2 / math.log2(3)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": "max"}, f"{ANNOTATIONS}-background.json, entry '1': expected 2 labels from 0 to 3 in 'relevance_adju'"),
        ({"papers": PAPERS[:5]}, f"{ANNOTATIONS}-method.json, entry '5': unknown document 6"),
        ({"papers": PAPERS[1:]}, "evaluation_splits.json, entry 'background': paper 1 is not in abstracts-csfcube-preds"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_named(tmp_path, changes, message):
    folder = write(tmp_path / "CSFCube", **changes)
    with pytest.raises(ToolkitError) as caught:
        read(folder)
    assert f"{folder}/{message}" in caught.value.problems
