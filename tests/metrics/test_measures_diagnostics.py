"""What the notes say, and when they say nothing."""

import pytest

from toolkit import metrics
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run

MODES = ("ori", "ins", "rev")
# of `g` and `n` both are relevant in the original, `g` alone under the instruction
LABELS = {"ori": {"g": 1, "n": 1}, "ins": {"g": 1, "n": 0}, "rev": {"g": 0, "n": 1}}
SCORES = {"g": 3.0000001, "n": 2.1234567, "x": 1.7654321}


def qrels(*bases, **labels):
    return Qrels.from_rows(
        Qrel(f"{base}-{mode}", doc, label)
        for base in bases
        for mode in MODES
        for doc, label in (labels or LABELS)[mode].items()
    )


def run(*bases, **changed):
    """Every query with `SCORES`, a little different in each, apart from what is changed; None takes a query out."""
    made = {}
    for place, base in enumerate(bases):
        for mode in MODES:
            made[f"{base}-{mode}"] = {doc: score + place * 0.1234567 + len(mode) * 0.01 for doc, score in SCORES.items()}
    made |= {name.replace("_", "-"): docs for name, docs in changed.items()}
    return Run.from_dict({query_id: docs for query_id, docs in made.items() if docs})


def test_nothing_odd_says_nothing():
    assert metrics.notes(run("a", "b"), qrels("a", "b")) == []


def test_absent_queries_are_counted_by_mode_and_named():
    found = metrics.findings(run("a", "b", "c", a_ins=None, b_ins=None, c_rev=None), qrels("a", "b", "c"))
    assert {mode: counts.absent for mode, counts in found.modes.items()} == {"ori": (), "ins": ("a", "b"), "rev": ("c",)}
    assert metrics.describe(found) == [
        "2 queries (a, b) of 3 absent from the run in mode ins: counted with the worst value",
        "1 query (c) of 3 absent from the run in mode rev: counted with the worst value",
    ]
    assert metrics.describe(found, missing="skip")[1].endswith("in mode rev: left out")


def test_missing_gold_documents_and_unequal_depths():
    changed = {"n": 2.1, "x": 1.0}
    found = metrics.findings(run("a", "b", a_ins=changed, b_ins=changed), qrels("a", "b"))
    counts = found.modes["ins"]
    assert (counts.gold, counts.missing_gold, counts.depth) == (2, 2, (2, 2))
    assert metrics.describe(found, measures=["WISE"]) == [
        "gold documents missing, ranked below the last: 2 (ins) of 2",
        "the modes have different depths (ori 3, ins 2, rev 3): the rank of a missing document depends on it",
    ]
    assert len(metrics.describe(found, measures=["nDCG@10"])) == 1


def test_ties_are_those_of_32_bit_scores():
    tied = {"g": 2.0, "x": 2.0 + 1e-9, "n": 1.0}
    unjudged = {"g": 2.0, "n": 1.5, "x": 1.0, "y": 1.0}
    found = metrics.findings(run("a", "b", a_ori=tied, b_ori=unjudged), qrels("a", "b"))
    assert (found.tied_queries, found.tied_judged) == (2, 1)
    line = "a judged document's score equals another's in 1 query (of 2 with equal scores): ordered by document id, descending"
    assert line in metrics.describe(found)


def test_scores_with_few_digits_are_told_where_sicr_is():
    # ori 1.234, ins 1.235: one step apart; rev 1.2 is not
    coarse = {
        f"{base}_{mode}": {"g": score, "n": 1.1}
        for base in "ab"
        for mode, score in zip(MODES, (1.234, 1.235, 1.2), strict=True)
    }
    coarse["b_rev"] = {"g": 1.19, "n": 1.1}
    found = metrics.findings(run("a", "b", **coarse), qrels("a", "b"))
    assert (found.decimals, found.close, found.comparisons) == (3, 2, 4)
    line = "scores have 3 digits after the point: 2 of 4 comparisons of SICR are within one step of the last"
    assert metrics.describe(found, measures=["SICR"]) == [line]
    assert metrics.describe(found, measures=["WISE"]) == []


