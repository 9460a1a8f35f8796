"""The tables in which papers print the sizes of their benchmarks: `published/<paper>-table<n>.csv`."""

from __future__ import annotations

import csv
from typing import NamedTuple

from toolkit.registry.loader import FOLDER, read_yaml


class Printed(NamedTuple):
    """One cell of a paper's table of statistics.

    place         its row and column there (`fas multilingual query_chars`)
    groups        ours, which the cell is about
    mode          ours; empty for any
    statistic     what of ours it is compared with, a name of `toolkit.benchmarks.statistics`
    value         as it is printed
    approximate   why ours cannot be compared digit for digit; empty where it can
    inconsistent  how the paper contradicts the cell; empty where it does not
    """

    table: str
    place: str
    groups: tuple[str, ...]
    mode: str
    statistic: str
    value: str
    approximate: str
    inconsistent: str


def statistics(paper: str) -> list[Printed]:
    """Every cell of a paper's table of statistics, in its order; empty where it has none."""
    known = read_yaml(FOLDER / "published" / "statistics.yaml").get(paper)
    if known is None:
        return []
    path = FOLDER / "published" / f"{paper}-table{known['table']}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [_printed(row, known) for row in csv.DictReader(file)]


def inconsistencies(paper: str) -> list[str]:
    """What else does not agree in a paper, or between it and its data, in words."""
    return read_yaml(FOLDER / "published" / "inconsistencies.yaml").get(paper, [])


def _printed(row: dict[str, str], known: dict) -> Printed:
    group, mode, measure = row["group"], row["mode"], row["measure"]
    ours, place = known["statistics"][measure], " ".join(filter(None, (group, mode, measure)))
    named = (known.get("groups", {}).get(key) for key in (f"{group} {measure}", f"{group} {mode}", group))
    return Printed(
        table=row["table"],
        place=place,
        groups=tuple(next(filter(None, named), [group])),
        mode=ours.get("mode", mode),
        statistic=ours["statistic"],
        value=row["value"],
        approximate=ours.get("approximate", ""),
        inconsistent=known.get("inconsistent", {}).get(place, ""),
    )
