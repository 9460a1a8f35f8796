"""The tables that papers print as text: with a row a system, or a row a number for programs; and their claims."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from toolkit.core.tables.aligned_table import Column, Number, Table
from toolkit.core.tables.tabular import to_csv, to_json
from toolkit.registry.published import kind_means
from toolkit.registry.published.claims import Claim, outcomes
from toolkit.registry.published.paper_tables import Cell, cells_of

COLUMNS = (*Cell._fields[: Cell._fields.index("note")], "compared", "note", "inconsistent")
WIDEST = 200  # characters of the heads that stand beside each other
LONGEST = 8  # characters of a number; public results have all that a float has


def printed_tables(
    paper: str, table: str | None = None, system: str | None = None, *, means: bool = False, claims: bool = False
) -> tuple[list[Table], dict[str, Callable[[], str]]]:
    """What a paper prints, or of it one table, one system, and what makes the forms for programs.

    means   instead the mean of each kind of systems
    claims  instead what the paper claims, and whether it holds
    """
    if means:
        found = kind_means.printed_means(paper, table)
        return [kind_means.lay_out(found)], kind_means.long_forms(found)
    cells = cells_of(paper, table, system)
    if claims:
        decided = outcomes(paper, cells)
        records = [{**claim._asdict(), "outcome": holds} for claim, holds in decided]
        heads = [*Claim._fields, "outcome"]
        return [lay_out_claims(decided)], {"json": lambda: to_json(records), "csv": lambda: to_csv(heads, records)}
    return lay_out(cells), long_forms(cells)


def lay_out(cells: Sequence[Cell]) -> list[Table]:
    """A table of the paper each."""
    by_table: dict[str, list[Cell]] = {}
    for cell in cells:
        by_table.setdefault(cell.table, []).append(cell)
    return [_table(cells_of_table) for cells_of_table in by_table.values()]


def long_forms(cells: Sequence[Cell]) -> dict[str, Callable[[], str]]:
    """format -> what makes it, of those that have a row a number."""
    rows = [_row(cell) for cell in cells]
    return {"json": lambda: to_json(rows), "csv": lambda: to_csv(COLUMNS, rows)}


def _row(cell: Cell) -> dict[str, Any]:
    place = cell.ours
    place_text = " ".join(filter(None, ("+".join(place.groups), place.mode, place.measure))) if place else ""
    derived = {"compared": place_text, "inconsistent": " ".join(cell.inconsistent)}
    return {name: derived.get(name, getattr(cell, name, "")) for name in COLUMNS}


def _table(cells: Sequence[Cell]) -> Table:
    """One table: what varies, first the systems, down or across; then the scales, and what is wrong."""
    down, across = _layout(cells)
    flaws = list(dict.fromkeys(flaw for cell in cells for flaw in cell.inconsistent))
    rows: dict[tuple[str, ...], dict[str, Number]] = {}
    columns: dict[str, Column] = {}
    scales: dict[str, dict[str, None]] = {}
    for cell in cells:
        head = _head(cell, across)
        marks = "".join(f" [{flaws.index(flaw) + 1}]" for flaw in cell.inconsistent)
        printed = cell.printed if len(cell.printed) <= LONGEST else f"{cell.value:.4f}"
        rows.setdefault(tuple(getattr(cell, name) for name in down), {})[head] = Number(cell.value, text=printed + marks)
        rest = _head(cell, across[1:])
        columns.setdefault(head, Column(rest, above=cell.measure) if rest else Column(cell.measure))
        if cell.scale != "number":
            scales.setdefault(cell.scale, {})[cell.measure] = None
    lines = [[*key, *(values.get(head) for head in columns)] for key, values in rows.items()]
    heads = (*(Column(name, label=True) for name in down), *columns.values())
    title = f"table {cells[0].table}" if cells[0].table.isdigit() else cells[0].table
    printed_as = [f"printed as {scale}: {', '.join(measures)}" for scale, measures in scales.items()]
    return Table(heads, lines, [*printed_as, *numbered(flaws)], title)


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
    return " ".join(filter(None, (getattr(cell, name) for name in names)))


def numbered(flaws: Sequence[str]) -> list[str]:
    """What is wrong, as footnotes."""
    return [f"[{number}] {flaw}" for number, flaw in enumerate(flaws, start=1)]


def lay_out_claims(outcomes: Sequence[tuple[Claim, bool | None]]) -> Table:
    """A row for each claim, whether it holds, and what the numbers say."""
    words = {True: "holds", False: "does not hold", None: "no numbers"}
    rows = [(words[holds], claim.claim, claim.section, claim.note) for claim, holds in outcomes]
    prose = (Column(name, prose=True, priority=priority) for name, priority in (("claim", 0), ("section", 2), ("note", 1)))
    return Table((Column("outcome", label=True), *prose), rows)