@pytest.mark.parametrize("score", [lambda rank, depth: 1 / rank, lambda rank, depth: depth - rank])
def test_ranks_for_scores_are_told_whatever_the_depth(score):
    ranked = {
        q: {d: score(i + 1, len(docs)) for i, d in enumerate(docs)}
        for q, docs in (("a-ori", "gnx"), ("a-ins", "ngxy"), ("a-rev", "ng"))
    }
    found = metrics.findings(Run.from_dict(ranked), qrels("a"))
    assert found.rank_only
    assert "every query has the same score at the same rank: SICR compares ranks, not scores" in metrics.describe(found)
    assert not metrics.findings(run("a", "b"), qrels("a", "b")).rank_only


def test_queries_that_a_measure_leaves_out_are_named():
    same = {mode: {"g": 1, "n": 1} for mode in MODES}
    other = {"ori": {"g": 1}, "ins": {"g": 0}, "rev": {"g": 1}}
    judged = Qrels.from_rows([*qrels("a", **same), *qrels("b", **other), Qrel("c-ori", "g", 1)])
    found = metrics.findings(run("a", "b", "c"), judged)
    assert (found.without_negatives, found.without_gold, found.unpaired, found.unjudged) == (("a",), ("b",), ("c",), 2)
    assert metrics.describe(found, measures=["pMRR"]) == [
        "2 queries of the run without judgments: they count nowhere",
        "1 query (c) judged in one mode only: left out of pMRR",
        "1 query (a) without an instruction negative: left out of pMRR",
    ]
    assert [v.query_ids for v in metrics.evaluate(["WISE", "pMRR"], run("a", "b", "c"), judged)] == [("a",), ("b",)]


def test_repeated_judgments_count_once():
    twice = Qrels.from_rows([*qrels("a"), *qrels("a")])
    assert metrics.findings(run("a"), twice).repeated == 6
    once, again = (metrics.evaluate(["nDCG@10", "WISE", "AP"], run("a"), q) for q in (qrels("a"), twice))
    assert [v.aggregate for v in once] == [v.aggregate for v in again]


def test_explain_names_the_case_of_each_variant():
    # gold `g` 5, 10, 2 of N = 2: the -1 penalty, which the release never reaches; negative `n` 1 -> 3
    places = {"ori": "nabcg", "ins": "abncdefhig", "rev": "ng"}
    ranked = {f"a-{mode}": {doc: -float(i) for i, doc in enumerate(docs)} for mode, docs in places.items()}
    told = metrics.explain(Run.from_dict(ranked), qrels("a"), "a-ins")
    assert (told.query_id, told.relevant, told.lengths) == ("a", 2, {"ori": 5, "ins": 10, "rev": 2})
    (gold,), (negative,) = told.gold, told.negatives
    assert [(p.mode, p.rank, p.score, p.missing) for p in gold.places] == [
        ("ori", 5, -4, False),
        ("ins", 10, -9, False),
        ("rev", 2, -1, False),
    ]
    assert gold.wise == {"paper": ("inverted", -1.0), "release": ("fell when instructed", -0.5), "source": ("inverted", -1.0)}
    assert gold.sicr == {"paper": False, "release": False}
    assert negative.doc_id == "n"
    assert negative.pmrr == pytest.approx(2 / 3)


def test_explain_follows_two_modes_where_there_is_no_third():
    judged = Qrels.from_rows([Qrel("7-og", "g", 1), Qrel("7-og", "n", 1), Qrel("7-changed", "g", 1)])
    told = metrics.explain(Run.from_dict({"7-og": {"g": 2.0}, "7-changed": {"n": 1.0}}), judged, "7")
    assert [(p.mode, p.rank, p.missing) for p in told.gold[0].places] == [("og", 1, False), ("changed", 2, True)]
    assert (told.gold[0].wise, told.gold[0].sicr) == ({}, {})


def test_explaining_an_unknown_query_names_known_ones():
    with pytest.raises(ToolkitError, match="query z is not judged in two modes") as caught:
        metrics.explain(run("a", "b"), qrels("a", "b"), "z-ori")
    assert caught.value.hint == "queries that are: a, b"
