"""Means over the systems of each kind, as papers speak of kinds; InfoSearch divides list-wise rerankers into fine-tuned and
zero-shot ones (the headings of its table 1).
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.tables.aligned_table import Column, Number, Table
from toolkit.core.tables.tabular import to_csv, to_json
from toolkit.registry.published.paper_tables import Cell, cells_of, reading


class KindMean(NamedTuple):
    """One number. part: of the kind, empty for all of it; systems: how many it is over; value, scale: as in `Cell`."""

    kind: str
    part: str
    group: str
    mode: str
    measure: str
    value: float
    scale: str
    systems: int


def part_of(paper: str, kind: str, system: str) -> str:
    """`fine-tuned`, `zero-shot`: the part of its kind that a paper puts a system in, as it prints both; empty for no part."""
    return next((part for part, systems in reading(paper).get("divided", {}).get(kind, {}).items() if system in systems), "")


def kind_means(paper: str, cells: Iterable[Cell]) -> list[KindMean]:
    """The mean of each kind, and then of its parts, of each number that cells of one table have: a paper's, or of runs in their
    form (`as_cells`). Kinds come in the order of the cells.
    """
    kinds: dict[str, dict[str, None]] = {}
    columns: dict[tuple[str, str, str, str, str], list[Cell]] = {}
    for cell in cells:
        for part in dict.fromkeys(("", part_of(paper, cell.kind, cell.system))):
            kinds.setdefault(cell.kind, {})[part] = None
            columns.setdefault((cell.kind, part, cell.group, cell.mode, cell.measure), []).append(cell)
    ordered = [(kind, part) for kind, parts in kinds.items() for part in parts]
    means = []
    for place, found in columns.items():
        means.append(KindMean(*place, math.fsum(cell.value for cell in found) / len(found), found[0].scale, len(found)))
    return sorted(means, key=lambda each: ordered.index((each.kind, each.part)))


def printed_means(paper: str, table: str | None = None) -> list[KindMean]:
    """Means over a paper's own table, by default its first with scores of systems; of averages over groups where it has some.

    Raises ToolkitError for a table that has no kinds of systems.
    """
    chosen = [cell for cell in cells_of(paper, table) if cell.kind and cell.ours]
    if not chosen:
        raise ToolkitError(f"the {paper} paper prints no kinds of systems there", "name another table with --table")
    chosen = [cell for cell in chosen if cell.table == chosen[0].table]
    return kind_means(paper, [cell for cell in chosen if cell.group.startswith("average")] or chosen)


def lay_out(means: Sequence[KindMean]) -> Table:
    """A row a kind or part of it, a column a number."""
    places = list(dict.fromkeys((each.group, each.measure, each.mode) for each in means))
    groups = {group for group, _, _ in places}
    rows = {}
    for each in means:
        row = rows.setdefault((each.kind, each.part), {"systems": each.systems})
        row[each.group, each.measure, each.mode] = Number(each.value, share=each.scale != "number")
    columns = [Column(" ".join(filter(None, (mode, group if len(groups) > 1 else ""))), above=m) for group, m, mode in places]
    parts = any(part for _, part in rows)
    labels = [Column("kind", label=True), *([Column("part", label=True)] if parts else []), Column("systems")]
    lines = [
        (kind, *([part] if parts else []), row["systems"], *(row.get(place) for place in places))
        for (kind, part), row in rows.items()
    ]
    return Table((*labels, *columns), lines)


def long_forms(means: Sequence[KindMean]) -> dict:
    """format -> what makes it, of those for programs."""
    records = [each._asdict() for each in means]
    return {"json": lambda: to_json(records), "csv": lambda: to_csv(list(KindMean._fields), records)}
