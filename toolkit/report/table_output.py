"""Tables of a report as text: LaTeX and Markdown for papers, CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

from toolkit.core.table_forms import latex, latex_number, latex_tabular, markdown, markdown_table
from toolkit.report.text_table import BEST, KIND, OF_KIND, Cell, Head, Table

COLUMNS = ("table", "block", "row", "column", "value", "mark")
WIDEST = 10  # columns that fit a page of text


def to_latex(tables: Sequence[Table]) -> str:
    """A table environment each, with the rules of the booktabs package; marks are `\\textbf` and `\\textit`. What is wider
    than a page is scaled to it (graphicx).
    """
    return "\n".join(_latex(table) for table in tables)


def _latex(table: Table) -> str:
    width = len(table.heads)
    spans = [f"\\multicolumn{{{count}}}{{c}}{{{latex(above)}}}" for above, count in table.spans]
    heads = [*([spans] if spans else []), [latex(head.short) for head in table.heads]]
    blocks = []
    for block in table.blocks:
        heading = [[f"\\multicolumn{{{width}}}{{l}}{{\\textit{{{latex(block.label)}}}}}"]] if block.heading else []
        blocks.append([*heading, *([_latex_cell(cell) for cell in row] for row in block.rows)])
    tabular = latex_tabular("".join("r" if head.number else "l" for head in table.heads), heads, blocks).rstrip("\n")
    if width > WIDEST:
        tabular = f"\\resizebox{{\\textwidth}}{{!}}{{%\n{tabular}%\n}}"
    caption = f"\\caption{{{latex(table.title)}. {latex(table.legend)}}}"
    return "\n".join(["\\begin{table}", "\\centering", tabular, caption, "\\end{table}"]) + "\n"


def _latex_cell(cell: Cell) -> str:
    text = latex(cell.text) if cell.value is None else latex_number(cell.text)
    strong = {BEST: "\\textbf{%s}", OF_KIND: "\\textit{%s}"}
    return next((form for mark, form in strong.items() if mark in cell.mark.split()), "%s") % text + latex(cell.signs)


def to_markdown(tables: Sequence[Table]) -> str:
    """A heading, a table and its caption each; kinds of systems are rows of their own."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    rows = []
    for block in table.blocks:
        if block.heading:
            rows.append([f"*{markdown(block.label)}*", *[""] * (len(table.heads) - 1)])
        rows += [[_markdown_cell(cell) for cell in row] for row in block.rows]
    heads, right = [markdown(head.label) for head in table.heads], [head.number for head in table.heads]
    return f"## {markdown(table.title)}\n\n{markdown_table(heads, right, rows)}\n{markdown(table.legend)}\n"


def _markdown_cell(cell: Cell) -> str:
    strong = {BEST: "**%s**", OF_KIND: "*%s*"}
    form = next((form for mark, form in strong.items() if mark in cell.mark.split()), "%s")
    return form % markdown(cell.text) + cell.signs


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


FORMATS: dict[str, Callable[[Sequence[Table]], str]] = {"latex": to_latex, "markdown": to_markdown, "csv": to_csv}
