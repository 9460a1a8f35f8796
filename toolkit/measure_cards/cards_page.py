"""The cards of all measures as one page of the docs, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from toolkit.core.aligned_table import Cell, Number, Table
from toolkit.measure_cards.axiom_tables import overview
from toolkit.measure_cards.card_tables import tables_of
from toolkit.measure_cards.measure_card import Card, cards, facts

HEAD = """\
# Cards of the measures

What each of Tandem's measures is, needs and gives, rendered from `toolkit/registry/measures.yaml`. `tandem measures show NAME`
prints one of them, and [measures](measures.md) has the formulas. [The guide](guides/measures.md) says how cards are read,
[what these measures reward](guides/what-measures-reward.md) what comes of it.
"""


def page() -> str:
    """The axioms of all, then a section a measure."""
    axioms = overview()
    lines = [HEAD, "## Axioms", "", *in_markdown(axioms), "", *(f"- {note}" for note in axioms.notes), ""]
    return "\n".join([*lines, *(line for each in cards() for line in section(each))])


def section(of: Card) -> Iterator[str]:
    """One card."""
    yield from (f"## {of.name}", "", "| | |", "| --- | --- |")
    yield from (f"| {name} | {cell(value)} |" for name, value in facts(of))
    yield ""
    for table in tables_of(of.name):
        yield from (*in_markdown(table), "")


def in_markdown(table: Table) -> Iterator[str]:
    """A table of words and of numbers."""
    yield f"| {' | '.join(column.name for column in table.columns)} |"
    yield "|" + " --- |" * len(table.columns)
    yield from (f"| {' | '.join(cell(shown(each)) for each in row)} |" for row in table.rows)


def shown(value: Cell) -> str:
    """A cell's value with its own decimals; nothing for None."""
    return f"{value.value:.{value.decimals}f}" if isinstance(value, Number) else "" if value is None else str(value)


def cell(text: str) -> str:
    """Text as a cell of a table has it."""
    return text.replace("|", "\\|")
