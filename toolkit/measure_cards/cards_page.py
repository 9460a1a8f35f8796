"""The cards of all measures as one page of the docs, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from toolkit.core.aligned_table import Table
from toolkit.measure_cards.axiom_tables import counterexample_table, overview
from toolkit.measure_cards.measure_card import Card, cards, facts

HEAD = """\
# Cards of the measures

What each of Tandem's measures is, needs and gives, rendered from `toolkit/registry/measures.yaml`. `tandem measures show NAME`
prints one of them, [the guide](guides/measures.md) says how they are read, and [measures](measures.md) has the formulas.
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
    if (axioms := counterexample_table(of.name)).rows:
        yield from (*in_markdown(axioms), "")


def in_markdown(table: Table) -> Iterator[str]:
    """A table of words."""
    yield f"| {' | '.join(column.name for column in table.columns)} |"
    yield "|" + " --- |" * len(table.columns)
    yield from (f"| {' | '.join(cell(str(each)) for each in row)} |" for row in table.rows)


def cell(text: str) -> str:
    """Text as a cell of a table has it."""
    return text.replace("|", "\\|")
