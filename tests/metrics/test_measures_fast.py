"""The plain measures against pytrec_eval: ties, 32-bit scores, negative labels, queries that one side lacks."""

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, RR, Judged, P, Qrel, R, ScoredDoc, Success, nDCG

from toolkit.metrics.providers import FAST

# pytrec_eval has no RR with a cutoff and no Judged: these two are compared further below
PLAIN = [
    nDCG, nDCG @ 1, nDCG @ 3, nDCG @ 10, P @ 1, P @ 3, P @ 10, P(rel=2) @ 3, R @ 1, R @ 3, R(rel=2) @ 5, RR, RR(rel=2),
    AP, AP @ 3, AP(rel=2), Success @ 1, Success @ 3, Success(rel=2) @ 3,
]  # fmt: skip
DOCS = [f"d{i}" for i in range(10)] + ["D1", "é", "d10"]
SCORES = st.sampled_from([-1e9, -1.0, 0.0, 1.0, 1.0 + 1e-9, 1.0 - 1e-9, 0.1, 0.1 + 1e-9, 16777216.0, 16777217.0])


def per_query(provider, measures, qrels, run):
    return {(m.query_id, str(m.measure)): m.value for m in provider.iter_calc(measures, qrels, run)}


# pytrec_eval reads outside its memory where all labels of a query are negative
LABELS = st.dictionaries(st.sampled_from(DOCS), st.integers(-2, 3), min_size=1).filter(lambda labels: max(labels.values()) >= 0)


@given(
    st.dictionaries(st.sampled_from("uvwx"), LABELS, min_size=1),
    st.dictionaries(st.sampled_from("vwxy"), st.dictionaries(st.sampled_from(DOCS), SCORES, min_size=1), min_size=1),
)
@settings(deadline=None)
def test_every_value_is_pytrec_evals(qrels, run):
    expected = per_query(ir_measures.pytrec_eval, PLAIN, qrels, run)
    assert per_query(FAST, PLAIN, qrels, run) == pytest.approx(expected, abs=1e-9, rel=0)
    aggregate = ir_measures.pytrec_eval.calc_aggregate(PLAIN, qrels, run)
    assert FAST.calc_aggregate(PLAIN, qrels, run) == pytest.approx(aggregate, abs=1e-9, rel=0)


TIED = [ScoredDoc("q", doc, 1.0) for doc in "abc"]  # trec_eval ranks c, b, a


def test_rr_with_a_cutoff_ranks_ties_as_rr_does():
    qrels = [Qrel("q", "a", 1), Qrel("q", "b", 0)]
    found = FAST.calc_aggregate([RR, RR @ 2, RR @ 3, RR(rel=2) @ 3], qrels, TIED)
    assert found == {RR: 1 / 3, RR @ 2: 0, RR @ 3: 1 / 3, RR(rel=2) @ 3: 0}


def test_judged_counts_labels_of_any_kind_over_what_was_retrieved():
    qrels = [Qrel("q", "a", -1), Qrel("q", "c", 0), Qrel("r", "a", 1)]
    values = {
        (m.query_id, m.measure): m.value for m in FAST.iter_calc([Judged @ 1, Judged @ 2, Judged @ 10, Judged], qrels, TIED)
    }
    assert {m: v for (q, m), v in values.items() if q == "q"} == {
        Judged @ 1: 1,
        Judged @ 2: 0.5,
        Judged @ 10: 2 / 3,
        Judged: 2 / 3,
    }
    assert {v for (q, _), v in values.items() if q == "r"} == {0.0}


def test_worked_example():
    # retrieved e b a x d, labels e -2, b -1, a 2, d 1: dcg = 2 / log2(4) + 1 / log2(6), ideal = 2 + 1 / log2(3)
    qrels = [Qrel("q", doc, label) for doc, label in (("a", 2), ("b", -1), ("c", 0), ("d", 1), ("e", -2))]
    run = [ScoredDoc("q", doc, -i) for i, doc in enumerate("ebaxd")]
    found = FAST.calc_aggregate([nDCG, AP, RR, P @ 5, R @ 3, Success @ 2], qrels, run)
    assert found == pytest.approx(
        {nDCG: 1.3868528 / 2.6309298, AP: (1 / 3 + 2 / 5) / 2, RR: 1 / 3, P @ 5: 0.4, R @ 3: 0.5, Success @ 2: 0}
    )


def test_what_needs_every_label_is_left_to_others():
    for measure in (nDCG(dcg="exp-log2") @ 10, nDCG(gains={1: 3}) @ 10, nDCG(judged_only=True) @ 10, AP(judged_only=True)):
        assert not FAST.supports(measure)
