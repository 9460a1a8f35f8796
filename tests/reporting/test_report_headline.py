"""The headline of a report: what the tests allow to say, and no more."""

from pathlib import Path

import pytest

import tandem_ir
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.headline import followed, headline

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
QUERIES = [f"q{number:02}" for number in range(24)]
MODES = {"plain": "base", "with": "instructed", "against": "reversed"}
# x stays relevant under the instruction, y does not
LABELS = {"plain": {"x": 1, "y": 1}, "with": {"x": 1, "y": 0}, "against": {"x": 0, "y": 1}}
QRELS = Qrels.from_rows(
    [Qrel(f"{query}-{mode}", doc, label) for query in QUERIES for mode in MODES for doc, label in LABELS[mode].items()]
)


def follower(tag, follows=1.0):
    """In a share of the queries x is first when instructed and last when reversed; in the others nothing ever moves."""
    rows = {}
    for place, query in enumerate(QUERIES):
        own = place < follows * len(QUERIES)
        for mode in MODES:
            moved = {"plain": ["y", "x", "z"], "with": ["x", "y", "z"], "against": ["y", "z", "x"]}[mode if own else "plain"]
            rows[f"{query}-{mode}"] = {doc: 3.0 - rank for rank, doc in enumerate(moved)}
    return Run.from_dict(rows, tag=tag)


def inverter(tag):
    """x falls when instructed and rises when reversed."""
    orders = {"plain": ["y", "x", "z"], "with": ["y", "z", "x"], "against": ["x", "y", "z"]}
    rows = {f"{query}-{mode}": {d: 3.0 - r for r, d in enumerate(docs)} for query in QUERIES for mode, docs in orders.items()}
    return Run.from_dict(rows, tag=tag)


def found(*runs, measures=("nDCG@10", "WISE")):
    (model,) = collect(list(runs), qrels=QRELS, modes=MODES, measures=list(measures))
    return headline(model), model


def test_the_only_one_that_beats_ignoring_the_instructions_is_named():
    made, model = found(follower("good"), follower("still", 0), inverter("bad"))
    wise = model.runs[[facts.name for facts in model.runs].index("good")].value("WISE", "paired", "all")
    assert (
        made.lead
        == f"good has the highest WISE ({wise:.3f}) and is the only one of 3 systems that is shown to follow its instructions."
    )
    ignoring = dict(made.statements)["Beside ignoring instructions"]
    assert "its own ranking with instructions ignored has 0.000" in ignoring
    assert "Significantly worse than ignoring: bad. No difference shown: still." in ignoring


def test_a_lead_that_may_be_chance_is_not_called_one():
    made, model = found(follower("good", 1 / 12), follower("still", 0))
    assert not any(row.beats for row in followed(model))
    assert made.lead.startswith("good has the highest WISE (")
    assert "though the tests do not tell it apart from every other; not shown to follow its instructions (" in made.lead
    assert made.lead.endswith("core queries differ: not tested), nor is any other of 2 systems.")
    assert dict(made.statements)["Not told apart"] == "The tests tell no two of the 2 systems apart by WISE."


def test_equals_share_the_lead():
    made, _ = found(follower("one"), follower("two"))
    assert made.lead.startswith("one and two have the highest WISE (")
    assert made.lead.endswith("; both systems are shown to follow their instructions.")


def test_where_nobody_beats_ignoring_the_instructions_it_is_said():
    made, _ = found(inverter("bad"), inverter("worse"))
    assert made.lead.startswith("bad and worse have the highest WISE (\u2212")
    assert made.lead.endswith("; even so worse than ignoring the instructions (p\u00a0<\u00a00.001).")


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (follower("x"), "x follows its instructions: it beats ignoring them (p\u00a0<\u00a00.001) (WISE "),
        (follower("x", 0), "x is not shown to follow its instructions (no core query differs) (WISE 0.000)."),
        (inverter("x"), "x does worse than ignoring the instructions (p\u00a0<\u00a00.001) (WISE \u2212"),
    ],
)
def test_a_single_run_is_compared_with_ignoring_alone(run, verdict):
    made, _ = found(run)
    assert made.lead.startswith(verdict)
    assert "Not told apart" not in dict(made.statements)


def test_what_instructions_cost_has_an_interval_that_is_read():
    text = dict(found(follower("good"), inverter("bad"))[0].statements)["In relevance"]
    # y before x in the base mode: both relevant, nDCG 1; instructed x alone is, and is first
    assert text.startswith("nDCG@10 of good goes from 1.000 (plain) to 1.000 (with): +0.000")
    assert "+0.000, no core query differs." in text
    assert "With instructions ignored it is 0.631 (with)." in text  # 1 / log2(3)


def test_without_modes_there_is_nothing_to_ignore():
    paths = [BASELINES / f"berds-mini.{name}.v2.trec.gz" for name in ("bm25", "bm25+all-minilm-l6-v2.rrf")]
    (model,) = collect(paths, ["berds-mini"])
    made = headline(model)
    assert made.lead == "bm25 and bm25+all-minilm-l6-v2 \u00b7 rrf have the highest MRecall@5 (0.667)."
    assert [each.about for each in made.statements] == ["Not told apart"]
    assert made.distrust[0] == "berds-mini was written for this project: no score on it is comparable with a published one."
    assert made.distrust[1].startswith("Few core queries (12):")


def test_what_to_distrust_names_missing_gold_documents_and_absent_queries():
    (model,) = collect([BASELINES / "infosearch-mini.bm25.v2.trec.gz"], ["infosearch-mini"], measures=["nDCG@10", "WISE"])
    distrust = " ".join(headline(model).distrust)
    assert "Few core queries (12 to 16 in each group, 84 in all)" in distrust
    assert "Gold documents that are not in the rankings: 16 of 224 of bm25 (ori)." in distrust
    own = tandem_ir.load("instructir-mini")
    topics = own.topics("all")
    run = Run.from_dict({topic.query_id: {"d": 1.0} for topic in topics[:-2]}, tag="x")
    (model,) = collect([run], ["instructir-mini"], measures=["nDCG@10"])
    assert "Queries that a run lacks: x 2 of 72." in headline(model).distrust


def test_a_measure_that_nobody_has_leads_nobody():
    qrels = Qrels.from_rows([Qrel("q1", "good", 1)])
    (model,) = collect([Run.from_dict({"q1": {"good": 1.0}}, tag="a")], qrels=qrels, measures=["RR"])
    made = headline(model)
    assert made.lead == "a has RR 1.000."
    assert made.distrust == ("Few core queries (1): only large effects show.",)
