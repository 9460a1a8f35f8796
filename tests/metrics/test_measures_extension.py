"""The measures as users of ir_measures meet them: parsed, printed, mixed, on every kind of input."""

import math
import subprocess
import sys

import ir_measures
import pandas
import pytest
from ir_measures import AP, RR, Qrel, ScoredDoc, Success, alpha_nDCG, nDCG

from toolkit import metrics
from toolkit.core.errors import ToolkitError
from toolkit.metrics import (
    MEASURES,
    SICR,
    WISE,
    GoldRank,
    MRecall,
    NegativeRank,
    PerspectiveP,
    Robustness,
    WISE_ideal,
    parse_all,
    pMRR,
)

# q-1: the gold document `a` goes 2, 1, 3 and the negative `b` 1, 2, 1; q-2: `a` is the negative, `b` the gold document
QRELS = [
    *(
        Qrel(f"q-1-{mode}", doc, label)
        for mode, labels in (("ori", (1, 1)), ("ins", (1, 0)), ("rev", (0, 1)))
        for doc, label in zip("ab", labels, strict=True)
    ),
    *(
        Qrel(f"q-2-{mode}", doc, label)
        for mode, labels in (("ori", (1, 1)), ("ins", (0, 1)), ("rev", (1, 0)))
        for doc, label in zip("ab", labels, strict=True)
    ),
]
RANKINGS = {
    "q-1-ori": "bac", "q-1-ins": "abc", "q-1-rev": "bca",
    "q-2-ori": "bac", "q-2-ins": "bac", "q-2-rev": "bac",
}  # fmt: skip
RUN = [ScoredDoc(q, doc, 3.0 - i) for q, ranking in RANKINGS.items() for i, doc in enumerate(ranking)]
# WISE: q-1 (2, 1, 3), N = 2: 1; q-2 (1, 1, 1): R_ori <= R_ins: 0. p-MRR: q-1 `b` (1, 2): 1/2; q-2 `a` (2, 2): 0
PAIRED = {"q-1": (1.0, 0.5), "q-2": (0.0, 0.0)}


def frames():
    return pandas.DataFrame(QRELS), pandas.DataFrame(RUN)


def dicts():
    qrels, run = {}, {}
    for qrel in QRELS:
        qrels.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
    for doc in RUN:
        run.setdefault(doc.query_id, {})[doc.doc_id] = doc.score
    return qrels, run


INPUTS = {"lists": lambda: (QRELS, RUN), "iterators": lambda: (iter(QRELS), iter(RUN)), "frames": frames, "dicts": dicts}


@pytest.mark.parametrize(
    "name",
    [
        "WISE", "WISE@20", "WISE@10", "WISE(variant='release')@20", "WISE(variant='source',ties='file')", "WISE_ideal@20",
        "SICR", "SICR(variant='release')", "pMRR", "pMRR(ties='file')", "GoldRank", "NegativeRank", "Robustness@10",
        "MRecall@5", "PerspectiveP@10",
    ],
)  # fmt: skip
def test_measures_print_as_they_parse(name):
    assert str(ir_measures.parse_measure(name)) == name


def test_default_parameters_are_not_printed_and_the_same_measure():
    assert str(WISE(variant="paper", ties="trec") @ 20) == "WISE@20"
    assert ir_measures.parse_measure("WISE")["cutoff"] == 20
    assert WISE(variant="release") @ 20 == ir_measures.parse_measure("WISE(variant='release')@20")
    assert {type(measure).__name__ for measure in MEASURES.values()} >= {"_WISE", "_SICR", "_pMRR", "_Robustness"}


@pytest.mark.parametrize("form", INPUTS)
def test_every_input_of_ir_measures_gives_the_same_values(form):
    assert ir_measures.calc_aggregate([WISE, pMRR, SICR], *INPUTS[form]()) == {WISE: 0.5, pMRR: 0.25, SICR: 0.5}


@pytest.mark.parametrize("form", INPUTS)
def test_paired_measures_mixed_with_others_keep_both_averages(form):
    alone = {measure: ir_measures.calc_aggregate([measure], QRELS, RUN)[measure] for measure in (nDCG @ 10, AP, RR @ 1)}
    alone[alpha_nDCG @ 10] = ir_measures.calc_aggregate([alpha_nDCG @ 10], QRELS, RUN)[alpha_nDCG @ 10]
    found = ir_measures.calc_aggregate([nDCG @ 10, WISE, AP, pMRR, RR @ 1, alpha_nDCG @ 10], *INPUTS[form]())
    assert found == {**alone, WISE: 0.5, pMRR: 0.25}


def test_per_query_values_of_paired_measures_carry_the_id_without_mode():
    found = {(m.query_id, m.measure): m.value for m in ir_measures.iter_calc([WISE, pMRR], QRELS, RUN)}
    assert found == {(q, m): value for q, values in PAIRED.items() for m, value in zip((WISE, pMRR), values, strict=True)}


