"""What the papers claim, over their own tables; and the little language in which it is said."""

import pytest

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.registry.expressions import Missing, evaluate
from toolkit.registry.tables import Cell, papers

pytestmark = pytest.mark.unit

OUTCOMES = [outcome for paper in papers() for outcome in registry.outcomes(paper, registry.cells(paper))]


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


@pytest.mark.parametrize(("claim", "holds"), OUTCOMES, ids=[claim.id for claim, _ in OUTCOMES])
def test_a_claim_holds_over_the_published_tables_as_it_is_recorded(claim, holds):
    assert holds is claim.holds
    assert claim.note or claim.holds  # where the tables say otherwise, it is said how


def test_there_are_claims_of_every_paper():
    assert len(OUTCOMES) >= 25
    assert all(len(registry.claims(paper)) >= 5 for paper in papers())
    assert len({claim.id for claim, _ in OUTCOMES}) == len(OUTCOMES)


def test_a_changed_number_changes_a_claim():
    told = [
        cell._replace(value=0.9) if (cell.system, cell.table, cell.measure) == ("FollowIR", "2", "SICR") else cell
        for cell in registry.cells("infosearch")
    ]
    found = {claim.id: holds for claim, holds in registry.outcomes("infosearch", told)}
    assert found["infosearch-gpt-4o"] is False
    assert found["infosearch-listwise-pointwise-strict"] is False


def test_without_cells_a_claim_has_no_answer():
    assert {holds for _, holds in registry.outcomes("infosearch", [])} == {None}
    some = [cell for cell in registry.cells("infosearch") if cell.kind != "pointwise"]
    found = {claim.id: holds for claim, holds in registry.outcomes("infosearch", some)}
    assert found["infosearch-listwise-pointwise"] is None
    assert found["infosearch-dense-sparse"] is False


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("value(system='a', group='g', measure='m') == 0.1", True),
        ("mean(cells(kind='x', group='g', measure='m')) == 0.2", True),
        ("min(cells(group='g', measure='m')) < max(cells(group='g', measure='m'))", True),
        ("count(cells(group='g', measure='m')) == 3", True),
        ("count(cells(group='g', measure='m') > 0.2) == 2", True),
        ("names(measure='m') == 3", True),
        # joined by system: 0.1 < 0.2 holds for a, 0.3 < 0.1 does not for b; c has no h
        ("all(cells(group='g', measure='m') < cells(group='h', measure='m'))", False),
        ("any(cells(group='g', measure='m') < cells(group='h', measure='m'))", True),
        ("mean(cells(group='g', measure='m') - cells(group='h', measure='m')) == 0.05", True),
        ("-value(system='a', group='g', measure='m') < 0", True),
        ("0.05 <= value(system='a', group='g', measure='m') < 0.1", False),
        ("2 * 3 - 1 == 10 / 2", True),
        ("leads('c', cells(group='g', measure='m'))", False),  # b has as much
        ("leads('a', cells(group='h', measure='m'))", True),
        ("1 < 2 and not 2 < 1", True),
        ("1 > 2 or 2 > 1", True),
        ("value(system=['a'], group='g', measure='m') != 0.2", True),
    ],
)
def test_expressions(expression, holds):
    assert evaluate(expression, SMALL) is holds


@pytest.mark.parametrize(
    "expression",
    [
        "value(system='z', group='g', measure='m') == 1",
        "leads('z', cells(group='g', measure='m'))",
        "leads('c', cells(kind='y', measure='m'))",  # alone
        "all(cells(group='g', measure='n') < cells(group='h', measure='m'))",  # no system has both
        "1 < 2 or value(system='z', measure='m') > 0",
    ],
)
def test_what_there_are_no_cells_for_is_missing(expression):
    with pytest.raises(Missing):
        evaluate(expression, SMALL)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true') == 0",
        "open('/etc/passwd') == 1",
        "().__class__ == 1",
        "(lambda: 1)() == 1",
        "[1 for _ in 'a'] == 1",
        "value.__globals__ == 1",
        "cells == 1",
        "2 ** 9 == 512",
        "'a' == 'a'",
        "mean(1) == 1",
        "mean(cells(group='g', measure='m'), 2) == 1",
        "cells(nothing='g') == 1",
        "cells() == 1",
        "value(system=len('a')) == 1",
        "value(**{'system': 'a'}) == 1",
        "value(group='g', measure='m') == 0.1",  # three systems
        "mean(cells(system='a', kind='x', group='g', measure='m'))",  # a number, neither true nor false
        "cells(group='g', measure='m') > 0",
        "all(0 < cells(group='g', measure='m') < 1)",
        "not mean(cells(group='g', measure='m'))",
        "1 <",
        "",
        "import os",
    ],
)
def test_anything_else_is_refused(expression):
    with pytest.raises(ToolkitError):
        evaluate(expression, SMALL)


def test_two_values_of_one_cell_are_not_chosen_from():
    twice = [*SMALL, SMALL[0]._replace(table="2", value=0.5)]
    with pytest.raises(ToolkitError, match="several values"):
        evaluate("mean(cells(group='g', measure='m')) > 0", twice)
    assert evaluate("mean(cells(table=2, group='g', measure='m')) == 0.5", twice)
