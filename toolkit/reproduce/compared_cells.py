"""Every number that a paper prints beside the one that was made again: does it agree?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from toolkit.benchmarks import find
from toolkit.core import tabular
from toolkit.core.aligned_table import Column, Number, Table
from toolkit.core.scores import Score
from toolkit.published.claims import Claim
from toolkit.published.comparison import aggregates, scored_group
from toolkit.published.paper_tables import SCALES, Cell
from toolkit.reproduce.table_rows import Row, Tables

AGREES, NEAR, DIFFERS, NOT_RUN = STATES = ("agrees", "near", "differs", "not run")
HEADS = (
    "table",
    "part",
    "system",
    "as printed",
    "group",
    "mode",
    "measure",
    "published",
    "ours",
    "difference",
    "state",
    "known",
)


class Compared(NamedTuple):
    """One cell. value: ours, as a fraction, a count or a rank; None where it was not made."""

    row: Row
    cell: Cell
    value: float | None
    state: str

    @property
    def known(self) -> str:
        """What is known of why the two may differ."""
        return "; ".join(filter(None, (self.row.remark, *self.cell.inconsistent)))

    @property
    def shown(self) -> str:
        """Ours, as the paper would print it."""
        return "" if self.value is None else f"{self.value * SCALES[self.cell.scale]:.{_decimals(self.cell)}f}"


def compared(tables: Tables, scores: Mapping[str, Iterable[Score]]) -> list[Compared]:
    """All cells of the rows, in their order. scores: row's name -> the scores of its run."""
    cells = []
    for row in tables.rows:
        values = aggregates(scores.get(row.name, ()))
        other = aggregates(scores.get(f"{row.part.minus}/{row.system.name}", ())) if row.part.minus else None
        groups = find(row.part.topics, at_hand=False).groups
        for cell in row.cells:
            place = (row.system.name, scored_group(cell.ours, groups), cell.ours.mode, cell.ours.measure)
            value = values.get(place)
            if other is not None:
                value = None if value is None or place not in other else value - other[place]
            cells.append(Compared(row, cell, value, state_of(cell, value, tables.tolerance)))
    return cells


def state_of(cell: Cell, value: float | None, tolerance: float) -> str:
    """`agrees` to the digits that are printed, `near` within a tolerance (of a count or rank: that share of it)."""
    if value is None or math.isnan(value):
        return NOT_RUN
    scale = SCALES[cell.scale]
    # half a unit of the last digit, and what floats add to it
    if abs(value - cell.value) * scale <= 0.5 * 10 ** -_decimals(cell) * (1 + 1e-9):
        return AGREES
    room = tolerance * abs(cell.value) if cell.scale == "number" else tolerance
    return NEAR if abs(value - cell.value) <= room else DIFFERS


def _decimals(cell: Cell) -> int:
    return len(cell.printed.partition(".")[2])


def lay_out(cells: Sequence[Compared]) -> list[Table]:
    """A row a system: how many of its numbers agree, and how far off they are on average."""
    columns = (
        Column("part", label=True),
        Column("system", label=True),
        *map(Column, STATES),
        Column("mean difference"),
        Column("known", prose=True),
    )
    by_row: dict[str, list[Compared]] = {}
    for each in cells:
        by_row.setdefault(each.row.name, []).append(each)
    rows = []
    for own in by_row.values():
        off = [each.value - each.cell.value for each in own if each.value is not None and each.cell.scale != "number"]
        counts = [sum(each.state == state for each in own) for state in STATES]
        mean = Number(sum(off) / len(off), share=True, signed=True) if off else None
        known = "; ".join(
            dict.fromkeys(filter(None, (own[0].row.remark, *(text for each in own for text in each.cell.inconsistent))))
        )
        rows.append((own[0].row.part.name, own[0].row.system.name, *counts, mean, known))
    return [Table(columns, rows)]


def claims_table(claims: Sequence[tuple[str, Claim, bool | None]]) -> Table:
    """What the paper claims, and whether it holds over our numbers."""
    columns = (Column("part", label=True), Column("holds"), Column("section"), Column("claim", prose=True))
    said = {True: "yes", False: "no", None: "-"}
    return Table(columns, [(name, said[holds], claim.section, claim.claim) for name, claim, holds in claims], title="claims")


def to_csv(cells: Sequence[Compared]) -> str:
    """A line a cell."""
    return tabular.to_csv(HEADS, [dict(zip(HEADS, _line(each), strict=True)) for each in cells])


def _line(each: Compared) -> tuple:
    cell = each.cell
    off = None if each.value is None else each.value - cell.value
    printed = f"{cell.system} ({cell.kind})" if cell.kind else cell.system
    where = (cell.table, each.row.part.name, each.row.system.name, printed, cell.group, cell.mode, cell.measure)
    return (*where, cell.printed, each.shown, off, each.state, each.known)
