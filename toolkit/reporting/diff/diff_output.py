"""A comparison as text, or in the long format for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

import numpy as np

from toolkit.core.errors import three
from toolkit.core.modes import Modes
from toolkit.core.scores import PAIRED, Change
from toolkit.core.system.lazy_names import pandas
from toolkit.core.tables import tabular
from toolkit.core.tables.aligned_table import Column, Number, Table
from toolkit.core.tables.shown_result import ShownResult
from toolkit.evaluation.comparison.comparison import Comparison
from toolkit.evaluation.scores.score_table import is_share
from toolkit.reporting.diff.rankings import Likeness

CHANGES = ("first", "second", *Change.__dataclass_fields__)
ROUNDING = 1e-12  # two documents exchanged among a million make a larger difference


@dataclass(frozen=True)
class Pair:
    """Two runs compared; without a comparison where nothing judges them.

    moved   the queries that moved most, as a table where there are any
    family  what a mark means
    """

    a: str
    b: str
    identical: bool
    likeness: tuple[Likeness, ...]
    comparison: Comparison | None
    moved: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    family: str = ""
    modes: Modes = field(default_factory=Modes)


def lay_out(pair: Pair, *, relative: bool = False) -> list[Table]:
    """What changed from a to b: the measures, the rankings, the queries that moved most."""
    head = f"{pair.a} -> {pair.b}"
    if pair.identical:
        return [Table((), (), title=f"{head}: identical")]
    rankings = rankings_table(pair)
    if pair.comparison:
        return [_changes(pair.comparison.changes, pair.notes, head, relative), rankings, *pair.moved]
    return [Table((), (), pair.notes, head), rankings]


def _changes(changes: Sequence[Change], notes: Sequence[str], title: str, relative: bool) -> Table:
    groups = len({change.group for change in changes}) > 1
    modes = any(change.mode not in ("", PAIRED) for change in changes)
    labels = [*(["group"] if groups else []), "measure", *(["mode"] if modes else [])]
    columns = [
        *(Column(name, label=True) for name in labels),
        *map(Column, ("first", "second", "change")),
        *([Column("per cent", priority=1)] if relative else []),
        *(Column(name, above="95 %", priority=2) for name in ("from", "to")),
        Column("p", priority=1, lower=True),
        *(Column(name, priority=priority) for name, priority in (("d", 4), ("up/down/same", 3))),
    ]
    rows = []
    for change in changes:
        share = is_share(change.measure)
        signed = partial(Number, share=share, signed=True)
        names = {"group": change.group, "measure": change.measure, "mode": change.mode.replace(PAIRED, "")}
        row = [*(names[name] for name in labels), Number(change.a, share), Number(change.b, share)]
        row.append(signed(change.difference, mark=change.mark))
        row += [Number(100 * change.relative, signed=True, decimals=1)] if relative else []
        row += (*map(signed, (change.low, change.high)), Number(change.p, p=True))
        row.append(Number(change.effect, signed=True, decimals=2))
        rows.append([*row, f"{change.up}/{change.down}/{change.same}"])
    return Table(columns, rows, notes, f"{title}\n\n")


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


def rankings_table(pair: Pair) -> Table:
    """How alike the rankings are, a row a mode."""
    if not pair.likeness:
        return Table((), (), title="the runs have no query in common")
    columns = (Column("rankings", label=True), *map(Column, ("queries", "overlap", "Kendall's tau", "RBO", "same ranking")))
    rows = [
        (row["mode"] or "all", row["queries"], Number(row["overlap"], share=True), row["tau"], row["rbo"], row["same ranking"])
        for row in summaries(pair)
    ]
    return Table(columns, rows)


@dataclass(frozen=True, repr=False)
class Differences(ShownResult):
    """Each run compared with the first."""

    pairs: tuple[Pair, ...]

    def __repr__(self) -> str:
        compared = (f"{pair.a} -> {pair.b}{', identical' * pair.identical}" for pair in self.pairs)
        return f"Differences({three(compared)})"

    def tables(self) -> list[Table]:
        """As `tandem diff` prints them."""
        return [table for pair in self.pairs for table in lay_out(pair)]

    def to_frame(self) -> pandas.DataFrame:
        """One row a number, the columns `CHANGES`; empty without judgments, and of runs that are identical."""
        return pandas.DataFrame(change_records(self.pairs), columns=list(CHANGES))


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
