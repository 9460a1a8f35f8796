"""What the papers claim, over their own tables."""

import pandas as pd
import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.scores import Score
from toolkit.registry import published
from toolkit.registry.published.claim_functions import FUNCTIONS
from toolkit.registry.published.claim_numbers import Missing, above, all_above, leads, numbers, rows, value
from toolkit.registry.published.comparison import claims_over
from toolkit.registry.published.paper_tables import Cell, papers

OUTCOMES = [outcome for paper in papers() for outcome in published.outcomes(paper, published.cells(paper))]


def cells(*rows):
    """Cells of table 1 from (system, kind, group, measure, value)."""
    return [Cell("1", s, kind, group, "", m, "", "fraction", value, "", (), None) for s, kind, group, m, value in rows]


SMALL = cells(
    ("a", "x", "g", "m", 0.1),
    ("b", "x", "g", "m", 0.3),
    ("c", "y", "g", "m", 0.3),
    ("a", "x", "h", "m", 0.2),
    ("b", "x", "h", "m", 0.1),
    ("c", "y", "g", "n", 0.9),
)
NUMBERS = pd.DataFrame(SMALL)


@pytest.mark.parametrize(("claim", "holds"), OUTCOMES, ids=[claim.id for claim, _ in OUTCOMES])
def test_a_claim_holds_over_the_published_tables_as_it_is_recorded(claim, holds):
    assert holds is claim.holds
    assert claim.note or claim.holds  # where the tables say otherwise, it is said how


STANCES = [
    Score("bm25", "all", form, f"{measure}@5", value, 10)
    for form, shares in {"question": (0.4, 0.3, 0.2), "supporting": (0.6, 0.1, 0.5), "opposing": (0.2, 0.4, -0.1)}.items()
    for measure, value in zip(("SupportingOnly", "OpposingOnly", "Lean"), shares, strict=True)
]


def test_claims_about_figures_without_numbers_are_answered_by_the_stances_of_runs():
    found = {claim.id: holds for claim, holds in claims_over(STANCES, ["all"], "berds", {"bm25": None})}
    assert (found["berds-supporting"], found["berds-sycophancy"], found["berds-contriever"]) == (True, True, None)
    # asked from the opposing side it leans as much to the supporting one
    same = [row._replace(value=0.2) if row.measure == "Lean@5" else row for row in STANCES]
    found = {claim.id: holds for claim, holds in claims_over(same, ["all"], "berds", {"bm25": None})}
    assert (found["berds-supporting"], found["berds-sycophancy"]) == (True, False)


@pytest.mark.parametrize(
    ("claim", "cell", "value", "holds"),
    [
        ("infosearch-pmrr-eleven", {"table": "1", "system": "RankZephyr-v1", "measure": "pMRR"}, 0.08, False),
        ("infosearch-pmrr-sparse", {"table": "1", "system": "BM25", "measure": "pMRR"}, -0.03, False),
        (
            "infosearch-mistral",
            {"table": "2", "system": "Mistral-ins-v0.2", "kind": "pointwise", "measure": "WISE"},
            0.09,
            False,
        ),
        ("instructir-overlap", {"table": "5", "system": "RepLLaMa", "measure": "gap:Robustness@10"}, -0.01, False),
        ("instructir-overlap-colbert", {"table": "5", "system": "INSTRUCTOR-XL", "measure": "gap:Robustness@10"}, -0.2, False),
        ("instructir-overlap-repllama", {"table": "5", "system": "GTR-base", "measure": "gap:Robustness@10"}, -0.001, False),
        ("mfollowir-generalise", {"table": "3", "group": "rus", "kind": "cross-encoder", "measure": "pMRR"}, -0.5, False),
        ("berds-reranking-precision", {"table": "4", "mode": "re-ranking", "system": "DPR", "measure": "P@5"}, 0.5, False),
        ("berds-expansion-precision", {"table": "4", "mode": "query expansion", "system": "DPR", "measure": "P@5"}, 0.5, False),
        ("berds-expansion-tenth", {"table": "4", "mode": "default", "system": "DPR", "measure": "MRecall@5"}, 0.01, False),
        ("mfollowir-gap", {"table": "4", "system": "Promptriever-Llama3.1", "measure": "pMRR"}, 0.09, False),
        (
            "mfollowir-below-zero",
            {"table": "3", "system": ["mE5-base", "RepLLaMA", "Nomic-Embed"], "measure": "pMRR"},
            0.1,
            True,
        ),
        (
            "mfollowir-below-zero",
            {"table": "3", "system": ["mE5-base", "mE5-small", "RepLLaMA", "Nomic-Embed"], "measure": "pMRR"},
            0.1,
            False,
        ),
        ("berds-methods", {"table": "4", "group": "average/sphere", "mode": "re-ranking", "measure": "MRecall@5"}, 0.01, False),
        (
            "berds-search-results",
            {"table": "3", "group": "average/google", "system": "BM25", "measure": "MRecall@5"},
            0.3,
            False,
        ),
        ("berds-search-results", {"table": "3", "group": "kialo/google", "system": "BM25", "measure": "MRecall@5"}, 0.3, True),
        ("berds-coverage", {"table": "5", "system": "CONT.", "measure": "MRecall@100"}, 0.1, False),
        ("berds-judge-open", {"table": "7", "system": "Zephyr", "measure": "F1"}, 0.63, False),
        ("berds-judge-open", {"table": "7", "system": "GPT-4", "measure": "F1"}, 0.9, True),
    ],
)
def test_another_number_gives_another_answer(claim, cell, value, holds):
    paper = claim.partition("-")[0]

    def is_named(each):
        return all(getattr(each, name) in (wanted if isinstance(wanted, list) else [wanted]) for name, wanted in cell.items())

    cells = published.cells(paper)
    assert any(map(is_named, cells))
    changed = [each._replace(value=value) if is_named(each) else each for each in cells]
    assert {each.id: found for each, found in published.outcomes(paper, changed)}[claim] is holds


