"""Following, decomposed: worked values, its definition, and the properties that docs/measures.md promises."""

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
from toolkit.metrics import WISE, Following, Following_gold, Following_selection, pMRR

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "following"
PARTS = ("Following_selection", "Following_gold", "Following_negatives", "Following_shift")
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
    return values("Following", *lists)["paired"]


@pytest.mark.parametrize("name", ["Following", *PARTS])
def test_the_worked_values_are_met(name):
    run, qrels = ([line.split() for line in (GOLDEN / file).read_text().splitlines()] for file in ("run.trec", "qrels.txt"))
    found = metrics.evaluate(
        [name],
        Run.from_rows((query, doc, float(score)) for query, _, doc, _, score, _ in run),
        Qrels.from_rows(Qrel(query, doc, int(label)) for query, _, doc, label in qrels),
    )
    of_modes = {each.mode: dict(zip(each.query_ids, each.values.tolist(), strict=True)) for each in found}
    assert of_modes == json.loads((GOLDEN / "expected.json").read_text())[name]


@given(paired_cases(), st.sampled_from(TIES))
def test_following_and_its_parts_are_their_definitions(case, ties):
    assert by_query(f"Following(ties='{ties}')", *case) == near(literal.following_of_run(*case, ties))
    expected = literal.following_parts_of_run(*case, ties)
    for place, name in enumerate(PARTS):
        assert by_query(f"{name}(ties='{ties}')", *case) == near({q: parts[place] for q, parts in expected.items()})


@given(paired_cases())
def test_what_ignores_the_instruction_scores_nothing_at_all(case):
    run, qrels = case
    blind = {q[:-3] + mode: docs for q, docs in run.items() if q.endswith("ori") for mode in MODES}
    for name in ("Following", *PARTS):
        found = by_query(name, blind, qrels)
        assert all(number == 0 for q, number in found.items() if {q, f"{q}-ori"} & blind.keys())


@given(paired_cases())
def test_instructed_and_reversed_exchanged_change_the_sign_exactly(case):
    run, qrels = case
    other = {"ori": "ori", "ins": "rev", "rev": "ins"}
    exchanged = {q[:-3] + other[q[-3:]]: docs for q, docs in run.items()}
    straight, turned = by_query("Following", run, qrels), by_query("Following", exchanged, qrels)
    complete = [q for q in straight if all(f"{q}-{mode}" in run for mode in MODES)]
    assert [turned[q] for q in complete] == [-straight[q] for q in complete]


@given(RUNS)
def test_the_two_selections_add_up_and_every_value_is_within_its_range(lists):
    parts = values("Following_selection", *lists)
    assert value(*lists) == near(parts["ins"] + parts["rev"])
    assert all(-1 <= number <= 1 for number in (value(*lists), *parts.values()))


@given(RUNS)
def test_gold_and_negatives_differ_from_the_shift_by_as_much(lists):
    gold, negatives, shift = (values(name, *lists) for name in PARTS[1:])
    assert {m: gold[m] - shift[m] for m in shift} == near({m: shift[m] - negatives[m] for m in shift})


def test_documents_that_move_alike_are_a_shift_and_no_selection():
    # ranks 1 2 3 4 become 3 4 5 6 in both modes: the order among the four stays
    lists = ("gnhm", "xygnhm", "xygnhm")
    rise = (1 - 2 + np.log2(3) - np.log2(5) + 2 - np.log2(6) + np.log2(5) - np.log2(7)) / 4
    assert values("Following_shift", *lists) == near({"ins": rise, "rev": rise})
    assert value(*lists) == 0
    assert values("Following_selection", *lists) == {"ins": 0, "rev": 0}


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
    (found,) = metrics.evaluate(["Following"], oracle, qrels)
    assert found.aggregate == retrieved[0] * retrieved[1] / 4


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
        ["Following", *PARTS], Run.from_rows(run), Qrels.from_rows(r for name in names for r in judged(name))
    )
    for each in found:
        assert abs(each.aggregate) < 4 * each.values.std() / len(names) ** 0.5, (each.measure, each.mode)
    assert found[0].values.std() > 0.3


def test_without_a_reversed_mode_the_parts_have_values_and_the_whole_has_none():
    qrels = {"q-ori": dict.fromkeys("gn", 1), "q-ins": {"g": 1, "n": 0}}
    run = {"q-ori": {"n": 2.0, "g": 1.0}, "q-ins": {"g": 2.0, "n": 1.0}}
    assert by_query("Following", run, qrels) == {}
    assert by_query("Following_selection", run, qrels) == {"q-ins": 1.0}


# q: gold above negatives when instructed, below when reversed: 1; r: one of four pairs, g and n, is as it should not be: -1/4
BOTH = judged("q") + judged("r")
RUN = ranked(("nmgh", "ghnm", "nmgh"), "q") + ranked(("gnhm", "nhgm", "gnhm"), "r")
FOLLOWING = {"q": 1.0, "r": -0.25}


def test_ir_measures_gets_base_ids_alone_and_one_value_a_query_beside_others():
    assert {m.query_id: m.value for m in Following.iter_calc(BOTH, RUN)} == FOLLOWING
    mean = sum(FOLLOWING.values()) / 2
    found = ir_measures.calc_aggregate([Following, nDCG @ 10, WISE, pMRR], BOTH, RUN)
    assert found[Following] == mean
    assert found[nDCG @ 10] == ir_measures.calc_aggregate([nDCG @ 10], BOTH, RUN)[nDCG @ 10]
    assert {m.query_id for m in Following_selection.iter_calc(BOTH, RUN)} == {"q-ins", "q-rev", "r-ins", "r-rev"}
    with pytest.warns(UserWarning, match="Following_gold has no mean over query ids"):
        ir_measures.calc_aggregate([Following_gold, nDCG @ 10], BOTH, RUN)
    assert str(ir_measures.parse_measure("Following(ties='file')")) == "Following(ties='file')"
