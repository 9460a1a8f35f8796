"""The tables that papers print as text: with a row a system, or a row a number for programs; and their claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from toolkit.core.tabular import aligned, to_csv, to_json
from toolkit.published.claims import Claim
from toolkit.published.paper_tables import Cell

FORMATS = ("table", "csv", "json")
COLUMNS = (
    "table",
    "system",
    "kind",
    "group",
    "mode",
    "measure",
    "printed",
    "scale",
    "value",
    "compared",
    "note",
    "inconsistent",
)
WIDEST = 200  # characters of the heads that stand beside each other


def render(cells: Sequence[Cell], format: str) -> str:
    """Cells in one of `FORMATS`."""
    if format == "table":
        by_table: dict[str, list[Cell]] = {}
        for cell in cells:
            by_table.setdefault(cell.table, []).append(cell)
        return "\n".join(_table(rows_of_table) for rows_of_table in by_table.values())
    rows = [_row(cell) for cell in cells]
    return to_json(rows) if format == "json" else to_csv(COLUMNS, rows)


def _row(cell: Cell) -> dict[str, Any]:
    place = cell.ours
    place_text = " ".join(filter(None, ("+".join(place.groups), place.mode, place.measure))) if place else ""
    derived = {"compared": place_text, "inconsistent": " ".join(cell.inconsistent)}
    return {name: derived.get(name, getattr(cell, name, "")) for name in COLUMNS}


def _table(cells: Sequence[Cell]) -> str:
    """One table: what varies, first the systems, down or across; then the scales, and what is wrong."""
    down, across = _layout(cells)
    flaws = list(dict.fromkeys(flaw for cell in cells for flaw in cell.inconsistent))
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    columns: dict[str, None] = {}
    for cell in cells:
        column = _head(cell, across)
        marks = "".join(f" [{flaws.index(flaw) + 1}]" for flaw in cell.inconsistent)
        rows.setdefault(tuple(_labels(cell, down)), {})[column] = cell.printed + marks
        columns[column] = None
    lines = [[*down, *columns], *([*key, *(values.get(column, "") for column in columns)] for key, values in rows.items())]
    return "\n".join([_title(cells[0]), *aligned(lines, len(down)), "", *_scales(cells), *numbered(flaws)]) + "\n"


def _layout(cells: Sequence[Cell]) -> tuple[list[str], list[str]]:
    """What goes down and what across: as much as fits, the measures always."""
    varying = [name for name in ("system", "kind", "group", "mode") if len({getattr(cell, name) for cell in cells}) > 1]
    systems = [name for name in ("system", "kind") if name in varying] or ["system" if cells[0].system else "group"]
    rest = [name for name in varying if name not in systems]
    for down in range(len(rest) + 1):  # groups go down before modes do
        across = ["measure", *rest[down:]]
        if sum(map(len, {_head(cell, across) for cell in cells})) <= WIDEST:
            break
    return [*systems, *rest[:down]], across


def _head(cell: Cell, names: Iterable[str]) -> str:
    return " ".join(filter(None, _labels(cell, names)))


def _labels(cell: Cell, names: Iterable[str]) -> list[str]:
    return [getattr(cell, name) for name in names]


def _title(cell: Cell) -> str:
    return cell.table if not cell.table.isdigit() else f"table {cell.table}"


def _scales(cells: Iterable[Cell]) -> list[str]:
    scales: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.scale != "number":
            scales.setdefault(cell.scale, {})[cell.measure] = None
    return [f"printed as {scale}: {', '.join(measures)}" for scale, measures in scales.items()]


def numbered(flaws: Sequence[str]) -> list[str]:
    """What is wrong, as footnotes."""
    return [f"[{number}] {flaw}" for number, flaw in enumerate(flaws, start=1)]


def render_claims(outcomes: Sequence[tuple[Claim, bool | None]], format: str) -> str:
    """Claims in one of `FORMATS`; in the table a line for each, whether it holds, and below it what the numbers say."""
    if format != "table":
        records = [{**claim._asdict(), "outcome": holds} for claim, holds in outcomes]
        return to_json(records) if format == "json" else to_csv([*Claim._fields, "outcome"], records)
    words = {True: "holds", False: "does not hold", None: "no numbers"}
    lines = []
    for claim, holds in outcomes:
        lines.append(f"{words[holds]:<13}  {claim.claim} ({claim.section})")
        lines += [f"{'':<13}  {claim.note}"] if claim.note else []
    return "\n".join(lines) + "\n"
