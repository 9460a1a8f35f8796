"""Do measures order systems alike? Kendall's tau-b between the orders by each, and by how far the gold document moves."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import INSTRUCTED, REVERSED, Modes
from toolkit.core.tables.aligned_table import Column, Number, Table
from toolkit.core.tables.tabular import to_csv, to_json
from toolkit.registry.published.paper_tables import graded

GOLD_RANK = ("GoldRank", "gold_rank")  # ours, and as published tables have it
MOVEMENT = "R_rev - R_ins"


class Graded(NamedTuple):
    """One number of one system; mode is empty for what needs several modes, or has none."""

    system: str
    measure: str
    mode: str
    value: float


class Agreement(NamedTuple):
    """How alike two measures order systems.

    tau      Kendall's tau-b; NaN for fewer than two systems
    systems  how many have both
    """

    first: str
    second: str
    tau: float
    systems: int


Orders = dict[str, dict[str, float]]


def orders(graded: Iterable[Graded], modes: Modes) -> Orders:
    """What systems are ordered by -> system -> number, more is better.

    modes  of the benchmark that the systems are graded by

    A measure of several modes counts in the instructed one. Ranks of the gold document count as their mean movement from the
    instructed to the reversed mode, as floats: in InfoSearch's table 1 two movements of -0.1 differ in their last bits and are
    no tie (as a tie they make tau with WISE 0.47 instead of 0.48). Numbers that are not there (NaN) are left out.
    """
    values: dict[str, dict[str, dict[str, float]]] = {}
    for row in graded:
        spec = registry.measure(row.measure)
        # no grade of a system: what could be reached, and how far off the system is
        if not math.isnan(row.value) and spec.direction != "none" and spec.over != "aggregate":
            values.setdefault(row.measure, {}).setdefault(row.mode, {})[row.system] = row.value
    made: Orders = {}
    movement: Orders = {}
    for measure, columns in values.items():
        by_role = {modes[mode]: column for mode, column in columns.items() if mode in modes}
        if measure in GOLD_RANK:
            rev, ins = by_role.get(REVERSED, {}), by_role.get(INSTRUCTED, {})
            movement = {MOVEMENT: {system: rev[system] - ins[system] for system in ins if system in rev}}
        else:
            chosen = [mode for mode in columns if mode in modes.of(INSTRUCTED)] or list(columns)
            made |= {f"{measure} {mode if mode in modes else ''}".strip(): columns[mode] for mode in chosen}
    return {name: column for name, column in {**made, **movement}.items() if column}


def agreement(columns: Mapping[str, Mapping[str, float]]) -> list[Agreement]:
    """Every measure with every measure, itself included, row by row.

    Raises ToolkitError for fewer than two systems or measures: there is nothing to compare.
    """
    systems = {system for column in columns.values() for system in column}
    if len(systems) < 2 or len(columns) < 2:
        raise ToolkitError(f"orders to compare: systems {len(systems)}, measures {len(columns)}", "name two of both at least")
    return [_pair(first, second, columns[first], columns[second]) for first, second in product(columns, repeat=2)]


def printed_agreement(paper: str, table: str | None = None) -> list[Agreement]:
    """The same of the systems of a table that a benchmark's paper prints, by default its first with scores."""
    return agreement(orders((Graded(*row) for row in graded(paper, table)), registry.benchmark(paper).modes))


def _pair(name: str, other: str, first: Mapping[str, float], second: Mapping[str, float]) -> Agreement:
    both = [system for system in first if system in second]
    return Agreement(name, other, tau_b([first[each] for each in both], [second[each] for each in both]), len(both))


def lay_out(rows: Sequence[Agreement], notes: Sequence[str] = ()) -> Table:
    """The matrix: every measure down and across."""
    names = list(dict.fromkeys(row.first for row in rows))
    values = {(row.first, row.second): row.tau for row in rows}
    counts = sorted({row.systems for row in rows})
    over = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    text = f"Kendall's tau-b between the orders of {over} systems; more is better in every measure."
    columns = (Column("measure", label=True), *map(Column, names))
    return Table(
        columns, [[first, *(Number(values[first, second], decimals=2) for second in names)] for first in names], [text, *notes]
    )


def long_forms(rows: Sequence[Agreement], notes: Sequence[str] = ()) -> dict[str, Callable[[], str]]:
    """format -> what makes it, of those that have a row a pair."""
    records = [row._asdict() for row in rows]
    return {"json": lambda: to_json(records, notes), "csv": lambda: to_csv(Agreement._fields, records)}


def tau_b(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's tau-b of two parallel columns, which may have ties; NaN for fewer than two rows, or where a column is all
    ties."""
    from scipy import stats

    return float(stats.kendalltau(first, second).statistic) if len(first) > 1 else math.nan
