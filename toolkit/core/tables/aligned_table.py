"""Tables for people: what a table is, and its text, which fits the terminal; `table_forms` has its other forms.

A command makes a `Table` and hands it to `printing.write_tables`, which knows the options, the terminal and `--output`.
"""

from __future__ import annotations

import difflib
import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from textwrap import wrap
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.notes import most_important
from toolkit.core.system.lazy_names import pandas
from toolkit.core.system.terminal import length, painted, visible, wrapped
from toolkit.core.tables import tabular

GAP = "  "
NARROWEST = 24  # characters that a column of prose has at least, or it is left out
SHORTEST = 12  # characters that a label keeps at least
COLOURS = {"OK": "green", "OKish": "green", "ok": "green", "FAIL": "red", "DIFFERENT": "red", "problem": "red"}
COLOURS |= {"pass": "green", "warn": "yellow", "fail": "red"}
COLOURS |= {"MISSING": "yellow", "absent": "yellow", "differs": "yellow"}


class Column(NamedTuple):
    """One column.

    name      its head, and with `above` its key in CSV and JSON
    above     what stands over it and its neighbours, a measure over its modes; they are shown or left out together
    label     whether it says what a row is: always shown, on the left
    prose     whether its words may be wrapped
    priority  where not all fit, columns with a smaller number come first, among equals those on the left
    lower     whether less is better: `--sort` begins with the smallest
    """

    name: str
    above: str = ""
    label: bool = False
    prose: bool = False
    priority: int = 0
    lower: bool = False

    @property
    def title(self) -> str:
        """Both in one line."""
        return f"{self.above} {self.name}".strip()


def labels(*names: str) -> tuple[Column, ...]:
    """Columns that say what a row is."""
    return tuple(Column(name, label=True) for name in names)


@dataclass(frozen=True)
class Number:
    """A number in a cell; a plain float has none of this.

    share     whether it is a fraction, which `--percent` shows times 100
    signed    whether + is written
    mark      what stands behind it: `*`
    p         whether it is a p value: always 4 decimals, `<0.0001` below that
    decimals  without `--decimals`; two fewer in per cent
    text      what is shown whatever the options (`1.8 GB`); it is sorted by `value`, which JSON and CSV have
    """

    value: float
    share: bool = False
    signed: bool = False
    mark: str = ""
    p: bool = False
    decimals: int = 4
    text: str = ""


Cell = str | int | float | Number | None  # a whole number gets thousands separators, NaN is `-`, None is nothing