def test_mean_ranks_carry_the_mode():
    found = {m.query_id: m.value for m in GoldRank.iter_calc(QRELS, RUN)}
    assert found == {"q-1-ori": 2, "q-1-ins": 1, "q-1-rev": 3, "q-2-ori": 1, "q-2-ins": 1, "q-2-rev": 1}
    found = {m.query_id: m.value for m in NegativeRank.iter_calc(QRELS, RUN)}
    assert found == {"q-1-ori": 1, "q-1-ins": 2, "q-1-rev": 1, "q-2-ori": 2, "q-2-ins": 2, "q-2-rev": 2}


def test_robustness_is_one_value_a_core_query_and_mode():
    found = {m.query_id: m.value for m in (Robustness @ 1).iter_calc(QRELS, RUN)}
    assert found == {"q-ori": 1.0, "q-ins": 1.0, "q-rev": 0.0}


def test_robustness_sees_the_worst_alone():
    """Two groups with one worst value are equally robust, whatever the others are: the case of InfoSearch's footnote 4."""
    means = {}
    for name, ranks in {"even": (1, 2, 3, 9), "one bad": (1, 1, 1, 9)}.items():
        qrels = [Qrel(f"25_{number}", "gold", 1) for number in range(4)]
        run = [
            ScoredDoc(f"25_{number}", "gold" if place == rank else f"other{place}", -place)
            for number, rank in enumerate(ranks)
            for place in range(1, 11)
        ]
        assert (Robustness @ 10).calc_aggregate(qrels, run) == pytest.approx(1 / math.log2(10))
        means[name] = (nDCG @ 10).calc_aggregate(qrels, run)
    assert means["one bad"] > means["even"] + 0.2


def test_robustness_takes_paraphrases_together_and_warns_where_nothing_belongs_together():
    # RR of the relevant document: 25_5.1 first, 25_5.2 missing, 26_1.1 first: minima 0 and 1
    qrels = [Qrel(query_id, "a", 1) for query_id in ("25_5.1", "25_5.2", "26_1.1")]
    run = [ScoredDoc("25_5.1", "a", 1.0), ScoredDoc("25_5.2", "b", 1.0), ScoredDoc("26_1.1", "a", 1.0)]
    assert {m.query_id: m.value for m in (Robustness @ 1).iter_calc(qrels, run)} == {"25_5": 0.0, "26_1": 1.0}
    with pytest.warns(UserWarning, match="whose value is that of Robustness"):
        assert (Robustness @ 1).calc_aggregate(qrels[::2], run[::2]) == 1.0


def test_an_evaluator_scores_several_runs():
    evaluator = ir_measures.evaluator([WISE, nDCG @ 10], QRELS)
    blind = [ScoredDoc(query_id, doc, -i) for query_id in RANKINGS for i, doc in enumerate("bac")]
    assert evaluator.calc_aggregate(RUN)[WISE] == 0.5
    assert evaluator.calc_aggregate(blind)[WISE] == 0.0
    assert evaluator.calc_aggregate(RUN)[WISE] == 0.5


def test_perspectives_come_from_the_iteration_column():
    qrels = [Qrel("q", "a", 1, "pro"), Qrel("q", "a", 0, "con"), Qrel("q", "b", 1, "con"), Qrel("q", "c", 0, "con")]
    run = [ScoredDoc("q", "a", 3), ScoredDoc("q", "c", 2), ScoredDoc("q", "b", 1)]
    wanted = {
        MRecall @ 1: 1.0,
        MRecall @ 2: 0.0,
        MRecall @ 3: 1.0,
        PerspectiveP @ 2: 0.5,
        alpha_nDCG @ 3: pytest.approx(0.9197, abs=1e-4),
    }
    assert ir_measures.calc_aggregate(list(wanted), qrels, run) == wanted
    assert ir_measures.calc_aggregate(list(wanted), pandas.DataFrame(qrels), pandas.DataFrame(run)) == wanted


def test_mrecall_of_one_answer_is_whether_it_is_found():
    qrels = [Qrel("q", "a", 1, "answer"), Qrel("q", "b", 1, "answer"), Qrel("q", "c", 0, "answer")]
    run = [ScoredDoc("q", "c", 3), ScoredDoc("q", "b", 2), ScoredDoc("q", "a", 1)]
    found = ir_measures.calc_aggregate([MRecall @ 1, MRecall @ 2, Success @ 1, Success @ 2], qrels, run)
    assert found == {MRecall @ 1: 0.0, Success @ 1: 0.0, MRecall @ 2: 1.0, Success @ 2: 1.0}


