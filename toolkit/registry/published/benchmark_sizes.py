"""The tables in which papers print the sizes of their benchmarks: `registry/published/<paper>-table<n>.csv`."""

from __future__ import annotations

from typing import NamedTuple

from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.published.paper_tables import PUBLISHED, Cell, cells


class Printed(NamedTuple):
    """One cell of a paper's table of statistics.

    place         its row and column there (`fas multilingual query_chars`)
    groups        ours, which the cell is about
    mode          ours; empty for any
    statistic     what of ours it is compared with, a name of `toolkit.datasets.statistics`
    value         as it is printed
    approximate   why ours cannot be compared digit for digit; empty where it can
    inconsistent  how the paper contradicts the cell; empty where it does not
    within        how far an approximate number may be off, as a fraction of the printed one; 0 for what any may
    """

    table: str
    place: str
    groups: tuple[str, ...]
    mode: str
    statistic: str
    value: str
    approximate: str
    inconsistent: str
    within: float = 0


def statistics(paper: str) -> list[Printed]:
    """Every cell of a paper's table of statistics, in its order; empty where it has none."""
    known = read_yaml(PUBLISHED / "statistics.yaml").get(paper)
    if known is None:
        return []
    text = known.get("text", ())
    return [
        _printed(cell, known)
        for cell in cells(paper)
        if cell.table == str(known["table"]) or (cell.table == "text" and f"{cell.group} {cell.measure}" in text)
    ]


def _printed(cell: Cell, known: dict) -> Printed:
    group, mode, measure = cell.group, cell.mode, cell.measure
    ours, place = known["statistics"][measure], " ".join(filter(None, (group, mode, measure)))
    named = (known.get("groups", {}).get(key) for key in (f"{group} {measure}", f"{group} {mode}", group))
    return Printed(
        table=cell.table,
        place=place,
        groups=tuple(next(filter(None, named), [group])),
        mode=ours.get("mode", mode),
        statistic=ours["statistic"],
        value=cell.printed,
        approximate=ours.get("approximate", ""),
        within=ours.get("within", 0),
        inconsistent=" ".join(cell.inconsistent),
    )
