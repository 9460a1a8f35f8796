"""The worked examples of the papers, and every branch and boundary of WISE, SICR and p-MRR."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from toolkit import metrics
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.metrics.families.paired import (
    VARIANTS,
    ideal_wise_of_ranks,
    per,
    pmrr_of_ranks,
    sicr_of_documents,
    wise_branches,
    wise_of_ranks,
)


@pytest.mark.parametrize(
    ("ranks", "paper", "release", "source"),
    [
        # (R_ori, R_ins, R_rev, N): the table of the three variants
        ((2, 1, 3, 2), 1, 0.95, 0.95),
        ((5, 1, 9, 2), 0.90, 0.80, 0.90),
        ((20, 1, 25, 2), 1 - 19**0.5 / 20, 0.05, 1 - 19**0.5 / 20),
        ((5, 10, 2, 2), -1, -0.5, -1),
        # full reward: R_ori = N counts for the paper only; R_ins = 2 never
        ((1, 1, 2, 1), 1, 1, 1),
        ((1, 1, 2, 2), 1, 1, 1),
        ((3, 1, 4, 3), 1, 0.9, 1 - 2**0.5 / 20),
        ((2, 2, 3, 3), 1 / 2**0.5, 1 / 2**0.5, 1 / 2**0.5),
        # K = 20: the last rank within, the first beyond
        ((20, 20, 21, 1), 20**-0.5, 20**-0.5, 20**-0.5),
        ((21, 1, 22, 1), 0.01, 0.01, 0.01),
        ((21, 21, 22, 1), 0.01, 0.01, 0.01),
        ((21, 1, 22, 21), 1, 0.01, 0.01),
        # R_rev = R_ori is no reward; it rose when instructed, and stayed: 0
        ((5, 1, 5, 2), 0, 0, 0),
        # the first case that matches counts where an equality meets two
        ((5, 5, 2, 2), 0, 0, 0),
        ((5, 8, 5, 2), -0.375, -0.375, -0.375),
        # fell when instructed, whatever the reversed mode does
        ((1, 2, 3, 1), -0.5, -0.5, -0.5),
        ((1, 2, 1, 1), -0.5, -0.5, -0.5),
        ((2, 4, 1, 1), -1, -0.5, -1),
        # rose when instructed, rose more when reversed
        ((10, 5, 1, 1), -0.9, -0.9, -0.9),
        ((10, 9, 8, 1), -0.2, -0.2, -0.2),
    ],
)
def test_wise_by_branch_and_boundary(ranks, paper, release, source):
    found = [float(wise_of_ranks(*ranks, variant=variant)) for variant in VARIANTS]
    assert found == pytest.approx([paper, release, source], abs=1e-12)


def test_every_branch_has_its_name():
    ranks = np.array([(2, 1, 3, 2), (5, 1, 9, 2), (30, 1, 31, 2), (5, 10, 2, 2), (5, 10, 7, 2), (5, 1, 2, 2)])
    branches = wise_branches(*ranks.T)
    first = [next(branch.name for branch in branches if branch.holds[row]) for row in range(len(ranks))]
    assert first == [branch.name for branch in branches]


def test_ideal_wise_depends_on_the_original_rank_alone():
    # N = 2; release: rank 2 is not below N; 20 is the last within K
    found = {variant: ideal_wise_of_ranks([1, 2, 20, 21], [2] * 4, variant=variant).tolist() for variant in VARIANTS}
    late = 1 - 19**0.5 / 20
    expected = {"paper": [1, 1, late, 0.01], "release": [1, 0.95, 0.05, 0.01], "source": [1, 0.95, late, 0.01]}
    assert found == {variant: pytest.approx(values) for variant, values in expected.items()}


def test_per_is_the_share_of_the_ideal_that_is_lost():
    assert per(0.751, -0.025) == pytest.approx(1.033, abs=5e-4)  # RankVicuna on audience: printed 103.3
    assert np.isnan(per(0.0, 0.0))


def test_pmrr_of_the_worked_examples():
    found = pmrr_of_ranks(np.array([10, 100, 1, 7]), np.array([5, 50, 3, 7]))
    assert found == pytest.approx([-0.5, -0.5, 2 / 3, 0])


@pytest.mark.parametrize(
    ("ranks", "scores", "missing", "paper", "release"),
    [
        ((2, 1, 3), (2, 3, 1), (0, 0, 0), True, True),
        ((2, 2, 3), (2, 3, 1), (0, 0, 0), False, False),  # did not rise
        ((2, 1, 2), (2, 3, 1), (0, 0, 0), False, False),  # did not fall
        ((2, 1, 3), (2, 2, 1), (0, 0, 0), False, False),  # rose in rank, not in score
        ((2, 1, 3), (2, 3, 2), (0, 0, 0), False, False),  # fell in rank, not in score
        ((1, 1, 2), (2, 3, 1), (0, 0, 0), False, True),  # stays first
        ((1, 1, 2), (2, 2, 1), (0, 0, 0), False, True),  # stays first with the same score
        ((1, 1, 2), (2, 1.9, 1), (0, 0, 0), False, False),
        ((1, 1, 1), (2, 3, 1), (0, 0, 0), False, False),
        # missing when reversed, all scores negative: a score of 0 is above, a missing document is below
        ((2, 1, 9), (-2, -1, 0), (0, 0, 1), True, False),
        # missing in the original, all scores negative
        ((9, 1, 10), (0, -1, -9), (1, 0, 0), False, False),
        ((9, 1, 10), (0, -1, 0), (1, 0, 1), False, False),  # missing twice: neither is above the other
    ],
)
def test_sicr_by_case(ranks, scores, missing, paper, release):
    columns = np.array([ranks]), np.array([scores], float), np.array([missing], bool)
    assert [bool(sicr_of_documents(*columns, variant)[0]) for variant in ("paper", "release")] == [paper, release]


def test_several_gold_documents_are_averaged_within_their_query_first():
    # query a has two gold documents (1, 1, 2) and (2, 3, 3), query b one (1, 1, 2); N = 2 and 1
    judged = Qrels.from_rows(
        Qrel(f"{q}-{m}", d, int(m != "rev"))
        for q, docs in (("a", "gh"), ("b", "g"))
        for m in ("ori", "ins", "rev")
        for d in docs
    )
    orders = {"a-ori": "gh", "a-ins": "gxh", "a-rev": "xgh", "b-ori": "g", "b-ins": "g", "b-rev": "xg"}
    run = Run.from_dict({q: {d: -i for i, d in enumerate(docs)} for q, docs in orders.items()})
    (found,) = metrics.evaluate(["WISE"], run, judged)
    assert found.values.tolist() == pytest.approx([(1 - 1 / 3) / 2, 1])
    assert found.aggregate == pytest.approx((1 / 3 + 1) / 2)


def test_rev_need_not_be_judged_of_every_query_but_must_be_retrieved():
    judged = Qrels.from_rows([Qrel("a-ori", "g", 1), Qrel("a-ins", "g", 1), Qrel("b-rev", "g", 0)])
    run = {"a-ori": {"g": 1.0}, "a-ins": {"g": 1.0}, "a-rev": {"x": 2.0, "g": 1.0}}
    assert metrics.evaluate(["WISE"], Run.from_dict(run), judged)[0].aggregate == 1
    del run["a-rev"]
    assert metrics.evaluate(["WISE"], Run.from_dict(run), judged)[0].aggregate == -1


ABSENT = Run.from_dict({"a-1-ori": {"g": 1.0}, "a-1-ins": {"g": 1.0}, "a-1-rev": {"x": 2.0, "g": 1.0}, "a-2-ori": {"g": 1.0}})
BOTH = Qrels.from_rows(Qrel(f"a-{i}-{m}", "g", 1) for i in (1, 2) for m in ("ori", "ins", "rev"))


@pytest.mark.parametrize(
    ("missing", "wise", "ideal", "robustness"),
    [
        ("worst", ("a-1", "a-2"), ("a-1", "a-2"), [1, 0, 0]),
        ("skip", ("a-1",), ("a-1", "a-2"), [1, 1, pytest.approx(0.6309, abs=1e-4)]),
    ],
)
def test_absent_queries_count_or_are_left_out(missing, wise, ideal, robustness):
    found = metrics.evaluate(["WISE", "WISE_ideal", "Robustness@10"], ABSENT, BOTH, missing=missing)
    assert [values.query_ids for values in found[:2]] == [wise, ideal]
    assert [values.aggregate for values in found[2:]] == robustness


def test_absent_queries_are_an_error_on_demand():
    with pytest.raises(ToolkitError, match=r"lacks 1 of the queries that WISE needs: a-2") as caught:
        metrics.evaluate(["WISE"], ABSENT, BOTH, missing="error")
    assert "--missing" in caught.value.hint
    assert (
        metrics.evaluate(["nDCG@10"], ABSENT.select(["a-1-ori"]), Qrels.from_rows([Qrel("a-1-ori", "g", 1)]), missing="error")[
            0
        ].aggregate
        == 1
    )


def test_groups_are_the_benchmarks_or_guessed():
    run = Run.from_dict({"x1": {"g": 1.0}, "x2": {"h": 1.0}, "y_1": {"g": 1.0}})
    judged = Qrels.from_rows(Qrel(q, "g", 1) for q in ("x1", "x2", "y_1"))
    (guessed,) = metrics.evaluate(["Robustness@1"], run, judged)
    assert dict(zip(guessed.query_ids, guessed.values, strict=True)) == {"x1": 1, "x2": 0, "y": 1}
    (given,) = metrics.evaluate(["Robustness@1"], run, judged, groups={"x1": "x", "x2": "x", "y_1": "y"})
    assert dict(zip(given.query_ids, given.values, strict=True)) == {"x": 0, "y": 1}
    with pytest.raises(ToolkitError, match="query y_1 has no core query"):
        metrics.evaluate(["Robustness@1"], run, judged, groups={"x1": "x", "x2": "x"})


def test_other_providers_rank_as_we_do_and_take_the_highest_label():
    # equal scores: b before a; `a` holds the perspective `pro` and not `con`
    run = Run.from_dict({"q-1": {"a": 1.0, "b": 1.0}, "r-1": {"a": 1.0}})
    rows = [
        ("q-1", "a", 1, "pro"),
        ("q-1", "a", 0, "con"),
        ("q-1", "b", 0, "con"),
        ("q-1", "c", 1, "con"),
        ("r-1", "a", 0, "0"),
    ]
    judged = Qrels.from_rows(Qrel(*row) for row in rows)
    found = metrics.evaluate(["RR", "Rprec", "P@2", "SetP", "StRecall@1", "StRecall@2", "NumRel"], run, judged)
    values = {v.measure: v.values.tolist() for v in found}
    assert values.pop("StRecall@1") == [0, 0]
    assert values.pop("StRecall@2")[0] == 0.5
    assert values == {"RR": [0.5, 0], "Rprec": [0.5, 0], "P@2": [0.5, 0], "SetP": [0.5, 0], "NumRel": [2, 0]}
    assert found[-1].aggregate == 2  # a count is a sum


@pytest.mark.process
@pytest.mark.skipif(not shutil.which("perl"), reason="gdeval needs perl")
def test_query_ids_that_end_alike_stay_apart_for_every_provider():
    run = Run.from_dict({"q-1": {"a": 1.0}, "r-1": {"b": 1.0}})
    judged = Qrels.from_rows([Qrel("q-1", "a", 1), Qrel("r-1", "a", 1)])
    (found,) = metrics.evaluate(["ERR@5"], run, judged)
    assert dict(zip(found.query_ids, found.values, strict=True)) == {"q-1": 0.0625, "r-1": 0}


def test_a_document_ranked_twice_is_refused():
    run = Run.from_columns(["q", "q"], ["g", "g"], [2.0, 1.0], source="run.trec")
    with pytest.raises(ToolkitError, match=r"run.trec: document g is ranked twice for query q"):
        metrics.evaluate(["nDCG@10"], run, Qrels.from_rows([Qrel("q", "g", 1)]))


def test_a_query_in_two_kinds_of_modes_is_refused():
    judged = Qrels.from_rows([Qrel("a-ori", "g", 1), Qrel("a-og", "g", 1)])
    with pytest.raises(ToolkitError, match="query a is judged as a-ori and as a-og"):
        metrics.evaluate(["WISE"], ABSENT, judged)


LEVELS = Modes({"plain": "base", "level1": "instructed", "level2": "instructed"})


def test_several_instructed_modes_are_no_matter_where_no_base_mode_is_judged():
    judged = replace(Qrels.from_rows([Qrel("a-level1", "g", 1), Qrel("a-level2", "g", 1)]), modes=LEVELS)
    run = Run.from_dict({"a-level1": {"g": 1.0}, "a-level2": {"x": 2.0, "g": 1.0}})
    assert [(found.mode, found.aggregate) for found in metrics.evaluate(["RR"], run, judged)] == [
        ("level1", 1),
        ("level2", 0.5),
    ]
    assert not metrics.findings(run, judged).without_gold


def test_several_instructed_modes_beside_a_base_mode_are_refused():
    judged = replace(Qrels.from_rows([Qrel(f"a-{mode}", "g", 1) for mode in LEVELS]), modes=LEVELS)
    with pytest.raises(ToolkitError, match="query a is judged as a-level1 and as a-level2"):
        metrics.evaluate(["pMRR"], ABSENT, judged)


def test_levels_of_a_query_with_ids_of_their_own_are_compared_with_its_base_mode():
    labels = {"a_1-plain": {"g": 1, "n": 1}, "a_1-level1": {"g": 1, "n": 0}, "a_2-plain": {"g": 1}, "a_2-level2": {"g": 1}}
    rows = [Qrel(query, doc, label) for query, docs in labels.items() for doc, label in docs.items()]
    run = Run.from_dict({query: {"n": 2.0, "g": 1.0} for query in labels} | {"a_1-level1": {"g": 2.0, "n": 1.0}})
    (found,) = metrics.evaluate(["pMRR"], run, replace(Qrels.from_rows(rows), modes=LEVELS))
    assert dict(zip(found.query_ids, found.values.tolist(), strict=True)) == {"a_1": 0.5}  # n falls from 1 to 2; a_2 has none


def test_nothing_to_measure_is_not_a_number():
    empty = Run.from_columns([], [], [])
    for values in metrics.evaluate(["WISE", "pMRR"], empty, BOTH):
        assert values.mode == "paired"
    no_pairs = metrics.evaluate(["WISE", "nDCG@10", "MRecall@5"], empty, Qrels.from_rows([Qrel("q", "g", 1)]))
    assert [(v.measure, v.mode, v.aggregate) for v in no_pairs] == [("nDCG@10", "", 0), ("MRecall@5", "", 0)]
