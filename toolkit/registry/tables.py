"""The numbers that papers report: `published/<paper>-table<n>.csv`, one row a number."""

from __future__ import annotations

import csv
from typing import NamedTuple

from toolkit.registry.loader import FOLDER, read_yaml


class Published(NamedTuple):
    """One number of a paper's table, as a fraction of ours.

    mode     empty for what needs several modes
    measure  ours, as ir_measures writes it, that the number is compared with
    value    a fraction, or a rank
    note     what has to be known of it
    """

    table: str
    system: str
    group: str
    mode: str
    measure: str
    value: float
    note: str


def published(paper: str, system: str) -> list[Published]:
    """What a paper's tables report of a system, in the order of tables and rows; empty where they do not."""
    known = read_yaml(FOLDER / "published" / "measures.yaml").get(paper, {})
    found = []
    for path in sorted((FOLDER / "published").glob(f"{paper}-table*.csv"), key=lambda path: (len(path.name), path.name)):
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["system"] == system and row["measure"] in known]
        for row in rows:
            ours = known[row["measure"]]
            value = float(row["value"]) / ours["times"]
            found.append(Published(row["table"], system, row["group"], row["mode"], ours["measure"], value, row["note"]))
    return found