@dataclass(frozen=True)
class Table:
    """Rows of cells below columns.

    title    what stands above, in lines
    notes    lines below, which `--quiet` leaves out
    below    which rows belong to the row above them: set in, and sorted together with it
    details  which of those are left out on a terminal, without `--all`, and what they are called in the note that says so
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    title: str = ""
    below: frozenset[int] = frozenset()
    details: frozenset[int] = frozenset()
    details_name: str = ""

    def __str__(self) -> str:
        return to_text([self])

    def _repr_html_(self) -> str:
        """With its title above it and its notes below."""
        cells, _ = cells_of(self, PLAIN)
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in dict.fromkeys(self.notes))
        title = f"<p>{html.escape(self.title.strip())}</p>" if self.title.strip() else ""
        rows = tabular.to_html([column.title for column in self.columns], cells) if self.rows else ""
        return title + rows + (f"<ul>{notes}</ul>" if notes else "")

    def to_frame(self) -> pandas.DataFrame:
        """The values of the cells, a column a column."""
        return pandas.DataFrame([map(value_of, row) for row in self.rows], columns=[column.title for column in self.columns])


class TableStyle(NamedTuple):
    """How tables are shown.

    width     of the terminal, in characters; None for a pipe or file: every column, no line wrapped
    every     every column on a terminal, too
    percent   fractions times 100
    decimals  of all numbers; None for each one's own
    sort      the title of the column by which rows are sorted
    colour    whether heads and outcomes are coloured
    notes     every note on a terminal, too, where otherwise the most important are shown
    """

    width: int | None = None
    every: bool = False
    percent: bool = False
    decimals: int | None = None
    sort: str = ""
    colour: bool = False
    notes: bool = False


PLAIN = TableStyle()


def to_text(tables: Sequence[Table], style: TableStyle = PLAIN, *, terse: bool = False) -> str:
    """Tables below each other, each with its title and notes; a note that several have is printed once.

    Columns that do not fit are left out, the last in priority first, and a note at the end names them (none where `terse`). A
    table without rows is its title and notes. On a terminal at most five notes are shown, the most important of all tables.
    """
    notes = list(dict.fromkeys(note for table in tables for note in table.notes))
    chosen, more = most_important(notes) if style.width is not None and not style.notes else (notes, 0)
    blocks, said, left = [], {}, {}
    for number, table in enumerate(tables):
        fresh = [note for note in chosen if note in table.notes and note not in said]
        said |= dict.fromkeys(fresh)
        lines, out = _lines(table, style) if table.rows else ([], [])
        left |= dict.fromkeys(out)
        if number == len(tables) - 1 and more:
            fresh.append(f"{more} more: --notes")
        if number == len(tables) - 1 and left and not terse:
            fresh.append(f"left out here: {', '.join(left)}; --all shows all")
        title = [line for each in table.title.splitlines() for line in wrapped(visible(each), style.width)]
        notes = [line for note in fresh for line in wrapped(visible(note) if style.width else note, style.width)]
        blocks.append("\n".join([*title, *lines, *([""] if notes and lines else []), *notes]) + "\n")
    return "\n".join(blocks)


def prepared(tables: Sequence[Table], style: TableStyle) -> list[Table]:
    """The tables sorted, and with a note of what is in per cent. Raises ToolkitError where none has the column to sort by."""
    if style.sort:
        places = [_place(table.columns, style.sort) for table in tables]
        if all(place is None for place in places):
            titles = list(dict.fromkeys(column.title for table in tables for column in table.columns))
            near = difflib.get_close_matches(style.sort, titles, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ToolkitError(f"no column {style.sort!r} to sort by", f"{hint}columns: {', '.join(titles)}")
        tables = [table if place is None else _sorted(table, place) for table, place in zip(tables, places, strict=True)]
    return [replace(table, notes=[*table.notes, *_in_percent(table)]) if style.percent else table for table in tables]


def _in_percent(table: Table) -> list[str]:
    kinds: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for row in table.rows:
        for column, cell in zip(table.columns, row, strict=True):
            number = Number(cell) if isinstance(cell, float) else cell
            if isinstance(number, Number) and not number.p and not number.text:
                kinds[number.share][column.above or column.name] = None
    others = f", except {', '.join(kinds[False])}" if kinds[False] else ""
    return [f"in per cent{others}"] if kinds[True] else []


def _sorted(table: Table, place: int) -> Table:
    blocks: list[list[int]] = []
    for row in range(len(table.rows)):
        if row not in table.below or not blocks:
            blocks.append([])
        blocks[-1].append(row)
    blocks.sort(key=lambda block: _sort_key(table.rows[block[0]][place], 1 if table.columns[place].lower else -1))
    return _picked(table, [row for block in blocks for row in block])


def _picked(table: Table, order: Sequence[int]) -> Table:
    """The table with these of its rows, in this order."""
    kinds = (table.below, table.details)
    below, details = (frozenset(number for number, row in enumerate(order) if row in kind) for kind in kinds)
    return replace(table, rows=[table.rows[row] for row in order], below=below, details=details)


def _place(columns: Sequence[Column], name: str) -> int | None:
    """Where the one column is that is called so, in full or in part; None where none is, or several are."""
    for names in zip(*((column.title, column.name, column.above) for column in columns), strict=True):
        folded = [each.casefold() for each in names]
        if folded.count(name.casefold()) == 1:
            return folded.index(name.casefold())
    return None


def _sort_key(cell: Cell, sign: int) -> tuple[Any, ...]:
    """Numbers come first, times `sign`, then words, then what is neither."""
    value = value_of(cell)
    if isinstance(value, int | float):
        return (2,) if math.isnan(value) else (0, sign * float(value))
    return (1, value.casefold()) if value else (2,)


def value_of(cell: Cell) -> str | int | float | None:
    """What a cell holds, for programs."""
    return cell.value if isinstance(cell, Number) else cell


def shown(cell: Cell, style: TableStyle = PLAIN) -> str:
    """What a cell shows."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell if cell.isprintable() else " ".join(cell.split())
    if isinstance(cell, int):
        return f"{cell:,}"
    number = cell if isinstance(cell, Number) else Number(cell)
    if number.text or number.value is None or math.isnan(number.value):
        return number.text or "-"
    if number.p:
        return "<0.0001" if number.value < 0.0001 else f"{number.value:.4f}"
    percent = number.share and style.percent
    decimals = style.decimals if style.decimals is not None else max(number.decimals - 2 * percent, 0)
    return f"{number.value * (100 if percent else 1):{'+' if number.signed else ''}z.{decimals}f}{number.mark}"


def cells_of(table: Table, style: TableStyle) -> tuple[list[list[str]], list[bool]]:
    """Every cell as text, and which columns hold numbers, which stand right; a mark takes no place among the digits."""
    rows = [[shown(cell, style) for cell in row] for row in table.rows]
    right = []
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        right.append(not column.label and any(isinstance(cell, int | float | Number) for cell in cells))
        if marks := max((len(cell.mark) for cell in cells if isinstance(cell, Number)), default=0):
            for row, cell in zip(rows, cells, strict=True):
                row[place] += " " * (marks - (len(cell.mark) if isinstance(cell, Number) else 0))
    return rows, right


