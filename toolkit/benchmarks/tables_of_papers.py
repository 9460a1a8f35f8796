"""The tables that papers print, chosen and shown: as a table with a row a system, or a row a number for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.tabular import aligned, to_csv, to_json
from toolkit.registry.claims import Claim
from toolkit.registry.loader import did_you_mean
from toolkit.registry.tables import Cell, is_of, papers, rows_named

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


def cells_of(paper: str, table: str | None = None, system: str | None = None) -> list[Cell]:
    """What a paper prints, or of it one table, one system.

    table   `1`, `figure3`, `text`
    system  an entry of the registry, or as the paper prints it (`GPT-4o`, `Mistral-ins-v0.2 (listwise)`)

    Raises ToolkitError for a benchmark of which nothing is published, and for a table or system that is not there.
    """
    found = list(registry.cells(paper))
    if not found:
        raise ToolkitError(f"nothing published is known of {paper}", f"papers with tables: {', '.join(papers())}")
    if table is not None:
        tables = list(dict.fromkeys(cell.table for cell in found))
        if table not in tables:
            raise ToolkitError(f"the {paper} paper has no table {table!r} of numbers", f"it has {', '.join(tables)}")
        found = [cell for cell in found if cell.table == table]
    if system is not None:
        row = printed_row(paper, system)
        found = [cell for cell in found if is_of(cell, row)]
        if not found:
            raise ToolkitError(f"table {table} of the {paper} paper has no row of {system}", "leave --table out")
    return found


def printed_row(paper: str, system: str) -> Mapping[str, Any]:
    """How a paper prints a system: an entry of the registry, or a printed name.

    Raises ToolkitError for an entry that the paper does not report, and for a name that it does not print or prints twice.
    """
    entries = {name: spec.printed[paper] for name, spec in registry.systems().items() if paper in spec.printed}
    if system in entries:
        return entries[system]
    if system in registry.systems():
        raise ToolkitError(f"the {paper} paper does not report {system}", f"it reports {', '.join(entries)}")
    names = rows_named(paper)
    if system not in names:
        raise ToolkitError(
            f"the {paper} paper prints no system {system!r}",
            f"{did_you_mean(system, [*entries, *names])}known: {', '.join(names)}",
        )
    if names[system] is None:
        ways = [name for name in names if name.startswith(f"{system} (")]
        raise ToolkitError(f"the {paper} paper prints {system!r} {len(ways)} times", f"one of {', '.join(ways)}")
    return names[system]


def render(cells: Sequence[Cell], format: str) -> str:
    """Cells in one of `FORMATS`."""
    if format == "table":
        by_table: dict[str, list[Cell]] = {}
        for cell in cells:
            by_table.setdefault(cell.table, []).append(cell)
        return "\n".join(_table(own) for own in by_table.values())
    rows = [_row(cell) for cell in cells]
    return to_json(rows) if format == "json" else to_csv(COLUMNS, rows)


def _row(cell: Cell) -> dict[str, Any]:
    place = cell.ours
    compared = " ".join(filter(None, ("+".join(place.groups), place.mode, place.measure))) if place else ""
    own = {"compared": compared, "inconsistent": " ".join(cell.inconsistent)}
    return {name: own.get(name, getattr(cell, name, "")) for name in COLUMNS}


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
    for kept in range(len(rest) + 1):  # groups go down before modes do
        across = ["measure", *rest[kept:]]
        if sum(map(len, {_head(cell, across) for cell in cells})) <= WIDEST:
            break
    return [*systems, *rest[:kept]], across


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


def graded(paper: str, table: str | None = None) -> list[tuple[str, str, str, float]]:
    """The overall numbers of the systems of a table, by default the paper's first with scores: system, measure, mode, value.

    Overall are averages over groups where the table has some; a system stands once for each of several averages.
    """
    own = [cell for cell in cells_of(paper, table) if cell.ours]
    if not own:
        raise ToolkitError(f"table {table} of the {paper} paper has no scores of systems", "name another table")
    own = [cell for cell in own if cell.table == own[0].table]
    averages = [cell for cell in own if cell.group.startswith("average")]
    return [(f"{each.system} {each.kind} {each.group}", each.measure, each.mode, each.value) for each in averages or own]


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
