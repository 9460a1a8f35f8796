"""Tables of a report as text: Markdown for papers and pages, CSV for programs; `latex_output` has LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from toolkit.core.table_forms import markdown, markdown_table
from toolkit.report.text_table import BEST, KIND, OF_KIND, SIGNS, Cell, Head, Table

COLUMNS = ("table", "block", "row", "column", "value", "mark")
STYLES = {BEST: "**%s**", OF_KIND: "*%s*", **{mark: f"%s{sign}" for mark, sign in SIGNS.items()}}
SAID = {BEST: "**Bold**", OF_KIND: "*Italic*", **SIGNS}


def to_markdown(tables: Sequence[Table]) -> str:
    """A heading, a table and its caption each; kinds of systems are rows of their own."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    rows = []
    for block in table.blocks:
        if block.heading:
            rows.append([f"*{markdown(block.label)}*", *[""] * (len(table.heads) - 1)])
        rows += [[_markdown_cell(cell) for cell in row] for row in block.rows]
    notes = [f"{SAID[mark]}: {markdown(meaning)}." for mark, meaning in table.used_marks.items()]
    notes.append(markdown(table.legend))
    heads, right = [markdown(head.label + head.arrow) for head in table.heads], [head.number for head in table.heads]
    return f"## {markdown(table.title)}\n\n{markdown_table(heads, right, rows)}\n{' '.join(notes)}\n"


def _markdown_cell(cell: Cell) -> str:
    text = markdown(cell.text)
    for mark in sorted(cell.mark.split(), key=list(STYLES).index):
        text = STYLES[mark] % text
    return text


def to_csv(tables: Sequence[Table]) -> str:
    """A line a number, at full precision: table, block (kind of system, run), row, column, value, mark."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for table in tables:
        for block in table.blocks:
            for row in block.rows:
                writer.writerows(_csv(table.name, block.heading, row, table.heads))
    return text.getvalue()


def _csv(table: str, block: str, row: Sequence[Cell], heads: Sequence[Head]) -> list[tuple[str, ...]]:
    name, *cells = row
    kind = next((cell.text for head, cell in zip(heads, row, strict=True) if head.title == KIND), "")
    lines = []
    for head, cell in zip(heads[1:], cells, strict=True):
        if head.title == KIND:
            continue
        number = "" if cell.value is None else repr(cell.value)
        lines.append((table, block or kind, name.text, head.title, number if head.number else cell.text, cell.mark))
    return lines
