"""The cards of all measures as pages of the docs, in Markdown."""

from collections.abc import Iterator

from toolkit.core.tables.aligned_table import Cell, Number, Table
from toolkit.studies.measure_cards.card_tables import overview, tables_of
from toolkit.studies.measure_cards.measure_card import Card, cards, facts

HEAD = """\
# Cards of the measures

A page each: what each of Tandem's measures is, needs and gives, rendered from `toolkit/registry/measures.yaml` and from what
`scripts/measure_evidence` computed of the minis' registered runs. `tandem measures show NAME` prints one of them, and
[measures](../measures.md) has the formulas. [The guide](../guides/measures.md) says how cards are read,
[what these measures reward](../guides/what-measures-reward.md) what comes of it.
"""


def pages() -> dict[str, str]:
    """Name of the file -> its text: the axioms of all and a list of the cards, then a page a measure."""
    return {"README.md": start()} | {f"{each.name}.md": page(each) for each in cards()}


def start() -> str:
    """The page that the others are found from."""
    axioms = overview()
    listed = [f"- [{each.name}]({each.name}.md): {each.title}" for each in cards()]
    lines = [HEAD, *listed, "", "## Axioms", "", *in_markdown(axioms), "", *(f"- {note}" for note in axioms.notes), ""]
    return "\n".join(lines)


def page(of: Card) -> str:
    """One card."""
    lines = [f"# {of.name}", "", "| | |", "| --- | --- |", *(f"| {name} | {cell(value)} |" for name, value in facts(of)), ""]
    for table in tables_of(of.name):
        lines += [f"## {table.title}", "", *in_markdown(table), ""]
        lines += [*(f"- {note}" for note in table.notes), ""] if table.notes else []
    return "\n".join(lines)


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
