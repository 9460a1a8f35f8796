"""The tables of a card, on the terminal and on its page alike."""

from __future__ import annotations

from toolkit.core.aligned_table import Table
from toolkit.measure_cards.axiom_tables import counterexample_table
from toolkit.measure_cards.published_values import agreement_table, published_table


def tables_of(name: str) -> list[Table]:
    """Axioms, published values, agreement with other measures: those that there is something to say of."""
    return [table for table in (counterexample_table(name), published_table(name), agreement_table(name)) if table.rows]
