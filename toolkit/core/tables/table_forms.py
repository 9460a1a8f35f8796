"""Tables in the forms that papers, pages and programs read: LaTeX, Markdown, TSV, CSV, JSON."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from toolkit.core.tables import tabular
from toolkit.core.tables.aligned_table import PLAIN, Table, TableStyle, cells_of, shown, spans, value_of

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", **{sign: "\\" + sign for sign in "&%$#_{}"}}
_LATEX |= {"·": r"$\cdot$", "…": r"\ldots{}", "–": "--", "—": "---", "−": "$-$", "†": r"$\dagger$", "‡": r"$\ddagger$"}
_LATEX |= {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "→": r"$\to$", "Δ": r"$\Delta$", "±": r"$\pm$", "×": r"$\times$"}
_LATEX |= {"\u00a0": "~", "≤": r"$\leq$", "≥": r"$\geq$"}
_MARKDOWN = {sign: "\\" + sign for sign in "\\`*_[]|#"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": " "}


def to_tsv(table: Table, style: TableStyle = PLAIN, *, heads: bool = True) -> str:
    """A line a row, cells divided by tabs; whole numbers without separators."""
    lines = [[column.title for column in table.columns]] if heads else []
    lines += [[str(cell) if isinstance(cell, int) else shown(cell, style) for cell in row] for row in table.rows]
    return "".join("\t".join(cells) + "\n" for cells in lines)


def to_latex(table: Table, style: TableStyle = PLAIN) -> str:
    """A tabular with the rules of the booktabs package; minus signs are LaTeX's."""
    cells, right = cells_of(table, style)
    rows = [[latex_number(text.rstrip()) if right[place] else latex(text) for place, text in enumerate(row)] for row in cells]
    for row in table.below:
        rows[row][0] = r"\quad " + rows[row][0]
    heads_over = ((latex(above), end - start) for above, start, end in spans(table.columns))
    over = [f"\\multicolumn{{{columns}}}{{c}}{{{above}}}" if above else "" for above, columns in heads_over]
    heads = [latex(column.name) for column in table.columns]
    above = [over] if any(column.above for column in table.columns) else []
    return latex_tabular("".join("r" if number else "l" for number in right), [*above, heads], [rows])


def latex_tabular(
    alignment: str, heads: Sequence[Sequence[str]], blocks: Iterable[Sequence[Sequence[str]]], rules: str = ""
) -> str:
    """Lines of cells that are LaTeX already, between booktabs' rules; a rule before every block; `rules` below the first."""
    line = lambda cells: " & ".join(cells) + r" \\"  # noqa: E731
    first, *others = map(line, heads)
    lines = [f"\\begin{{tabular}}{{{alignment}}}", "\\toprule", first, *([rules] if rules else []), *others]
    for rows in blocks:
        lines += ["\\midrule", *map(line, rows)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def latex_number(text: str) -> str:
    """A number as it is printed: a true minus, a raised mark, a dash where there is none."""
    if text == "-":
        return "--"
    sign = {"-": "$-$", "+": "$+$"}.get(text[:1], "")
    digits = text[1:] if sign else text
    return sign + latex(digits.rstrip("*")) + ("$^{*}$" if digits.endswith("*") else "")


def latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(sign, sign) for sign in text)


def to_markdown(table: Table, style: TableStyle = PLAIN) -> str:
    """A table of GitHub's Markdown."""
    cells, right = cells_of(table, style)
    rows = [[markdown(cell.rstrip()) for cell in row] for row in cells]
    for row in table.below:
        rows[row][0] = "&emsp;" + rows[row][0]
    return markdown_table([markdown(column.title) for column in table.columns], right, rows)


def markdown_table(heads: Sequence[str], right: Sequence[bool], rows: Iterable[Sequence[str]]) -> str:
    """Lines of cells that are Markdown already."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, ["---:" if number else "---" for number in right], *rows))


def markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(_MARKDOWN.get(sign, sign) for sign in text)


def records(table: Table) -> Iterator[dict[str, Any]]:
    """Each row by the titles of its columns, at full precision."""
    for row in table.rows:
        yield {column.title: value_of(cell) for column, cell in zip(table.columns, row, strict=True)}


def to_json(*tables: Table) -> str:
    """`{"schema": 1, "rows": [...], "notes": [...]}`, of several tables `{"schema": 1, "tables": [...]}` with their titles."""
    if len(tables) == 1:
        return tabular.to_json(records(tables[0]), tables[0].notes)
    rows = [list(map(tabular.without_nan, records(table))) for table in tables]
    each = [{"title": one.title.strip(), "rows": of, "notes": list(one.notes)} for one, of in zip(tables, rows, strict=True)]
    return json.dumps({"schema": tabular.SCHEMA, "tables": each}, ensure_ascii=False, indent=1) + "\n"


def to_csv(table: Table) -> str:
    """Comma-separated lines below their heads."""
    return tabular.to_csv([column.title for column in table.columns], records(table))


FORMS: dict[str, Callable[..., str]] = {
    "tsv": to_tsv,
    "latex": to_latex,
    "markdown": to_markdown,
    "csv": lambda table, style: to_csv(table),
}
