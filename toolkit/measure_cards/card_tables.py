"""The tables of a card, on the terminal and on its page alike."""

from __future__ import annotations

from toolkit.core.aligned_table import Table
from toolkit.measure_cards.axiom_tables import counterexample_table
from toolkit.measure_cards.evidence import evidence_tables
from toolkit.measure_cards.published_values import agreement_table, published_table


def tables_of(name: str) -> list[Table]:
    """Axioms, what is published, and what is recorded of the registered runs: those that there is something to say of."""
    from_papers = (counterexample_table(name), published_table(name), agreement_table(name))
    return [*(table for table in from_papers if table.rows), *evidence_tables(name)]
