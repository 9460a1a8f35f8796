"""Reciprocal rank fusion and min-max, beside a literal computation and Pyserini's own."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run, ScoredDoc
from toolkit.retrieval.fuse import fuse, parse_method

A = Run.from_dict({"q1": {"x": 9.0, "y": 5.0, "z": 1.0}, "q2": {"x": 2.0}}, tag="a", source="a.trec")
B = Run.from_dict({"q1": {"y": 0.9, "w": 0.5}, "q2": {"y": 0.1, "x": 0.1}}, tag="b", source="b.trec")


def rows(run: Run) -> list[ScoredDoc]:
    """The lines in their order."""
    query_ids = [run.query_ids[code] for code in run.queries]
    return list(map(ScoredDoc, query_ids, run.doc_ids.take(run.docs).to_pylist(), run.scores.tolist()))


def literal(runs, give):
    """{query: {document: sum}} of what `give(number of the run, ranking)` says for each ranking, best first."""
    sums = {}
    for number, run in enumerate(runs):
        for query_id, ranking in run.rankings():
            for doc, value in zip(ranking, give(number, ranking), strict=True):
                sums.setdefault(query_id, {}).setdefault(doc.doc_id, []).append(value)
    return {query_id: {doc_id: sum(sorted(values)) for doc_id, values in docs.items()} for query_id, docs in sums.items()}


def test_rrf_worked_out_by_hand():
    # q2 of b: equal scores, so y stands before x, as trec_eval has it
    assert rows(fuse([A, B])) == [
        ("q1", "y", 1 / 62 + 1 / 61),
        ("q1", "x", 1 / 61),
        ("q1", "w", 1 / 62),
        ("q1", "z", 1 / 63),
        ("q2", "x", 1 / 62 + 1 / 61),
        ("q2", "y", 1 / 61),
    ]
    assert fuse([A, B]).tag == "a+b.rrf"
    assert fuse([A, B], tag="mine").tag == "mine"


def test_minmax_worked_out_by_hand():
    # q1 of a: 9, 5, 1 -> 1, 0.5, 0; of b: 0.9, 0.5 -> 1, 0. q2: all scores of a run are equal, each is 1
    assert rows(fuse([A, B], "minmax", weights=(0.25, 2))) == [
        ("q1", "y", 0.125 + 2),
        ("q1", "x", 0.25),
        ("q1", "z", 0.0),
        ("q1", "w", 0.0),
        ("q2", "x", 2.25),
        ("q2", "y", 2.0),
    ]
    assert fuse([A, B], "minmax").to_dict() == fuse([A, B], "minmax", weights=(1, 1)).to_dict()


def test_hits_keep_the_best_of_each_query():
    whole = fuse([A, B])
    assert fuse([A, B], hits=2).to_dict() == {
        query_id: dict(list(docs.items())[:2]) for query_id, docs in whole.to_dict().items()
    }


def test_a_query_that_one_run_lacks_is_ranked_by_the_others_and_said(capsys):
    short = Run.from_dict({"q1": {"x": 1.0}}, source="short.trec")
    fused = fuse([A, short])
    assert fused.to_dict()["q2"] == {"x": 1 / 61}
    assert capsys.readouterr().err == "note: short.trec has no lines for 1 of 2 queries (q2)\n"
    fuse([A, B])
    assert capsys.readouterr().err == ""


def test_equal_sums_rank_by_doc_id_descending_in_what_is_kept():
    # at equal ranks in disjoint runs every pair of documents ties
    runs = [Run.from_dict({"q": {f"{name}{rank}": -rank for rank in range(50)}}) for name in "ab"]
    assert [row.doc_id for row in rows(fuse(runs, hits=3))] == ["b0", "a0", "b1"]


SCORES = st.floats(-1e6, 1e6, width=32)
RUNS = st.lists(
    st.dictionaries(
        st.sampled_from(["1", "2", "10", "q"]), st.dictionaries(st.sampled_from("abcdefghij"), SCORES, min_size=1), min_size=1
    ).map(Run.from_dict),
    min_size=2,
    max_size=4,
)


@given(RUNS, st.randoms(use_true_random=False), st.sampled_from(["rrf", "minmax"]))
def test_the_order_of_runs_queries_and_lines_changes_nothing(runs, random, method):
    weights = [1 + number / 7 for number in range(len(runs))] if method == "minmax" else None
    order = random.sample(range(len(runs)), len(runs))
    shuffled = [Run.from_rows(random.sample(rows(runs[number]), len(runs[number]))) for number in order]
    again = fuse(shuffled, method, weights=weights and [weights[number] for number in order])
    assert rows(again) == rows(fuse(runs, method, weights=weights))


@given(RUNS, st.sampled_from([0, 1, 60, 0.5]))
def test_rrf_is_the_literal_sum(runs, k):
    expected = literal(runs, lambda number, ranking: [1 / (k + rank) for rank in range(1, len(ranking) + 1)])
    assert fuse(runs, k=k).to_dict() == expected


@given(RUNS)
def test_minmax_is_the_literal_sum_and_lies_between_0_and_the_number_of_runs(runs):
    def scaled(number, ranking):
        low, high = min(doc.score for doc in ranking), max(doc.score for doc in ranking)
        return [(doc.score - low) / (high - low) if high > low else 1.0 for doc in ranking]

    fused = fuse(runs, "minmax")
    assert fused.to_dict() == literal(runs, scaled)
    assert all(0 <= score <= len(runs) for score in fused.scores)


@pytest.mark.parametrize("method", ["rrf", "minmax"])
def test_the_same_scores_as_pyserini(method, tmp_path):
    pyserini = pytest.importorskip("pyserini.fusion")
    from pyserini.trectools import TrecRun

    from toolkit.files.formats import write_run

    random = np.random.default_rng(7)
    runs = []
    for number in range(3):
        docs = {f"q{query}": random.choice(500, 100, replace=False) for query in range(20)}
        scores = {
            query_id: {f"d{doc}": score for doc, score in zip(found, random.random(100), strict=True)}
            for query_id, found in docs.items()
        }
        runs.append(Run.from_dict(scores, tag=f"r{number}"))
        write_run(runs[-1], tmp_path / f"{number}.trec")
    theirs = [TrecRun(str(tmp_path / f"{number}.trec")) for number in range(3)]
    merge = pyserini.reciprocal_rank_fusion if method == "rrf" else pyserini.normalize
    merge(theirs, k=1000).save_to_txt(str(tmp_path / "theirs.trec"))
    expected = {}
    for line in (tmp_path / "theirs.trec").read_text().splitlines():
        query_id, _, doc_id, _, score, _ = line.split()
        expected[query_id, doc_id] = pytest.approx(float(score), rel=1e-12)
    assert {(query_id, doc_id): score for query_id, doc_id, score in rows(fuse(runs, method))} == expected


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ([A], {}, "1 run to fuse"),
        ([A, B], {"method": "borda"}, "no fusion method 'borda'"),
        ([A, B], {"hits": 0}, "hits is 0"),
        ([A, B], {"k": -1}, "k is -1"),
        ([A, B], {"k": math.nan}, "k is nan"),
        ([A, B], {"weights": (1, 2)}, "reciprocal rank fusion has no weights"),
        ([A, B], {"method": "minmax", "weights": (1,)}, "1 weights for 2 runs"),
        ([A, B], {"method": "minmax", "weights": (1, -2)}, "a weight is -2"),
        ([A, B], {"method": "minmax", "weights": (1, math.inf)}, "a weight is inf"),
        ([A, Run.from_dict({"q1": {"x": math.nan}})], {}, "score nan of document x"),
        (
            [A, Run.from_rows([("q1", "x", 2), ("q1", "x", 1)], source="c.trec")],
            {},
            "c.trec: document x comes twice in query q1",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(runs, options, message):
    with pytest.raises(ToolkitError, match=message):
        fuse(runs, **options)


def test_methods_are_read_as_they_are_written_on_the_command_line():
    assert parse_method("rrf") == {"method": "rrf", "k": 60}
    assert parse_method("rrf:k=20") == {"method": "rrf", "k": 20}
    assert parse_method("minmax") == {"method": "minmax"}
    assert parse_method("minmax:0.7,0.3") == {"method": "minmax", "weights": (0.7, 0.3)}


@pytest.mark.parametrize(
    "text", ["", "RRF", "borda", "rrf:", "rrf:60", "rrf:k=", "rrf:k=x", "minmax:", "minmax:a,b", "minmax:1,"]
)
def test_what_is_no_method_is_refused(text):
    with pytest.raises(ToolkitError, match="no fusion method"):
        parse_method(text)


def test_permutations_of_three_runs_give_the_same_numbers_to_the_last_bit():
    # the ranks of d6, whose sum depends on the order of the additions
    assert len({sum(order) for order in itertools.permutations((1 / 61, 1 / 62, 1 / 67))}) > 1
    runs = [Run.from_rows([("q", f"d{rank}", -rank) for rank in range(start, start + 60)]) for start in (0, 5, 6)]
    fused = [rows(fuse(list(order))) for order in itertools.permutations(runs)]
    assert all(other == fused[0] for other in fused)
