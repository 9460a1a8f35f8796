"""A comparison as text, or in the long format for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from toolkit.core import tabular
from toolkit.core.modes import Modes
from toolkit.core.scores import Change
from toolkit.diff.rankings import Likeness
from toolkit.evaluate.comparison import Comparison
from toolkit.evaluate.score_table import PAIRED, SIGNIFICANT, Panel, Table, number, to_text

CHANGES = ("first", "second", *Change.__dataclass_fields__)
ROUNDING = 1e-12  # two documents exchanged among a million make a larger difference


@dataclass(frozen=True)
class Pair:
    """Two runs compared. a, b: their names. comparison: None where nothing judges them. notes, modes: of all of it."""

    a: str
    b: str
    identical: bool
    likeness: tuple[Likeness, ...]
    comparison: Comparison | None
    moved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    modes: Modes = field(default_factory=Modes)


def to_table(pair: Pair, *, relative: bool = False, width: int | None = None) -> str:
    """What changed from a to b, for people."""
    head = f"{pair.a} -> {pair.b}"
    if pair.identical:
        return f"{head}: identical\n"
    blocks = [f"{head}\n"]
    if pair.comparison:
        blocks.append(to_text(_changes_table(pair.comparison.changes, relative), width))
        marked = any(change.holm < SIGNIFICANT for change in pair.comparison.changes)
        blocks.append(f"* p below {SIGNIFICANT} after Holm's correction\n" if marked else "")
    blocks.append("\n".join([*pair.notes, ""]) if pair.notes else "")
    blocks.append(_likeness_text(pair, width))
    if pair.moved:
        blocks.append("\n".join(["queries that moved most (rank in the first -> in the second run)", *pair.moved, ""]))
    return "\n".join(filter(None, blocks))


def _changes_table(changes: Sequence[Change], relative: bool) -> Table:
    groups = len({change.group for change in changes}) > 1
    modes = any(change.mode not in ("", PAIRED) for change in changes)
    heads, labels = ["measure"], [[change.measure] for change in changes]
    if modes:
        heads.append("mode")
        labels = [[*label, change.mode.replace(PAIRED, "")] for label, change in zip(labels, changes, strict=True)]
    if groups:
        heads.insert(0, "group")
        before = ["", *(change.group for change in changes)]  # a group's name once
        names = ["" if change.group == last else change.group for change, last in zip(changes, before, strict=False)]
        labels = [[name, *label] for name, label in zip(names, labels, strict=True)]
    columns = {
        "first": [number(change.a) for change in changes],
        "second": [number(change.b) for change in changes],
        "change": [_signed(change.difference) + _star(change) for change in changes],
        **({"per cent": [_per_cent(change.relative) for change in changes]} if relative else {}),
        "95 %": [f"{_signed(change.low)} {_signed(change.high)}" for change in changes],
        "p": [_p(change.p) for change in changes],
        "Holm": [_p(change.holm) for change in changes],
        "test": [change.test for change in changes],
        "d": ["-" if math.isnan(change.effect) else f"{change.effect:+.2f}" for change in changes],
        "up/down/same": [f"{change.up}/{change.down}/{change.same}" for change in changes],
    }
    panels = tuple(Panel(name, ("",), tuple((cell,) for cell in cells)) for name, cells in columns.items())
    return Table(tuple(heads), tuple(map(tuple, labels)), panels)


def _star(change: Change) -> str:
    return "*" if change.holm < SIGNIFICANT else " "


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:+.4f}"


def _per_cent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:+.1f}"


def _p(value: float) -> str:
    return "-" if math.isnan(value) else "<0.0001" if value < 0.0001 else f"{value:.4f}"


def summaries(pair: Pair) -> list[dict]:
    """Means over the queries of each mode: overlap, Kendall's tau over common documents, RBO; how many rankings are equal."""
    by_mode: dict[str, list[Likeness]] = {}
    for row in pair.likeness:
        by_mode.setdefault(pair.modes.split(row.query_id)[1], []).append(row)
    return [
        {
            "mode": mode,
            "queries": len(rows),
            "overlap": float(np.mean([row.overlap for row in rows])),
            "tau": float(np.nanmean(taus)) if (taus := [row.tau for row in rows if not math.isnan(row.tau)]) else math.nan,
            "rbo": float(np.mean([row.rbo for row in rows])),
            # tau of equal rankings may be one digit short of 1
            "same ranking": sum(row.overlap == 1 and not row.tau < 1 - ROUNDING for row in rows),
        }
        for mode, rows in sorted(by_mode.items(), key=lambda item: pair.modes.place(item[0]))
    ]


def _likeness_text(pair: Pair, width: int | None) -> str:
    if not pair.likeness:
        return "the runs have no query in common\n"
    rows = summaries(pair)
    cells = {
        "queries": [str(row["queries"]) for row in rows],
        "overlap": [number(row["overlap"]) for row in rows],
        "Kendall's tau": [number(row["tau"]) for row in rows],
        "RBO": [number(row["rbo"]) for row in rows],
        "same ranking": [str(row["same ranking"]) for row in rows],
    }
    panels = tuple(Panel(name, ("",), tuple((cell,) for cell in column)) for name, column in cells.items())
    return to_text(Table(("rankings",), tuple((row["mode"] or "all",) for row in rows), panels), width)


def to_json(pairs: Sequence[Pair]) -> str:
    """`{"schema": 1, "pairs": [...]}`: each with its runs, whether they are identical, rows, rankings and notes."""
    made = [
        {
            "first": pair.a,
            "second": pair.b,
            "identical": pair.identical,
            "rows": [tabular.without_nan(asdict(change)) for change in pair.comparison.changes] if pair.comparison else [],
            "rankings": [tabular.without_nan(row) for row in summaries(pair)],
            "notes": list(pair.notes),
        }
        for pair in pairs
    ]
    return json.dumps({"schema": tabular.SCHEMA, "pairs": made}, ensure_ascii=False, indent=1) + "\n"


def to_csv(pairs: Sequence[Pair]) -> str:
    """One line a number, with both runs' names; empty where there is no value."""
    return tabular.to_csv(CHANGES, change_records(pairs))


def change_records(pairs: Sequence[Pair]) -> list[dict]:
    """The fields of each number, `CHANGES`, by name."""
    compared = [(pair, change) for pair in pairs if pair.comparison for change in pair.comparison.changes]
    return [{"first": pair.a, "second": pair.b, **asdict(change)} for pair, change in compared]