def test_a_claim_about_a_method_is_open_where_one_setting_has_no_number_with_it():
    lacking = {"table": "4", "system": "DPR", "group": "average/sphere", "mode": "re-ranking"}
    some = [each for each in published.cells("berds") if {name: getattr(each, name) for name in lacking} != lacking]
    assert len(some) < len(published.cells("berds"))
    found = {claim.id: holds for claim, holds in published.outcomes("berds", some)}
    assert (found["berds-reranking-count"], found["berds-expansion-count"]) == (None, True)


def test_each_claim_of_every_paper_has_a_function():
    assert sorted(claim.id for claim, _ in OUTCOMES) == sorted(FUNCTIONS)
    assert len(FUNCTIONS) == 74
    assert all(claim.id.startswith(f"{claim.paper}-") for claim, _ in OUTCOMES)
    assert all(len(published.claims(paper)) >= 5 for paper in papers())


def test_a_changed_number_changes_a_claim():
    changed = [
        cell._replace(value=0.9) if (cell.system, cell.table, cell.measure) == ("FollowIR", "2", "SICR") else cell
        for cell in published.cells("infosearch")
    ]
    found = {claim.id: holds for claim, holds in published.outcomes("infosearch", changed)}
    assert found["infosearch-gpt-4o"] is False
    assert found["infosearch-listwise-pointwise-strict"] is False


@pytest.mark.parametrize("paper", papers())
def test_without_cells_a_claim_has_no_answer(paper):
    assert {holds for _, holds in published.outcomes(paper, [])} == {None}


def test_a_claim_of_which_a_part_has_no_cells_has_no_answer():
    some = [cell for cell in published.cells("infosearch") if cell.kind != "pointwise"]
    found = {claim.id: holds for claim, holds in published.outcomes("infosearch", some)}
    assert found["infosearch-listwise-pointwise"] is None
    assert found["infosearch-dense-sparse"] is False
    # over the audience alone GPT-4o does not lead, which is not what is claimed
    some = [cell for cell in published.cells("infosearch") if cell.table != "2" or cell.group == "audience"]
    found = {claim.id: holds for claim, holds in published.outcomes("infosearch", some)}
    assert found["infosearch-gpt-4o-everywhere"] is None


def test_numbers_are_picked_by_the_columns_of_the_tables():
    picked = numbers(NUMBERS, group="g", measure="m")
    assert picked.to_dict() == {("a", "x", "g"): 0.1, ("b", "x", "g"): 0.3, ("c", "y", "g"): 0.3}
    assert numbers(NUMBERS, "group", system=["a"], measure="m").to_dict() == {"g": 0.1, "h": 0.2}
    assert value(NUMBERS, system="a", group="g", measure="m") == 0.1
    assert rows(NUMBERS, measure="m")["system"].tolist() == ["a", "b", "c", "a", "b"]


def test_columns_are_compared_place_by_place():
    g, h = (numbers(NUMBERS, "system", group=group, measure="m") for group in "gh")
    assert not all_above(h, g)  # 0.2 > 0.1 holds for a, 0.1 > 0.3 does not for b; c has no h
    assert all_above(h[["a"]], g)
    assert not above(0.1 + 0.2, 0.3)  # 0.30000000000000004
    assert leads("a", h)
    assert not leads("c", g)  # b has as much


@pytest.mark.parametrize(
    "compute",
    [
        lambda: value(NUMBERS, system="z", group="g", measure="m"),
        lambda: rows(NUMBERS, kind="z"),
        lambda: leads("z", numbers(NUMBERS, group="g", measure="m")),
        lambda: leads("c", numbers(NUMBERS, kind="y", measure="m")),  # alone
        lambda: all_above(numbers(NUMBERS, "system", measure="n"), numbers(NUMBERS, "system", group="h", measure="m")),
    ],
)
def test_what_there_are_no_cells_for_is_missing(compute):
    with pytest.raises(Missing):
        compute()


def test_two_numbers_of_one_place_are_not_chosen_from():
    twice = pd.DataFrame([*SMALL, SMALL[0]._replace(table="2", value=0.5)])
    with pytest.raises(ToolkitError, match="several numbers fit"):
        numbers(twice, group="g", measure="m")
    with pytest.raises(ToolkitError, match="several numbers fit"):
        value(NUMBERS, group="g", measure="m")  # three systems
    assert numbers(twice, table=2, group="g", measure="m").to_dict() == {("a", "x", "g"): 0.5}