def test_absent_queries_get_the_worst_value_and_ranks_leave_them_out():
    run = [doc for doc in RUN if doc.query_id != "q-1-ins"]
    found = ir_measures.calc_aggregate([WISE, SICR, pMRR, WISE_ideal, Robustness @ 1], QRELS, run)
    # q-1 counts -1, 0, -1; ideal WISE needs the original mode only: both are 1
    assert found == {WISE: -0.5, SICR: 0.0, pMRR: -0.5, WISE_ideal: 1.0, Robustness @ 1: pytest.approx(1 / 3)}
    assert {m.query_id for m in GoldRank.iter_calc(QRELS, run)} == set(RANKINGS) - {"q-1-ins"}


def test_og_and_changed_pair_as_ori_and_ins_do():
    qrels = [Qrel("7-og", "a", 1), Qrel("7-og", "b", 1), Qrel("7-changed", "a", 1), Qrel("7-changed", "b", 0)]
    run = [ScoredDoc("7-og", "b", 2), ScoredDoc("7-og", "a", 1), ScoredDoc("7-changed", "b", 1), ScoredDoc("7-changed", "a", 2)]
    assert [tuple(metric) for metric in pMRR.iter_calc(qrels, run)] == [("7", pMRR, 0.5)]
    assert list(WISE.iter_calc(qrels, run)) == []


def test_without_reversed_judgments_wise_and_sicr_have_no_value():
    qrels = [qrel for qrel in QRELS if not qrel.query_id.endswith("rev")]
    for run in (RUN, [doc for doc in RUN if not doc.query_id.endswith("rev")]):
        found = ir_measures.calc_aggregate([WISE, WISE_ideal, SICR, pMRR], qrels, run)
        assert found == pytest.approx({WISE: math.nan, WISE_ideal: math.nan, SICR: math.nan, pMRR: 0.25}, nan_ok=True)


@pytest.mark.process
def test_importing_leaves_everyones_ndcg_to_pytrec_eval():
    code = (
        "import ir_measures\n"
        "before = list(ir_measures.DefaultPipeline.providers)\n"
        "import toolkit.metrics\n"
        "after = ir_measures.DefaultPipeline.providers\n"
        "assert after[1:] == before\n"
        "assert not any(after[0].supports(m) for m in (ir_measures.nDCG @ 10, ir_measures.AP, ir_measures.P @ 5))\n"
        "assert ir_measures.providers.registry['tandem'].supports(ir_measures.nDCG @ 10)\n"
        "print('ok')"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "ok\n"


def test_what_an_unknown_parameter_is_told():
    with pytest.raises(ToolkitError, match="no measure 'WYSE'") as caught:
        metrics.parse("WYSE@20")
    assert caught.value.hint == "did you mean 'WISE'?"
    with pytest.raises(ToolkitError, match="no measure 'Qqqq'") as caught:
        metrics.parse("Qqqq@20")
    assert caught.value.hint == "`tandem measures list` has their names"
    for wrong in ("WISE(variant='relase')", "SICR(variant='source')", "SICR@5", "Robustness", "nDCG@0", "nDCG@", "P"):
        with pytest.raises(ToolkitError, match="cannot read measure"):
            metrics.parse(wrong)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("p-MRR", "pMRR"),
        ("p_mrr", "pMRR"),
        ("wise@20", "WISE@20"),
        ("wise(variant='release')@5", "WISE(variant='release')@5"),
        ("ndcg@10", "nDCG@10"),
        ("NDCG@5", "nDCG@5"),
        ("m-recall@5", "MRecall@5"),
        ("MRR@10", "RR@10"),
        ("map", "AP"),
    ],
)
def test_other_spellings_of_a_name_are_taken(written, meant):
    assert str(metrics.parse(written)) == meant


@pytest.mark.parametrize(("written", "near"), [("ndcg_cut_10", "nDCG@10"), ("recip_rank", "RR"), ("recall_100", "R@100")])
def test_names_of_trec_eval_are_answered_with_ours(written, near):
    with pytest.raises(ToolkitError) as caught:
        metrics.parse(written)
    assert caught.value.hint == f"did you mean {near!r}?"


def test_one_text_may_name_several_measures():
    written = "nDCG@10, WISE(variant='release', cutoff=5) p-mrr @ 20"
    with pytest.raises(ToolkitError):
        parse_all(written)  # p-MRR has no cutoff
    assert list(map(str, parse_all("nDCG @ 10, WISE(variant='release', cutoff=5) p-mrr"))) == [
        "nDCG@10",
        "WISE(variant='release')@5",
        "pMRR",
    ]
    assert parse_all(["nDCG@10 AP", ir_measures.RR]) == [ir_measures.nDCG @ 10, ir_measures.AP, ir_measures.RR]
    assert parse_all(ir_measures.RR) == [ir_measures.RR]
    for wrong in ("", "nDCG( WISE", ["nDCG@10", "WISE x"]):
        with pytest.raises(ToolkitError):
            parse_all(wrong)
