"""What is known of measures: their cards, axioms, references, and what digits of scores decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

    from toolkit.core.aligned_table import Table
    from toolkit.measure_cards.measure_card import Card

__all__ = ["measure_axioms", "measure_card", "measure_references", "measure_rounding", "measures"]


def measures() -> pandas.DataFrame:
    """The measures that Tandem adds to ir_measures, one a row.

    Columns: name, title, definition, source, status (`published` or `experimental`), variants, direction, range, over, needs,
    modes, absent, parameters, related.
    """
    import pandas

    from toolkit.measure_cards.measure_card import Card, cards

    return pandas.DataFrame(cards(), columns=list(Card._fields))


def measure_card(name: str) -> Card:
    """The card of one measure (`WISE`, `p-MRR`): a named tuple with the columns of `measures`. Raises ToolkitError."""
    from toolkit.measure_cards.measure_card import card

    return card(name)


def measure_axioms() -> pandas.DataFrame:
    """Every measure, in every variant, against every axiom.

    `yes`; `no` where there is a counterexample; empty where the axiom is not about the measure. What the columns are is in
    `tandem measures axioms`.
    """
    from toolkit.measure_cards.axiom_tables import overview

    return _frame(overview())


def measure_references(names: str | Sequence[str] = (), *, measures: str | Sequence[str] | None = None) -> pandas.DataFrame:
    """What BM25, its placebo, and blind, random, oracle and reversed orders score.

    names     of benchmarks; none for all that are on this machine and have an instructed mode
    measures  as ir_measures writes them; None for those of each benchmark's own table

    Columns: benchmark, measure, mode, bm25, placebo, blind, random, oracle, reversed. Raises ToolkitError.
    """
    from toolkit.measure_cards.reference_scores import reference_scores

    names, measures = ([each] if isinstance(each, str) else each for each in (names, measures))
    return _frame(reference_scores(names, measures))


def measure_rounding(runs: Any, *, digits: int = 3, **judged: Any) -> pandas.DataFrame:
    """The values of runs beside those of the same runs with rounded scores.

    runs    as `evaluate` takes them
    digits  after the point
    judged  `benchmark`, or `qrels` and `modes`; `measures`

    Columns: run, measure, mode, value, rounded, changed (the share of queries whose value is another one), queries. Raises
    ToolkitError.
    """
    from toolkit.measure_cards.rounding import rounding

    return _frame(rounding(runs, digits=digits, **judged))


def _frame(table: Table) -> pandas.DataFrame:
    import pandas

    from toolkit.core.aligned_table import Number

    rows = [[cell.value if isinstance(cell, Number) else cell for cell in row] for row in table.rows]
    return pandas.DataFrame(rows, columns=[column.title for column in table.columns])
