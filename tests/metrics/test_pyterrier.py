"""PyTerrier's Experiment with our measures: alone, mixed, and with a baseline. No Java is started."""

import math

import ir_measures
import pandas
import pyterrier as pt
import pytest
from ir_measures import AP, Qrel, ScoredDoc, nDCG

from toolkit.metrics import SICR, WISE, GoldRank, IRS_mean, MRecall, PerspectiveP, Robustness, WISE_ideal, pMRR

MODES = {"ori": (1, 1), "ins": (1, 0), "rev": (0, 1)}
# two instructions each of core queries q and r; of documents a and b the first stays relevant under the instruction
QRELS = [
    Qrel(f"{base}-{mode}", doc, label)
    for base in ("q-1", "q-2", "r-1", "r-2")
    for mode, labels in MODES.items()
    for doc, label in zip("ab", labels, strict=True)
]
# p-MRR of the negative b: 1 -> 2, 1/2; stays; 2 -> 3, 1/3; 2 -> 1, -1/2
OBEYS = {"q-1": ("bac", "abc", "bca"), "q-2": ("bac", "bac", "bac"), "r-1": ("abc", "acb", "bca"), "r-2": ("abc", "bac", "cab")}
BLIND = dict.fromkeys(OBEYS, ("bac", "bac", "bac"))
ALONE = [
    [pMRR],
    [IRS_mean(documents=50)],
    [WISE, WISE_ideal, SICR],
    [GoldRank],
    [Robustness @ 1],
    [MRecall @ 1, PerspectiveP @ 2],
]
MIXED = [
    [nDCG @ 10, pMRR],
    [WISE, nDCG @ 10, AP, Robustness @ 1],
    [GoldRank, WISE],
    [MRecall @ 1, pMRR],
    [IRS_mean(documents=50), nDCG @ 10, GoldRank],
    [pMRR, SICR, WISE, WISE_ideal, GoldRank, Robustness @ 1, MRecall @ 1, PerspectiveP @ 1, nDCG @ 10],
]


def scored(rankings):
    return [
        ScoredDoc(f"{base}-{mode}", doc, -float(rank))
        for base, of_modes in rankings.items()
        for mode, ranking in zip(MODES, of_modes, strict=True)
        for rank, doc in enumerate(ranking)
    ]


def frame(rows):
    names = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
    return pandas.DataFrame(rows).rename(columns=names)


def experiment(wanted, qrels=QRELS, **options):
    """A DataFrame and a transformer, as systems `obeys` and `blind`."""
    topics = pandas.DataFrame({"qid": sorted({qrel.query_id for qrel in qrels}), "query": "tea"})
    systems = {"obeys": frame(scored(OBEYS)), "blind": pt.Transformer.from_df(frame(scored(BLIND)))}
    made = pt.Experiment(systems, topics, frame(qrels), wanted, validate="ignore", **options)
    assert not pt.java.started()
    return made


def averages(made, wanted):
    return {row["name"]: {measure: row[str(measure)] for measure in wanted} for row in made.to_dict("records")}


@pytest.mark.parametrize("wanted", ALONE + MIXED, ids=lambda wanted: " ".join(map(str, wanted)))
@pytest.mark.parametrize("baseline", [None, "blind"])
def test_averages_are_those_of_ir_measures(wanted, baseline):
    found = averages(experiment(wanted, baseline=baseline), wanted)
    for name, rankings in (("obeys", OBEYS), ("blind", BLIND)):
        alone = {measure: ir_measures.calc_aggregate([measure], QRELS, scored(rankings))[measure] for measure in wanted}
        assert found[name] == pytest.approx(alone)
        assert ir_measures.calc_aggregate(wanted, QRELS, scored(rankings)) == pytest.approx(alone)
    if pMRR in wanted:
        assert found["obeys"][pMRR] == pytest.approx((1 / 2 + 0 + 1 / 3 - 1 / 2) / 4)


def test_a_baseline_counts_the_queries_of_a_measure_alone_once():
    row = experiment([pMRR], baseline="blind").set_index("name").loc["obeys"]
    assert (row["pMRR +"], row["pMRR -"]) == (2, 1)  # two of four queries better, one worse
    row = experiment([pMRR, nDCG @ 10], baseline="blind").set_index("name").loc["obeys"]
    assert (row["pMRR +"], row["pMRR -"]) == (6, 3)  # in each of three modes


def test_values_of_each_query_stand_at_the_query_ids_of_the_qrels():
    made = experiment([pMRR, nDCG @ 10], perquery=True)
    rows = made[(made.name == "obeys") & (made.measure == "pMRR")]
    values = {"q-1": 1 / 2, "q-2": 0.0, "r-1": 1 / 3, "r-2": -1 / 2}
    assert dict(zip(rows.qid, rows.value, strict=True)) == pytest.approx(
        {f"{base}-{mode}": value for base, value in values.items() for mode in MODES}
    )


def test_a_measure_that_leaves_a_query_out_has_no_average_beside_others():
    # without a negative p-MRR leaves q-1 out: a mean over all query ids would count it
    qrels = [qrel for qrel in QRELS if qrel[:2] != ("q-1-ori", "b")]
    assert averages(experiment([pMRR], qrels), [pMRR])["obeys"][pMRR] == pytest.approx((0 + 1 / 3 - 1 / 2) / 3)
    with pytest.warns(UserWarning, match="pMRR has no mean over query ids"):
        found = averages(experiment([pMRR, nDCG @ 10], qrels), [pMRR, nDCG @ 10])["obeys"]
    assert math.isnan(found[pMRR])
    assert found[nDCG @ 10] > 0
    with pytest.warns(UserWarning, match="pMRR has no mean over query ids"):
        mixed = ir_measures.calc_aggregate([pMRR, nDCG @ 10], qrels, scored(OBEYS))
    assert mixed[pMRR] == pytest.approx((0 + 1 / 3 - 1 / 2) / 3)


def test_core_queries_of_unequal_size_have_no_average_beside_others():
    qrels = [qrel for qrel in QRELS if not qrel.query_id.startswith("r-2")]
    alone = averages(experiment([Robustness @ 1], qrels), [Robustness @ 1])["obeys"][Robustness @ 1]
    with pytest.warns(UserWarning, match="Robustness@1 has no mean over query ids"):
        found = averages(experiment([Robustness @ 1, nDCG @ 1], qrels), [Robustness @ 1])["obeys"]
    assert math.isnan(found[Robustness @ 1])
    assert ir_measures.calc_aggregate([Robustness @ 1], qrels, scored(OBEYS))[Robustness @ 1] == pytest.approx(alone)
