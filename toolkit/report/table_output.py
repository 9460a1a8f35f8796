"""Tables of a report as text: LaTeX and Markdown for papers, CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

from toolkit.report.text_table import ALIKE, BEST, Cell, Head, Table

COLUMNS = ("table", "block", "row", "column", "value", "mark")
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
LATEX |= {sign: "\\" + sign for sign in "&%$#_{}"}
MARKDOWN = {sign: "\\" + sign for sign in "\\`*_[]|#"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": " "}


def to_latex(tables: Sequence[Table]) -> str:
    """A table environment each, with the rules of the booktabs package; marks are `\\textbf` and `\\underline`."""
    return "\n".join(_latex(table) for table in tables)


def _latex(table: Table) -> str:
    width = len(table.heads)
    spans = [f"\\multicolumn{{{count}}}{{c}}{{{latex(above)}}}" for above, count in table.spans]
    lines = [
        "\\begin{table}",
        "\\centering",
        f"\\begin{{tabular}}{{{''.join('r' if head.number else 'l' for head in table.heads)}}}",
        "\\toprule",
        *([_latex_row(spans)] if spans else []),
        _latex_row([latex(head.name or head.above) for head in table.heads]),
    ]
    for block in table.blocks:
        lines.append("\\midrule")
        if block.heading:
            lines.append(_latex_row([f"\\multicolumn{{{width}}}{{l}}{{\\textit{{{latex(block.heading)}}}}}"]))
        lines += [_latex_row([_marked(cell, latex, "\\textbf{%s}", "\\underline{%s}") for cell in row]) for row in block.rows]
    caption = f"\\caption{{{latex(table.title)}. {latex(table.legend)}}}"
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", caption, "\\end{table}"]) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return _escaped(text, LATEX)


def to_markdown(tables: Sequence[Table]) -> str:
    """A heading, a table and its caption each; kinds of systems are rows of their own."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    lines = [
        f"## {markdown(table.title)}",
        "",
        _markdown_row([markdown(head.title) for head in table.heads]),
        _markdown_row(["---:" if head.number else "---" for head in table.heads]),
    ]
    for block in table.blocks:
        if block.heading:
            lines.append(_markdown_row([f"*{markdown(block.heading)}*", *[""] * (len(table.heads) - 1)]))
        lines += [_markdown_row([_marked(cell, markdown, "**%s**", "<u>%s</u>") for cell in row]) for row in block.rows]
    return "\n".join([*lines, "", markdown(table.legend)]) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _escaped(text, MARKDOWN)


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
    lines = []
    for head, cell in zip(heads[1:], cells, strict=True):
        number = "" if cell.value is None else repr(cell.value)
        lines.append((table, block, name.text, head.title, number if head.number else cell.text, cell.mark))
    return lines


def _marked(cell: Cell, escape: Callable[[str], str], best: str, alike: str) -> str:
    return {BEST: best, ALIKE: alike}.get(cell.mark, "%s") % escape(cell.text)


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)


FORMATS: dict[str, Callable[[Sequence[Table]], str]] = {"latex": to_latex, "markdown": to_markdown, "csv": to_csv}
