"""The cards of all measures as one page of the docs, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from toolkit.measure_cards.measure_card import Card, cards, facts

HEAD = """\
# Cards of the measures

What each of Tandem's measures is, needs and gives, rendered from `toolkit/registry/measures.yaml`. `tandem measures show NAME`
prints one of them, [the guide](guides/measures.md) says how they are read, and [measures](measures.md) has the formulas.
"""


def page() -> str:
    """A section a measure."""
    return "\n".join([HEAD, *(line for each in cards() for line in section(each))])


def section(of: Card) -> Iterator[str]:
    """One card."""
    yield from (f"## {of.name}", "", "| | |", "| --- | --- |")
    yield from (f"| {name} | {cell(value)} |" for name, value in facts(of))
    yield ""


def cell(text: str) -> str:
    """Text as a cell of a table has it."""
    return text.replace("|", "\\|")
