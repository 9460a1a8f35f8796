"""MMR against the golden values and by hand."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.files.formats import read_run, write_run
from toolkit.retrieval.diversify import cosines, mmr
from toolkit.retrieval.diversify.mmr import pick

GOLDEN = Path(__file__).parents[2] / "golden" / "mmr"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
LAMBDAS = [float(lam) for lam in EXPECTED["paper"]]


def golden_similarity(query_id, doc_ids):
    with (GOLDEN / "embeddings.csv").open() as file:
        vectors = {row["docid"]: [float(row[f"e{n}"]) for n in range(8)] for row in csv.DictReader(file)}
    return cosines(np.array([vectors[doc_id] for doc_id in doc_ids], np.float32))


def tops(run, depth=10):
    return {query_id: [doc.doc_id for doc in docs[:depth]] for query_id, docs in run.rankings()}


@pytest.mark.parametrize("normalisation", ["paper", "release"])
def test_golden_values(normalisation):
    runs = mmr(read_run(GOLDEN / "run.trec"), golden_similarity, LAMBDAS, normalisation)
    assert {str(lam): tops(run) for lam, run in runs.items()} == EXPECTED[normalisation]


@pytest.mark.parametrize("normalisation", ["paper", "release"])
def test_32_bit_arithmetic_picks_the_same(normalisation):
    run = read_run(GOLDEN / "run.trec")
    largest = max(doc.score for _, docs in run.rankings() for doc in docs)
    for query_id, docs in run.rankings():
        ids = [doc.doc_id for doc in docs]
        scores = np.array([[doc.score for doc in docs]], np.float32)
        relevance = scores / np.float32(largest if normalisation == "paper" else scores.max())
        alike = golden_similarity(query_id, ids)[None]
        for lam in LAMBDAS:
            chosen = pick(relevance, alike, np.array([len(ids)]), lam, given_first=normalisation == "release")
            assert [ids[place] for place in chosen[0, :10]] == EXPECTED[normalisation][str(lam)][query_id]


# q: a and b are the same text; c is unlike both. z has one document
RUN = Run.from_dict({"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "z": {"a": 8.0}}, tag="bm25")
VECTORS = {"a": [1, 0], "b": [1, 0], "c": [0, 1], "d": [1, 1]}


def similarity(query_id, doc_ids):
    return cosines(np.array([VECTORS[doc_id] for doc_id in doc_ids], np.float32))


def picked(**how):
    (run,) = mmr(RUN, similarity, [0.5], **how).values()
    return tops(run)["q"]


def test_picks_by_hand():
    # paper, M = 8: a 0.25; then c 0.125 - 0 beats b 0.1875 - 0.5; then d 0.0625 - 0.354 beats b
    assert picked() == ["a", "c", "d", "b"]
    # M = 1: scores weigh so much that likeness does not count
    assert picked(scale=1) == ["a", "b", "c", "d"]


def test_what_is_below_the_depth_is_kept_behind_or_dropped():
    assert picked(depth=3) == ["a", "c", "b", "d"]
    assert picked(depth=3, tail="drop") == ["a", "c", "b"]


def test_equal_values_go_to_the_earlier_candidate():
    run = Run.from_dict({"q": {"a": 1.0, "b": 1.0, "c": 1.0}})
    # the order of equal scores is by id, descending; all documents are one text
    (diversified,) = mmr(run, lambda query_id, ids: np.ones((len(ids), len(ids))), [0.5]).values()
    assert tops(diversified)["q"] == ["c", "b", "a"]


def test_the_scores_keep_the_order_in_a_file(tmp_path):
    for lam, run in mmr(RUN, similarity, [0.5, 0.99]).items():
        write_run(run, tmp_path / f"{lam}.trec")
        again = read_run(tmp_path / f"{lam}.trec")
        assert tops(again) == tops(run)
        assert again.scores.tolist() == [1, 1 / 2, 1 / 3, 1 / 4, 1]


def test_release_takes_the_first_document_whatever_it_scores():
    run = Run.from_dict({"q": {"a": -1.0, "b": -2.0}})
    with pytest.raises(ToolkitError, match=r"1 questions have no score above 0 \(q\)"):
        mmr(run, similarity, [0.5], "release")
    (diversified,) = mmr(run, similarity, [0.5], "release", scale=2.2).values()
    assert tops(diversified)["q"] == ["a", "b"]


def test_paper_needs_a_score_above_0():
    with pytest.raises(ToolkitError, match="largest score is -1"):
        mmr(Run.from_dict({"q": {"a": -1.0, "b": -2.0}}, tag="dense"), similarity, [0.5])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"lams": [1.5]}, "lambda is 1.5"),
        ({"lams": []}, "no lambda"),
        ({"lams": [0.5, 0.5]}, "comes twice"),
        ({"depth": 0}, "depth is 0"),
        ({"normalisation": "papr"}, "normalisation is 'papr'"),
        ({"tail": "cut"}, "tail is 'cut'"),
        ({"scale": 0}, "scale is 0"),
    ],
)
def test_values_without_meaning(how, message):
    with pytest.raises(ToolkitError, match=message):
        mmr(RUN, similarity, **{"lams": [0.5], **how})


def test_cosine_ignores_length_and_takes_an_empty_vector():
    assert cosines(np.array([[3, 0], [1, 0], [0, 2], [0, 0]], np.float32)).tolist() == [
        [1, 1, 0, 0],
        [1, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 0],
    ]


def naive(relevance, alike, lam):
    """The formula, one candidate at a time."""
    chosen = []
    for _ in relevance:
        left = [place for place in range(len(relevance)) if place not in chosen]
        values = [
            lam * relevance[place] - (1 - lam) * max((alike[place][other] for other in chosen), default=0) for place in left
        ]
        chosen.append(left[values.index(max(values))])
    return chosen


@given(st.integers(0, 10**6), st.lists(st.integers(1, 7), min_size=1, max_size=4), st.sampled_from([0, 0.25, 0.5, 0.75, 1]))
def test_all_questions_at_once_are_each_question_alone(seed, counts, lam):
    random = np.random.default_rng(seed)
    width = max(counts)
    # quarters, so that ties occur and sums are exact
    relevance = random.integers(-4, 5, (len(counts), width)) / 4
    alike = random.integers(-4, 5, (len(counts), width, width)) / 4
    alike = (alike + alike.transpose(0, 2, 1)) / 2
    chosen = pick(relevance, alike, np.array(counts), lam)
    for row, count in enumerate(counts):
        expected = naive(relevance[row, :count].tolist(), alike[row, :count, :count].tolist(), lam)
        assert chosen[row, :count].tolist() == expected


@given(st.lists(st.integers(1, 300), min_size=1, max_size=5), st.integers(1, 40))
def test_every_document_stays_once_in_blocks_of_any_size(lengths, depth):
    run = Run.from_dict({f"q{row}": {f"d{n}": n % 7 + 1 for n in range(length)} for row, length in enumerate(lengths)})
    (diversified,) = mmr(run, lambda query_id, ids: np.eye(len(ids), dtype=np.float32), [1.0], depth=depth).values()
    assert tops(diversified, 300) == tops(run, 300)
    (cut,) = mmr(run, lambda query_id, ids: np.eye(len(ids), dtype=np.float32), [1.0], depth=depth, tail="drop").values()
    assert tops(cut, 300) == tops(run, depth)
