"""References: six documents, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from toolkit import metrics as tandem
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.evaluation import evaluate
from toolkit.evaluation.comparison.reference_values import evaluate_references
from toolkit.evaluation.comparison.references import PERMUTATIONS, is_reference, references
from toolkit.evaluation.scores.judgments import Part
from toolkit.evaluation.scores.scoring import put_together
from toolkit.registry import benchmark

MODES = benchmark("infosearch").modes
# gold g is third; n is relevant too, until the instruction excludes it; x, y, z are judged nowhere
LISTS = {"q-1-ori": "xngyz", "q-1-ins": "gxnyz", "q-1-rev": "xngyz"}
RUN = Run.from_dict({query: {doc: -float(rank) for rank, doc in enumerate(docs)} for query, docs in LISTS.items()}, tag="mine")
LABELS = {"ori": {"g": 1, "n": 1}, "ins": {"g": 1, "n": 0}, "rev": {"g": 0, "n": 1}}
LABELS_OF = {mode: {f"d{n}": label for n, label in enumerate(labels.values())} for mode, labels in LABELS.items()}
QRELS = Qrels.from_rows(Qrel(f"q-1-{mode}", doc, label) for mode, docs in LABELS.items() for doc, label in docs.items())


def runs_of(run, qrels, modes):
    orders = references(run, qrels, modes)
    return list(zip(orders.names, orders.runs(), strict=True))


def lists(name: str) -> list[dict[str, str]]:
    return [
        {query_id: "".join(doc.doc_id for doc in ranking) for query_id, ranking in run.rankings()}
        for reference, run in runs_of(RUN, QRELS, MODES)
        if reference == name
    ]


def test_blind_gives_the_original_list_in_every_mode():
    assert lists("blind") == [{"q-1-ori": "xngyz", "q-1-ins": "xngyz", "q-1-rev": "xngyz"}]


def test_oracle_puts_first_what_a_mode_wants_and_last_what_it_excludes():
    assert lists("oracle") == [{"q-1-ori": "xngyz", "q-1-ins": "gxyzn", "q-1-rev": "nxyzg"}]


def test_reversed_does_the_opposite():
    assert lists("reversed") == [{"q-1-ori": "xngyz", "q-1-ins": "nxyzg", "q-1-rev": "gxyzn"}]


def test_random_shuffles_every_list_anew_and_the_same_way_each_time():
    shuffled = lists("random")
    assert len(shuffled) == PERMUTATIONS
    assert shuffled == lists("random")
    assert all(sorted(ranking) == sorted("xngyz") for one in shuffled for ranking in one.values())
    assert len({tuple(one.values()) for one in shuffled}) > PERMUTATIONS // 2


def test_references_of_another_base_mode():
    run = Run.from_dict({"7-og": {"a": 3.0, "b": 2.0, "c": 1.0}, "7-changed": {"c": 1.0}})
    labels = {"7-og": {"a": 1, "b": 1}, "7-changed": {"a": 0, "b": 1}}
    qrels = Qrels.from_rows(Qrel(query, doc, label) for query, docs in labels.items() for doc, label in docs.items())
    oracle = dict(runs_of(run, qrels, benchmark("followir").modes))["oracle"]
    assert list(oracle.to_dict()["7-changed"]) == ["b", "c", "a"]


def test_scores_of_references_frame_those_of_the_run():
    scores = evaluate(RUN, qrels=QRELS, measures=["WISE", "WISE_ideal", "pMRR", "SICR"], references=True)
    paired = {name: {m: scores.value(m, mode="paired", run=name) for m in ("WISE", "pMRR", "SICR")} for name in NAMES}
    assert paired["blind"] == {"WISE": 0.0, "pMRR": 0.0, "SICR": 0.0}
    # R_ori = 3 > N = 2, R_ins = 1: (1 - sqrt(2)/20) / 1; the negative falls from 2 to 5: 1 - 2/5
    assert paired["oracle"] == {"WISE": pytest.approx(1 - 2**0.5 / 20), "pMRR": pytest.approx(0.6), "SICR": 1.0}
    # R_rev = 1 < R_ori = 3 < R_ins = 5; the negative rises from 2 to 1: 1/2 - 1
    assert paired["reversed"] == {"WISE": -1.0, "pMRR": -0.5, "SICR": 0.0}
    assert paired["random 2.5%"]["WISE"] <= paired["random"]["WISE"] <= paired["random 97.5%"]["WISE"]
    assert scores.value("WISE_per", mode="paired", run="oracle") == 0.0


NAMES = ("blind", "oracle", "reversed", "random", "random 2.5%", "random 97.5%")


def test_references_are_named_by_tags_of_any_form():
    runs = [replace(RUN, tag=tag) for tag in ("{", "{0}%s")]
    rows = evaluate(runs, qrels=QRELS, measures=["WISE"], references=True).rows
    assert {row.run for row in rows} == {tag for run in runs for tag in (run.tag, *(f"{name} of {run.tag}" for name in NAMES))}


def test_references_need_the_original_mode():
    judged = Qrels.from_rows(row for row in QRELS if not row.query_id.endswith("ori"))
    with pytest.raises(ToolkitError) as caught:
        evaluate(RUN, qrels=judged, measures=["RR"], references=True)
    assert caught.value.message == "reference rankings need judgments in the base mode"
    assert caught.value.hint == "judge it beside ins, rev"


def test_names_of_references_are_told_from_runs():
    assert is_reference("random 2.5%")
    assert is_reference("blind of bm25")
    assert not is_reference("blindfold")


@pytest.mark.parametrize("missing", ["worst", "skip"])
def test_references_evaluated_together_have_the_values_of_each_as_a_run(missing):
    # two core queries of two instructions, one document that no list has, and a query that the run lacks
    docs = {"q-1": "xngyz", "q-2": "gnyzx", "r-1": "ab", "r-2": "ba"}
    labels = {**LABELS, "ori": {"g": 1, "n": 1, "lost": 1}}
    run = Run.from_dict(
        {f"{base}-{mode}": {d: -float(i) for i, d in enumerate(ids)} for base, ids in docs.items() for mode in MODES}
    )
    judged = [
        Qrel(f"{base}-{mode}", doc, label)
        for base in [*docs, "s-1"]
        for mode, own in labels.items()
        for doc, label in own.items()
    ]
    part = Part("all", Qrels.from_rows(judged), {base: base[0] for base in [*docs, "s-1"]})
    measures = ["nDCG@10", "Robustness@10", "WISE", "SICR", "pMRR", "GoldRank", "Rprec"]  # the last is not ours
    together = evaluate_references(run, part, MODES, measures, missing)
    orders = references(run, part.qrels, MODES)
    assert list(together) == list(dict.fromkeys(orders.names))
    seen = dict.fromkeys(together, 0)
    for name, lists_of_one in zip(orders.names, orders.runs(), strict=True):
        alone = tandem.evaluate(measures, lists_of_one, part.qrels, groups=part.cores, missing=missing)
        found = [column_of(each, seen[name]) for each in together[name]] if name == "random" else together[name]
        assert [values_of(each) for each in found] == [values_of(each) for each in alone]
        seen[name] += 1
    assert seen == {"blind": 1, "random": PERMUTATIONS, "oracle": 1, "reversed": 1}


def test_random_orders_put_together_have_the_permutations_mean_and_95_of_100_fresh_orders_within_their_bounds():
    rng = np.random.default_rng(3)
    bases = [f"c{core}-{number}" for core in range(12) for number in range(2)]
    docs = [f"d{number}" for number in range(30)]
    queries = [f"{base}-{mode}" for base in bases for mode in MODES]

    def shuffled():
        return Run.from_dict({query: dict(zip(docs, rng.random(30).tolist(), strict=True)) for query in queries})

    judged = [
        Qrel(f"{base}-{mode}", doc, labels[doc]) for base in bases for mode, labels in LABELS_OF.items() for doc in labels
    ]
    part = Part("all", Qrels.from_rows(judged), {base: base.partition("-")[0] for base in bases})
    measured = ["nDCG@10", "WISE"]
    found = evaluate_references(shuffled(), part, MODES, measured, "worst")["random"]
    together = [put_together(part, each) for each in found]
    for own, of_permutations in zip(together, found, strict=True):
        assert own.aggregate.shape == (1000,)
        assert own.aggregate.mean() == pytest.approx(of_permutations.values.mean())
    bounds = {(each.measure, each.mode): np.percentile(each.aggregate, (2.5, 97.5)) for each in together}
    within = []
    for _ in range(200):
        for each in tandem.evaluate(measured, shuffled(), part.qrels, groups=part.cores):
            low, high = bounds[each.measure, each.mode]
            within.append(low <= each.aggregate <= high)
    assert 0.92 <= np.mean(within) <= 0.98


def column_of(values, column):
    return replace(values, values=values.values[:, column], aggregate=values.aggregate[column])


def values_of(values):
    return values.measure, values.mode, values.query_ids, values.values.tolist(), pytest.approx(values.aggregate)


def test_the_same_lists_in_three_groups_are_shuffled_apart():
    rng = np.random.default_rng(1)
    docs = [f"d{number}" for number in range(20)]
    queries = [f"q{number}-{mode}" for number in range(8) for mode in MODES]
    run = Run.from_dict({query: dict(zip(docs, rng.random(20).tolist(), strict=True)) for query in queries})
    qrels = Qrels.from_rows(Qrel(query, "d1", 1) for query in queries)
    parts = [Part(group, qrels, {f"q{number}": f"q{number}" for number in range(8)}) for group in ("fas", "rus", "zho")]
    drawn = [
        put_together(part, evaluate_references(run, part, MODES, ["RR"], "worst")["random"][0]).aggregate for part in parts
    ]
    alone, average = drawn[0].std(), np.mean(drawn, axis=0).std()
    assert average == pytest.approx(alone / 3**0.5, rel=0.15)
