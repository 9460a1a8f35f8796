"""What is known of measures: their cards, axioms and references, what they depend on, and how they decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolkit.core.system.lazy_names import pandas

if TYPE_CHECKING:
    from toolkit.core.tables.aligned_table import Table
    from toolkit.studies.measure_cards.measure_card import Card

__all__ = [
    "measure_axioms",
    "measure_card",
    "measure_discrimination",
    "measure_references",
    "measure_sensitivity",
    "measures",
]


def measures() -> pandas.DataFrame:
    """The measures that Tandem adds to ir_measures, one a row.

    Columns: name, title, definition, source, status (`published` or `experimental`), variants, direction, range, over, needs,
    modes, absent, parameters, related.
    """
    from toolkit.studies.measure_cards.measure_card import Card, cards

    return pandas.DataFrame(cards(), columns=list(Card._fields))


def measure_card(name: str) -> Card:
    """The card of one measure (`WISE`, `p-MRR`): a named tuple with the columns of `measures`. Raises ToolkitError."""
    from toolkit.studies.measure_cards.measure_card import card

    return card(name)


def measure_axioms() -> pandas.DataFrame:
    """Every measure, in every variant, against every axiom.

    `yes`; `no` where there is a counterexample; empty where the axiom is not about the measure. What the columns are is in
    `tandem measures axioms`.
    """
    from toolkit.studies.measure_cards.card_tables import overview

    return _frame(overview())


def measure_references(names: str | Sequence[str] = (), *, measures: str | Sequence[str] | None = None) -> pandas.DataFrame:
    """What BM25, its placebo, and blind, random, oracle and reversed orders score.

    names     of benchmarks, or of groups of them; none for all that are on this machine and have an instructed mode
    measures  as ir_measures writes them; None for those of each benchmark's own table

    Columns: benchmark, measure, mode, bm25, placebo, blind, random, oracle, reversed. Raises ToolkitError.
    """
    from toolkit.studies.measure_cards.reference_scores import reference_scores

    names, measures = ([each] if isinstance(each, str) else each for each in (names, measures))
    return _frame(reference_scores(names, measures))


def measure_sensitivity(
    runs: Any, *, digits: int = 3, depths: Sequence[int] = (100, 20, 10), **judged: Any
) -> pandas.DataFrame:
    """The values of runs beside those of the same runs with rounded scores, ties the other way, and shorter lists.

    runs    as `evaluate` takes them
    digits  after the point that scores keep
    depths  documents of a list that are kept
    judged  `benchmark`, or `qrels` and `modes`; `measures`

    Columns: run, measure, mode, change, before, after, changed (the share of queries whose value becomes another one), queries.
    Raises ToolkitError.
    """
    from toolkit.studies.measure_cards.sensitivity import sensitivity

    return _frame(sensitivity(runs, digits=digits, depths=depths, **judged))


def measure_discrimination(runs: Any = None, *, seed: int = 0, **judged: Any) -> pandas.DataFrame:
    """How many core queries measures need to decide between two runs as other core queries do, and significantly.

    runs    two or more, as `evaluate` takes them; None for the registered runs of the benchmark
    seed    of the parts of the core queries
    judged  `benchmark`, or `qrels` and `modes`; `measures`

    Columns: measure, mode, core queries, agree, significant, pairs. Raises ToolkitError.
    """
    from toolkit.studies.measure_cards.discrimination import discrimination

    return _frame(discrimination(runs, seed=seed, **judged))


def _frame(table: Table) -> pandas.DataFrame:
    from toolkit.core.tables.aligned_table import Number

    rows = [[cell.value if isinstance(cell, Number) else cell for cell in row] for row in table.rows]
    return pandas.DataFrame(rows, columns=[column.title for column in table.columns])