def _lines(table: Table, style: TableStyle) -> tuple[list[str], list[str]]:
    """The lines of a table, and what was left out of it."""
    fitted = style.width is not None and not style.every
    if fitted and table.details:
        lines, left = _lines(_picked(table, [row for row in range(len(table.rows)) if row not in table.details]), style)
        return lines, [*left, table.details_name]
    cells, right = cells_of(table, style)
    for row in table.below:
        cells[row][0] = GAP + cells[row][0]
    if style.width is not None:
        cells = [[visible(cell) for cell in row] for row in cells]
    heads = [column.name for column in table.columns]
    widths = [max(map(length, column)) for column in zip(heads, *cells, strict=True)]
    places, left = list(range(len(widths))), []
    if fitted:
        places, widths, left = _fitted(table.columns, widths, style.width)
    columns = [table.columns[place] for place in places]
    over = []
    for above, start, end in spans(columns):
        inner = places[start:end]
        together = _total(widths[place] for place in inner)
        widths[inner[0]] += max(length(above) - together, 0)  # a measure's name may be longer than its modes together
        over.append(_padded(above, max(length(above), together), right=True))
    top = [GAP.join(over).rstrip()] if any(column.above for column in columns) else []
    pick = lambda row: [row[place] for place in places]  # noqa: E731
    widths, right = pick(widths), pick(right)
    head = _line(pick(heads), widths, right)
    rows = [line for row in cells for line in _broken(pick(row), columns, widths, style)]
    body = [_line(row, widths, right) for row in rows]
    rule = "-" * max(map(length, [*top, head, *body]))
    if style.colour:
        top, head = [painted(line, "bold") for line in top], painted(head, "bold")
        body = [_line(row, widths, right, colour=True) for row in rows]
    return [*top, head, rule, *body], left


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool], *, colour: bool = False) -> str:
    return GAP.join(_padded(*each, colour=colour) for each in zip(cells, widths, right, strict=True)).rstrip()


def _padded(cell: str, width: int, right: bool, *, colour: bool = False) -> str:
    blanks = " " * (width - length(cell))
    text = painted(cell, COLOURS[cell]) if colour and cell in COLOURS else cell
    return blanks + text if right else text + blanks


def _total(widths: Iterable[int]) -> int:
    """What columns take beside each other."""
    widths = list(widths)
    return sum(widths) + len(GAP) * max(len(widths) - 1, 0)


def _broken(row: Sequence[str], columns: Sequence[Column], widths: Sequence[int], style: TableStyle) -> list[list[str]]:
    """A row in as many lines as its prose takes; a label that is too long is shortened."""
    if style.width is None or style.every:
        return [list(row)]
    cells = [
        [cell]
        if length(cell) <= width
        else wrap(cell, width, break_on_hyphens=False)
        if column.prose
        else [_shortened(cell, width)]
        for cell, column, width in zip(row, columns, widths, strict=True)
    ]
    return [list(line) for line in zip_longest(*cells, fillvalue="")]


def _shortened(text: str, width: int) -> str:
    """The beginning and the end of a name: runs of one system differ in both."""
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def spans(columns: Sequence[Column]) -> list[tuple[str, int, int]]:
    """(above, first, past the last) of neighbours below one head; a column without is alone."""
    groups = [list(group) for _, group in groupby(range(len(columns)), lambda place: columns[place].above or place)]
    return [(columns[group[0]].above, group[0], group[-1] + 1) for group in groups]


def _fitted(columns: Sequence[Column], widths: Sequence[int], width: int) -> tuple[list[int], list[int], list[str]]:
    """Which columns are shown in so many characters, how wide all columns then are, and what is left out or shortened."""
    least = [min(each, NARROWEST) if column.prose else each for column, each in zip(columns, widths, strict=True)]
    labels = [place for place, column in enumerate(columns) if column.label]
    others = [(above, range(*ends)) for above, *ends in spans(columns) if not columns[ends[0]].label]
    needed = {places: len(GAP) + max(_total(least[place] for place in places), length(above)) for above, places in others}
    by_priority = sorted(needed, key=lambda places: (columns[places[0]].priority, places[0]))
    # labels give way to the first of the other columns, where that is not too wide itself
    for_labels = width - (min(needed[by_priority[0]], width // 2) if by_priority else 0)
    while _total(least[place] for place in labels) > for_labels:
        widest = max(labels, key=lambda place: least[place])
        if least[widest] <= SHORTEST:
            break
        least[widest] -= 1
    left = [columns[place].name for place in labels if least[place] < widths[place] and not columns[place].prose]
    left = [f"part of {', '.join(left)}"] if left else []
    used, chosen = _total(least[place] for place in labels), set(labels)
    for places in by_priority:
        if used + needed[places] <= width:
            used += needed[places]
            chosen |= set(places)
    for place in sorted(chosen):
        if columns[place].prose:
            more = min(width - used, widths[place] - least[place])
            least[place], used = least[place] + more, used + more
    left += [above or columns[places[0]].name for above, places in others if places[0] not in chosen]
    return sorted(chosen), least, left
