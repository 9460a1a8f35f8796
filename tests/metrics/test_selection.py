"""Selection: worked values, its definition, and the properties that docs/measures.md promises."""

import itertools
import json
from pathlib import Path

import ir_measures
import literal
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import Qrel, ScoredDoc, nDCG
from test_measures_properties import TIES, by_query, near, paired_cases

from toolkit import metrics
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.evaluation.comparison.references import references
from toolkit.metrics import WISE, Following_selection, pMRR

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "following"
MODES = ("ori", "ins", "rev")
DOCS = "ghnmxyz"  # gold documents g and h, negatives n and m
LISTS = st.lists(st.sampled_from(DOCS), min_size=1, max_size=len(DOCS), unique=True)
RUNS = st.tuples(LISTS, LISTS, LISTS)


def judged(base="q"):
    wanted = {"ori": "ghnm", "ins": "gh", "rev": "nm"}
    return [Qrel(f"{base}-{mode}", doc, int(doc in wanted[mode])) for mode in MODES for doc in "ghnm"]


def ranked(lists, base="q"):
    return [
        ScoredDoc(f"{base}-{mode}", doc, -float(place))
        for mode, docs in zip(MODES, lists, strict=True)
        for place, doc in enumerate(docs)
    ]


def values(name, *lists):
    """mode -> value of a run over one query, in modes ori, ins and rev."""
    found = metrics.evaluate([name], Run.from_rows(ranked(lists)), Qrels.from_rows(judged()))
    return {each.mode: each.aggregate for each in found}


def value(*lists):
    """Of both modes together."""
    return sum(values("Following_selection", *lists).values())


def test_the_worked_values_are_met():
    name = "Following_selection"
    run, qrels = ([line.split() for line in (GOLDEN / file).read_text().splitlines()] for file in ("run.trec", "qrels.txt"))
    found = metrics.evaluate(
        [name],
        Run.from_rows((query, doc, float(score)) for query, _, doc, _, score, _ in run),
        Qrels.from_rows(Qrel(query, doc, int(label)) for query, _, doc, label in qrels),
    )
    of_modes = {each.mode: dict(zip(each.query_ids, each.values.tolist(), strict=True)) for each in found}
    assert of_modes == json.loads((GOLDEN / "expected.json").read_text())[name]


@given(paired_cases(), st.sampled_from(TIES))
def test_selection_is_its_definition(case, ties):
    assert by_query(f"Following_selection(ties='{ties}')", *case) == near(literal.selection_of_run(*case, ties))


@given(paired_cases())
def test_what_ignores_the_instruction_scores_nothing_at_all(case):
    run, qrels = case
    blind = {q[:-3] + mode: docs for q, docs in run.items() if q.endswith("ori") for mode in MODES}
    found = by_query("Following_selection", blind, qrels)
    assert all(number == 0 for q, number in found.items() if f"{q[:-4]}-ori" in blind)


@given(RUNS)
def test_every_value_is_within_its_range(lists):
    parts = values("Following_selection", *lists)
    assert all(-1 <= number <= 1 for number in (value(*lists), *parts.values()))


def test_documents_that_move_alike_are_no_selection():
    # ranks 1 2 3 4 become 3 4 5 6 in both modes: the order among the four stays
    assert values("Following_selection", "gnhm", "xygnhm", "xygnhm") == {"ins": 0, "rev": 0}


@given(RUNS, st.lists(st.tuples(st.sampled_from(MODES), st.integers(0, 7)), max_size=6))
def test_documents_outside_the_pool_change_no_selection(lists, added):
    longer = [list(docs) for docs in lists]
    for number, (mode, place) in enumerate(added):
        longer[MODES.index(mode)].insert(place, f"outside{number}")
    assert value(*longer) == value(*lists)
    assert values("Following_selection", *longer) == values("Following_selection", *lists)


@given(RUNS, st.sampled_from("gh"), st.integers(0, 6))
def test_a_gold_document_moved_up_when_instructed_never_lowers_it(lists, gold, place):
    ori, ins, rev = lists
    rest = [doc for doc in ins if doc != gold]
    higher = max(place - 1, 0)
    before, after = [*rest[:place], gold, *rest[place:]], [*rest[:higher], gold, *rest[higher:]]
    assert value(ori, after, rev) >= value(ori, before, rev)
    assert value(ori, rev, after) <= value(ori, rev, before)


@given(LISTS)
def test_the_maximum_is_1_whatever_the_base_ranks(ori):
    assert value(ori, "ghnm", "nmgh") == 1
    assert value(ori, "nmgh", "ghnm") == -1


@given(LISTS)
def test_the_oracle_reaches_the_share_of_pairs_whose_documents_are_both_retrieved(ori):
    qrels = Qrels.from_rows(judged())
    run = Run.from_rows(ranked((ori, ori, ori)))
    made = references(run, qrels, Modes.declared({"ori": "base", "ins": "instructed", "rev": "reversed"}, "test"))
    oracle = dict(zip(made.names, made.runs(), strict=True))["oracle"]
    retrieved = [sum(doc in ori for doc in docs) for docs in ("gh", "nm")]
    found = metrics.evaluate(["Following_selection"], oracle, qrels)
    assert sum(each.aggregate for each in found) == retrieved[0] * retrieved[1] / 4


def test_chance_scores_0_over_all_orders():
    orders = list(itertools.permutations("ghnm"))
    found = [value("ghnm", ins, rev) for ins in orders for rev in orders]
    assert sum(found) == near(0)
    assert max(found) == 1


def test_chance_scores_0_over_seeded_permutations():
    generator = np.random.default_rng(20)
    names = [f"q{number}" for number in range(400)]
    run = [row for name in names for row in ranked([generator.permutation(list(DOCS)) for _ in MODES], name)]
    found = metrics.evaluate(
        ["Following_selection"], Run.from_rows(run), Qrels.from_rows(r for name in names for r in judged(name))
    )
    for each in found:
        assert abs(each.aggregate) < 4 * each.values.std() / len(names) ** 0.5, (each.measure, each.mode)
    assert found[0].values.std() > 0.3


def test_without_a_reversed_mode_the_instructed_one_has_values():
    qrels = {"q-ori": dict.fromkeys("gn", 1), "q-ins": {"g": 1, "n": 0}}
    run = {"q-ori": {"n": 2.0, "g": 1.0}, "q-ins": {"g": 2.0, "n": 1.0}}
    assert by_query("Following_selection", run, qrels) == {"q-ins": 1.0}


# q: gold above negatives when instructed, below when reversed: 1; r: one of four pairs, g and n, is as it should not be: -1/4
BOTH = judged("q") + judged("r")
RUN = ranked(("nmgh", "ghnm", "nmgh"), "q") + ranked(("gnhm", "nhgm", "gnhm"), "r")


def test_ir_measures_gets_ids_with_their_modes_alone_and_beside_others():
    assert {m.query_id for m in Following_selection.iter_calc(BOTH, RUN)} == {"q-ins", "q-rev", "r-ins", "r-rev"}
    with pytest.warns(UserWarning, match="Following_selection has no mean over query ids"):
        found = ir_measures.calc_aggregate([Following_selection, nDCG @ 10, WISE, pMRR], BOTH, RUN)
    assert found[nDCG @ 10] == ir_measures.calc_aggregate([nDCG @ 10], BOTH, RUN)[nDCG @ 10]
    assert found[Following_selection] == sum(m.value for m in Following_selection.iter_calc(BOTH, RUN)) / 4
    assert str(ir_measures.parse_measure("Following_selection(ties='file')")) == "Following_selection(ties='file')"
