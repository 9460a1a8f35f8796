"""The table of the paper: a row per group and the average, a column per measure and mode."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from toolkit.core.scores import PAIRED, Scores
from toolkit.evaluate.references import is_reference

GAP = "  "
SIGNIFICANT = 0.05  # p after Holm's correction below which a difference is marked


class Mark(NamedTuple):
    """How a number differs from a baseline's: the interval of the difference, and whether it is more than chance."""

    low: float
    high: float
    significant: bool


class Panel(NamedTuple):
    """The columns of one measure: its modes (empty for a measure of all modes), and a cell for each row and mode.

    marks  parallel to cells, None where there is none; empty without a baseline
    """

    measure: str
    modes: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    marks: tuple[tuple[Mark | None, ...], ...] = ()


@dataclass(frozen=True)
class Table:
    """Labels on the left (run, group, query: those that vary), then one panel a measure; everything is text."""

    heads: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    panels: tuple[Panel, ...]


def lay_out(scores: Scores) -> Table:
    """The scores as a table; of a reference only the last group is shown, the average."""
    values: dict[tuple[str, str, str], dict[tuple[str, str], str]] = {}
    marks: dict[tuple[str, str, str], dict[tuple[str, str], Mark]] = {}
    columns: dict[str, dict[str, None]] = {}
    for row in scores.rows:
        values.setdefault((row.run, row.group, row.query_id), {})[row.measure, row.mode] = number(row.value)
        if change := scores.change(row):
            mark = Mark(change.low, change.high, change.holm < SIGNIFICANT)
            marks.setdefault((row.run, row.group, row.query_id), {})[row.measure, row.mode] = mark
        columns.setdefault(row.measure, {})[row.mode] = None
    last = {run: group for run, group, query_id in values if not query_id}
    keys = [key for key in values if not is_reference(key[0]) or key[1] == last[key[0]]]
    labels = [(run, group, query_id or "all") for run, group, query_id in keys]
    parts = [part for part in range(3) if len({label[part] for label in labels}) > 1] or [0]
    panels = (
        Panel(
            measure,
            tuple("" if mode == PAIRED else mode for mode in modes),
            tuple(tuple(values[key].get((measure, mode), "") for mode in modes) for key in keys),
            tuple(tuple(marks.get(key, {}).get((measure, mode)) for mode in modes) for key in keys) if marks else (),
        )
        for measure, modes in columns.items()
    )
    heads = ("run", "group", "query")
    return Table(
        tuple(heads[part] for part in parts), tuple(tuple(label[part] for part in parts) for label in labels), tuple(panels)
    )


def number(value: float) -> str:
    """Four decimals; `-` where there is no value."""
    return "-" if math.isnan(value) else f"{value:.4f}"


def to_text(table: Table, width: int | None = None) -> str:
    """Plain text in one block, or in several below each other where a line would be wider than `width` characters."""
    labels = _left([("",) * len(table.heads), table.heads, *table.labels])
    panels = [_panel_lines(panel) for panel in table.panels]
    top = 0 if any(any(panel.modes) for panel in table.panels) else 1  # without modes one line of head is enough
    blocks = []
    for some in _fitting(panels, None if width is None else width - len(labels[0])):
        lines = ["".join(parts).rstrip() for parts in zip(labels, *some, strict=True)]
        rule = "-" * max(map(len, lines))
        blocks.append("\n".join([*lines[top:2], rule, *lines[2:]]))
    return "\n\n".join(blocks) + "\n"


def _left(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _panel_lines(panel: Panel) -> list[str]:
    """Two lines of head, the measure and its modes, and one a row; all of one width, led by a gap."""
    rows = [panel.modes if any(panel.modes) else (panel.measure,), *_marked(panel)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [GAP.join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    width = max(len(panel.measure), len(lines[0]))
    above = panel.measure if any(panel.modes) else ""
    return [GAP + above.rjust(width)] + [GAP + line.rjust(width) for line in lines]


def _marked(panel: Panel) -> list[list[str]]:
    """The cells with their marks behind them, `0.5120* [+0.0102, +0.0310]`, numbers below each other."""
    if not panel.marks:
        return [list(row) for row in panel.cells]
    marks = [
        ["" if mark is None else f"{'*' if mark.significant else ' '} {_bounds(mark)}" for mark in row] for row in panel.marks
    ]
    widths = [max(map(len, column)) for column in zip(*marks, strict=True)]
    rows = zip(panel.cells, marks, strict=True)
    return [[cell + mark.ljust(width) for cell, mark, width in zip(*row, widths, strict=True)] for row in rows]


def _bounds(mark: Mark) -> str:
    return f"[{mark.low:+.4f}, {mark.high:+.4f}]"


def _fitting(panels: Sequence[list[str]], width: int | None) -> Iterator[list[list[str]]]:
    """Panels in order, as many together as fit; one that is too wide stands alone."""
    block, used = [], 0
    for panel in panels:
        if block and width is not None and used + len(panel[0]) > width:
            yield block
            block, used = [], 0
        block.append(panel)
        used += len(panel[0])
    yield block


def to_latex(table: Table) -> str:
    """A tabular with the rules of the booktabs package."""
    spans = [f"\\multicolumn{{{len(panel.modes)}}}{{c}}{{{_escape(panel.measure)}}}" for panel in table.panels]
    modes = [_escape(mode) for panel in table.panels for mode in panel.modes]
    lines = [
        f"\\begin{{tabular}}{{{'l' * len(table.heads)}{'r' * len(modes)}}}",
        "\\toprule",
        _latex_row([""] * len(table.heads) + spans),
        _latex_row([*table.heads, *modes]),
        "\\midrule",
    ]
    for row, labels in enumerate(table.labels):
        cells = [cell for panel in table.panels for cell in _latex_cells(panel, row)]
        lines.append(_latex_row([*map(_escape, labels), *cells]))
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _latex_cells(panel: Panel, row: int) -> Iterator[str]:
    """The cells of one row: the marker raised, the interval in small type."""
    marks = panel.marks[row] if panel.marks else [None] * len(panel.modes)
    for cell, mark in zip(panel.cells[row], marks, strict=True):
        star = "$^{*}$" if mark and mark.significant else ""
        yield _escape(cell) + (f"{star} {{\\tiny ${_bounds(mark)}$}}" if mark else "")


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escape(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {sign: "\\" + sign for sign in "&%$#_{}"}
    return "".join(special.get(sign, sign) for sign in text)
