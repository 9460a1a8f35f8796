"""A table of a report, before it is HTML, LaTeX, Markdown or CSV: rows in blocks, every number at full precision."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

from toolkit.core.errors import ToolkitError
from toolkit.core.scores import shown_measure
from toolkit.core.tables.aligned_table import Number, TableStyle, shown
from toolkit.registry.loader import did_you_mean

# the best of all; the best of its kind; significantly better and worse than the baseline
BEST, OF_KIND, DAGGER, WORSE = "best", "of-kind", "dagger", "worse"
SIGNS = {DAGGER: "\u2020", WORSE: "\u2021"}  # what stands behind a number
ARROWS = {"higher": "\u2191", "lower": "\u2193"}  # which direction is better
KIND = "kind"  # the column that says of which kind a system is
DECIMALS = 3  # of scores, in a page and a paper
# what `--tables` names: kinds of tables of a report
KINDS = {
    "overview": "every system over several benchmarks",
    "main": "the average over groups, or the only one: what says most",
    "groups": "the same for each group",
    "measures": "every measure, of the average or the only group",
    "published": "beside the paper's numbers",
    "claims": "the paper's claims over these runs",
    "ranks": "systems in the order of their scores, with the ranks that each may have",
    "pairs": "which systems are told apart by the leading number, pair by pair",
    "kinds": "the mean of each kind of systems",
    "cost": "quality beside time, memory and parameters",
    "coverage": "how much of each run is judged",
    "references": "what other orders of the same lists would score",
}


def check_kinds(names: Iterable[str]) -> None:
    """ToolkitError for what is no kind of table."""
    for name in names:
        if name not in KINDS:
            raise ToolkitError(f"no table {name!r}", f"{did_you_mean(name, KINDS)}tables: {', '.join(KINDS)}")


@dataclass(frozen=True)
class Head:
    """A column: what neighbours share (the measure), and its own name (the mode).

    column  measure and mode of its numbers, where it is of scores
    better  `higher` or `lower`; empty where no value is better
    """

    above: str
    name: str
    number: bool = True
    note: str = ""
    column: tuple[str, str] | None = None
    better: str = ""

    @property
    def title(self) -> str:
        """Both in one line, measures as ir_measures writes them: what programs read."""
        return " ".join(filter(None, (self.above, self.name)))

    @property
    def label(self) -> str:
        """The same for people."""
        return shown_measure(self.title)

    @property
    def arrow(self) -> str:
        """Which direction of its scores is better; empty for columns of other things."""
        return f"\u00a0{ARROWS[self.better]}" if self.column and self.better in ARROWS else ""

    @property
    def short(self) -> str:
        """For people, where what stands above is shown there."""
        return shown_measure(self.name or self.above)


@dataclass(frozen=True)
class Cell:
    """One cell: what is shown, and the number at full precision.

    mark    what it is marked with, divided by blanks: `best dagger`; a table's `marks` say what they mean
    number  of a number whose digits are the reader's choice; None where text is all there is
    blind   the same number if the run ignored instructions, where it can
    band    between which values 95 % of random orders of its lists are
    """

    text: str
    value: float | None = None
    mark: str = ""
    number: Number | None = None
    blind: float | None = None
    band: tuple[float, float] | None = None

    @property
    def signs(self) -> str:
        """The signs of its marks."""
        return "".join(sign for mark, sign in SIGNS.items() if mark in self.mark.split())


@dataclass(frozen=True)
class Block:
    """Rows under a heading of their own; the heading may be empty."""

    heading: str
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def label(self) -> str:
        """The heading for people: it may be a measure."""
        return shown_measure(self.heading)


@dataclass(frozen=True)
class Table:
    """One table: a name for programs and links (`infosearch-mini.average`), a title, and a caption of units and tests.

    warning  what a reader must know who sees this table alone
    kind     one of `KINDS`
    marks    what the marks mean that its cells may have, for a note
    group    whose scores it has, as in `Score`; empty for other tables
    """

    name: str
    title: str
    caption: str
    heads: tuple[Head, ...]
    blocks: tuple[Block, ...]
    warning: str = ""
    kind: str = "main"
    marks: Mapping[str, str] = field(default_factory=dict)
    group: str = ""

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """Those of all blocks."""
        return [row for block in self.blocks for row in block.rows]

    @property
    def legend(self) -> str:
        """Caption and warning, for a table that stands alone."""
        return " ".join(filter(None, (self.caption, self.warning)))

    @property
    def spans(self) -> list[tuple[str, int]]:
        """What stands above the heads, and over how many; empty where every head says all."""
        if all(not head.above or not head.name for head in self.heads):
            return []
        groups = [(above, list(span)) for above, span in groupby(self.heads, lambda head: head.above)]
        return [(shown_measure(above) if span[0].name else "", len(span)) for above, span in groups]

    @property
    def used_marks(self) -> dict[str, str]:
        """The marks that some cell has, and what they mean."""
        used = {mark for block in self.blocks for row in block.rows for cell in row for mark in cell.mark.split()}
        return {mark: meaning for mark, meaning in self.marks.items() if mark in used}


def score(
    value: float | None, mark: str = "", *, share: bool = True, signed: bool = False, decimals: int = DECIMALS, suffix: str = ""
) -> Cell:
    """A score or a difference of two, `-` for none; share: a fraction (`--percent`: times 100); suffix: behind the digits"""
    if value is None or math.isnan(value):
        return Cell("-")
    number = Number(float(value), share=share, signed=signed, decimals=decimals, mark=suffix)
    return Cell(shown(number), number.value, mark, number)


def figure(value: float | None, form: str, mark: str = "") -> Cell:
    """A number as `form` has it; `-` where there is none."""
    return Cell("-") if value is None or math.isnan(value) else Cell(form.format(value), float(value), mark)


def styled(table: Table, style: TableStyle) -> Table:
    """The table with as many decimals, and in per cent, as `style` says; its caption tells."""

    def restyled(cell: Cell) -> Cell:
        return replace(cell, text=shown(cell.number, style)) if cell.number else cell

    blocks = tuple(replace(block, rows=tuple(tuple(map(restyled, row)) for row in block.rows)) for block in table.blocks)
    shares = any(cell.number and cell.number.share for block in blocks for row in block.rows for cell in row)
    percent = ["Fractions are shown times 100."] if style.percent and shares else []
    return replace(table, blocks=blocks, caption=" ".join(filter(None, (table.caption, *percent))))


def grouped(table: Table) -> Table:
    """The table with kinds of systems as headings, in the order of the best of each, in place of a column."""
    place = next((place for place, head in enumerate(table.heads) if head.title == KIND), None)
    if place is None:
        return table
    without = lambda cells: (*cells[:place], *cells[place + 1 :])  # noqa: E731
    kinds: dict[str, list[tuple[Cell, ...]]] = {}
    for row in table.rows:
        kinds.setdefault(row[place].text, []).append(without(row))
    return replace(table, heads=without(table.heads), blocks=tuple(Block(kind, tuple(rows)) for kind, rows in kinds.items()))


def transposed(table: Table) -> Table:
    """The table with measures as rows and systems as columns, kinds of systems above them."""
    table = grouped(table)
    rows = [(block.heading, row) for block in table.blocks for row in block.rows]
    heads = (replace(table.heads[0], name="measure"), *(Head(heading, row[0].text) for heading, row in rows))
    labels = [Cell(head.label + head.arrow) for head in table.heads[1:]]
    lines = zip(labels, *(row[1:] for _, row in rows), strict=True)
    return replace(table, heads=heads, blocks=(Block("", tuple(lines)),))
