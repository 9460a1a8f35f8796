"""Runs beside published numbers as text: a table with footnotes, or rows for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from toolkit.benchmarks.tables_of_papers import numbered
from toolkit.core.tabular import aligned, to_csv, to_json
from toolkit.evaluate.published import Beside

FORMATS = ("table", "json", "csv")
HEADS = (
    "run",
    "group",
    "mode",
    "measure",
    "value",
    "published",
    "difference",
    "table",
    "system",
    "printed group",
    "printed mode",
)


def render(rows: Sequence[Beside], notes: Sequence[str], format: str) -> str:
    """In one of `FORMATS`; the table and JSON hold the notes too."""
    if format == "table":
        return _table(rows, notes)
    records = [_record(row) for row in rows]
    return to_json(records, notes) if format == "json" else to_csv([*HEADS, "inconsistent"], records)


def _record(row: Beside) -> dict[str, Any]:
    cell = row.cell
    ours = (row.run, row.group, row.mode, row.measure, row.value, cell.value, row.difference, ", ".join(row.tables))
    theirs = (f"{cell.system} ({cell.kind})" if cell.kind else cell.system, cell.group, cell.mode)
    return {**dict(zip(HEADS, (*ours, *theirs), strict=True)), "inconsistent": " ".join(cell.inconsistent)}


def _table(rows: Sequence[Beside], notes: Sequence[str]) -> str:
    """A line for each number; what is the same in all of them is not repeated."""
    flaws = list(dict.fromkeys(flaw for row in rows for flaw in row.cell.inconsistent))
    lines = []
    for row in rows:
        record = _record(row)
        marks = "".join(f" [{flaws.index(flaw) + 1}]" for flaw in row.cell.inconsistent)
        figures = {
            "value": f"{row.value:.4f}",
            "published": f"{row.cell.value:.4f}{marks}",
            "difference": f"{row.difference:+.4f}",
        }
        lines.append([str({**record, **figures}[name]) for name in HEADS])
    told = [number for number, name in enumerate(HEADS) if name in HEADS[1:8] or _tells(lines, number)]
    text = [[HEADS[number] for number in told], *([line[number] for number in told] for line in lines)]
    return "\n".join([*aligned(text, told.index(HEADS.index("value"))), "", *_summary(rows), *notes, *numbered(flaws)]) + "\n"


def _tells(lines: Sequence[Sequence[str]], number: int) -> bool:
    """Whether a column says something: not the same in every line, nor what the column before it in our words says."""
    ours = HEADS.index(HEADS[number].removeprefix("printed "))
    return len({line[number] for line in lines}) > 1 and (ours == number or any(line[number] != line[ours] for line in lines))


def _summary(rows: Sequence[Beside]) -> list[str]:
    """For each run, how far it is from the paper: fractions and ranks apart."""
    lines = []
    for run in dict.fromkeys(row.run for row in rows):
        own = [row for row in rows if row.run == run]
        names = ", ".join(dict.fromkeys(str(_record(row)["system"]) for row in own))
        kinds = {"scores": [row for row in own if row.cell.scale != "number"]}
        kinds["ranks"] = [row for row in own if row.cell.scale == "number"]
        for what, some in kinds.items():
            if some:
                off = [abs(row.difference) for row in some]
                lines.append(
                    f"{run} and {names} as published: {len(off)} {what}, off by {math.fsum(off) / len(off):.4f} on average,"
                    f" {max(off):.4f} at most"
                )
    return lines
