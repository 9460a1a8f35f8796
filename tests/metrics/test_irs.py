"""IRS: golden values, its definition read literally, N from where it is said, and its place in ir_measures."""

import json
from dataclasses import replace
from pathlib import Path

import ir_measures
import literal
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_measures_properties import TIES, by_query, near, paired_cases

from toolkit import metrics
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels, join_qrels
from toolkit.core.runs import Run
from toolkit.datasets import load
from toolkit.metrics import IRS, IRS_mean, IRS_reaction

CASES = json.loads((Path(__file__).resolve().parent.parent / "golden" / "irs" / "cases.json").read_text())["cases"]
MODES = {"ori": "base", "ins": "instructed", "rev": "reversed"}
LARGE = 40  # documents: more than any drawn case has


def judged(gold, negatives):
    relevant = {"ori": [*gold, *negatives], "ins": gold, "rev": negatives}
    return Qrels.from_rows(
        Qrel(f"q-{mode}", doc, int(doc in docs)) for mode, docs in relevant.items() for doc in relevant["ori"]
    )


def ranked(case):
    return Run.from_rows(
        (f"q-{mode}", doc, -float(place)) for mode, name in MODES.items() for place, doc in enumerate(case[name])
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{len(case['gold'])} of {case['documents']}")
def test_golden_values(case):
    qrels = replace(judged(case["gold"], case["negatives"]), documents=lambda: case["documents"])
    found = metrics.evaluate(["IRS", "IRS_mean", "IRS_reaction"], ranked(case), qrels)
    names = ("IRS", "IRS_reversed", "IRS_mean", "IRS_reaction")
    assert [each.aggregate for each in found] == pytest.approx([case[name] for name in names], abs=1e-9)


@given(paired_cases(), st.sampled_from(TIES))
def test_irs_is_its_definition(case, ties):
    run, qrels = case
    found = by_query(f"IRS(documents={LARGE},ties='{ties}')", run, qrels)
    expected = literal.irs_of_run(run, qrels, LARGE, ties)
    assert found == near({query: expected[query] for query in found})


@given(paired_cases())
def test_mean_and_reaction_are_those_of_both_directions(case):
    run, qrels = case
    both = by_query(f"IRS(documents={LARGE})", run, qrels)
    means, reactions = (by_query(f"{name}(documents={LARGE})", run, qrels) for name in ("IRS_mean", "IRS_reaction"))
    for query, mean in means.items():
        if all(f"{query}-{mode}" in run for mode in MODES):
            ins, rev = both[f"{query}-ins"], both[f"{query}-rev"]
            assert (mean, reactions[query]) == near(((ins + rev) / 2, (ins - rev) / 2))
        else:
            assert mean == -1
            assert query not in reactions


@given(paired_cases())
def test_instructed_and_reversed_exchanged_change_the_sign_of_the_mean(case):
    run, qrels = case
    other = {"ori": "ori", "ins": "rev", "rev": "ins"}
    exchanged = {q[:-3] + other[q[-3:]]: docs for q, docs in run.items()}
    straight, turned = (by_query(f"IRS_mean(documents={LARGE})", each, qrels) for each in (run, exchanged))
    complete = [q for q in straight if all(f"{q}-{mode}" in run for mode in MODES)]
    assert {q: turned[q] for q in complete} == near({q: -straight[q] for q in complete})


@given(paired_cases())
def test_what_ignores_the_instruction_scores_nothing_at_all(case):
    run, qrels = case
    blind = {q[:-3] + mode: docs for q, docs in run.items() if q.endswith("ori") for mode in MODES}
    for name in ("IRS", "IRS_mean", "IRS_reaction"):
        found = by_query(f"{name}(documents={LARGE})", blind, qrels)
        assert all(number == 0 for q, number in found.items() if {f"{q}-ori", f"{q[:-4]}-ori"} & blind.keys())


def test_a_corpus_of_ones_own_is_counted_where_its_size_is_asked_for_and_not_before(tmp_path):
    (tmp_path / "corpus.jsonl").write_text("".join(f'{{"id": "d{n}", "text": "wind {n}"}}\n' for n in range(3)))
    (tmp_path / "topics.jsonl").write_text('{"id": "q1", "query": "wind"}\n')
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "benchmark.yaml").write_text("name: winds\n")
    benchmark = load(str(tmp_path))
    [group] = benchmark.groups
    qrels = benchmark.qrels(group)
    assert "_docs" not in vars(benchmark.part(group).docs)
    assert qrels.documents() == 3


def test_the_number_of_documents_is_the_benchmarks_or_has_to_be_given():
    benchmark = load("infosearch-mini")
    assert benchmark.qrels("audience", "ins").documents() == 148
    parts = [benchmark.qrels(group, "ori") for group in ("audience", "keyword")]
    assert join_qrels(parts).documents() is None  # of two corpora there is no number
    qrels = judged("g", "n")
    run = ranked({"base": "gn", "instructed": "gn", "reversed": "ng"})
    with pytest.raises(ToolkitError, match="nothing says how many documents") as raised:
        metrics.evaluate(["IRS"], run, qrels)
    assert "IRS(documents=" in raised.value.hint
    with pytest.raises(ToolkitError, match="2 are relevant to one query"):
        metrics.evaluate(["IRS(documents=1)"], run, qrels)


def test_ir_measures_scores_it_alone_mixed_and_with_parameters():
    run = [
        row
        for mode, docs in {"ori": "ng", "ins": "gn", "rev": "ng"}.items()
        for row in [ir_measures.ScoredDoc(f"q-{mode}", doc, -float(place)) for place, doc in enumerate(docs)]
    ]
    qrels = list(judged("g", "n"))
    measures = [measure(documents=9) for measure in (IRS, IRS_mean, IRS_reaction)]
    alone = {str(measure): measure.calc_aggregate(qrels, run) for measure in measures}
    with pytest.warns(UserWarning, match="no mean over query ids"):
        mixed = ir_measures.calc_aggregate([*measures, ir_measures.nDCG @ 5], qrels, run)
    assert {str(measure): mixed[measure] for measure in measures} == alone
    assert alone["IRS_mean(documents=9)"] == alone["IRS(documents=9)"]
