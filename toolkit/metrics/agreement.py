"""Do measures order systems alike? Kendall's tau-b between the orders by each, and by how far the gold document moves."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import INSTRUCTED, REVERSED, Modes
from toolkit.core.tables.aligned_table import Column, Number, Table, labels
from toolkit.core.tables.tabular import to_csv, to_json
from toolkit.registry.published.paper_tables import cells_of, graded

GOLD_RANK = ("GoldRank", "gold_rank")  # ours, and as published tables have it
MOVEMENT = "R_rev - R_ins"
LEAST_OF_KIND = 10  # systems of a kind whose order in two groups is compared
NEAR_ZERO = (0.02, 0.05)


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
Grouped = dict[tuple[str, str, str], dict[str, dict[str, float]]]  # kind, measure, mode -> group -> system -> value


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
    return [Agreement(*pair, *tau_b(*(columns[name] for name in pair))) for pair in product(columns, repeat=2)]


def printed_agreement(paper: str, table: str | None = None) -> list[Agreement]:
    """The same of the systems of a table that a benchmark's paper prints, by default its first with scores."""
    return agreement(orders((Graded(*row) for row in graded(paper, table)), registry.benchmark(paper).modes))


class Between(NamedTuple):
    """How alike one measure orders systems in two groups of a benchmark.

    kind       heading of the systems, for MTEB's results its version; empty for all
    tau        Kendall's tau-b; NaN for fewer than two systems
    same_sign  share of the systems whose values have one sign in both groups; None for a measure that is never negative
    systems    how many have both
    """

    kind: str
    measure: str
    mode: str
    first: str
    second: str
    tau: float
    same_sign: float | None
    systems: int


def between_groups(paper: str, table: str | None = None) -> tuple[list[Between], list[str]]:
    """Every pair of groups of a published table by every measure, over all systems and over each kind of ten or more; and of
    each signed measure how many systems have a mean over the groups near 0.

    Raises ToolkitError where the tables have no scores of two groups.
    """
    single = [cell for cell in cells_of(paper, table) if cell.ours and len(cell.ours.groups) == 1]
    chosen = [cell for cell in single if cell.table == single[0].table]
    kinds = Counter(kind for _, kind in {(cell.system, cell.kind) for cell in chosen})
    values: Grouped = {}
    for cell in chosen:
        for kind in dict.fromkeys(("", *([cell.kind] if kinds[cell.kind] >= LEAST_OF_KIND else []))):
            by_group = values.setdefault((kind, cell.measure, cell.mode), {})
            by_group.setdefault(cell.ours.groups[0], {})[f"{cell.system} {cell.kind}"] = cell.value
    rows, notes = between(values)
    if not rows:
        raise ToolkitError(f"no table of {paper} has scores of two groups", f"see `tandem benchmarks published {paper}`")
    return sorted(rows, key=lambda row: row.kind != ""), notes


def between(values: Grouped) -> tuple[list[Between], list[str]]:
    """Every pair of groups by every measure; a note for each signed measure over all systems."""
    rows, notes = [], []
    for place, by_group in values.items():
        signed = min(value for column in by_group.values() for value in column.values()) < 0
        for (first, column), (second, other) in combinations(by_group.items(), 2):
            tau, count = tau_b(column, other)
            alike = sum((column[each] > 0) == (other[each] > 0) for each in column.keys() & other.keys())
            rows.append(Between(*place, first, second, tau, alike / count if signed and count else None, count))
        if signed and not place[0]:
            columns = list(by_group.values())
            systems = [system for system in columns[0] if all(system in column for column in columns)]
            means = [abs(math.fsum(column[system] for column in columns) / len(columns)) for system in systems]
            near = ", ".join(f"below {bound:g} for {sum(mean < bound for mean in means)}" for bound in NEAR_ZERO)
            notes.append(f"{' '.join(filter(None, place))}: |mean over groups| is {near} of {len(means)} systems")
    return rows, notes


def lay_out_between(rows: Sequence[Between], notes: Sequence[str]) -> Table:
    """A row a pair of groups."""
    lines = []
    for row in rows:
        same_sign = row.same_sign and Number(row.same_sign, decimals=2)
        lines.append((row.kind or "all", *row[1:5], Number(row.tau, decimals=2), same_sign, row.systems))
    columns = (*labels("systems of", "measure", "mode", "group", "other"), *map(Column, ("tau", "same sign", "systems")))
    text = "tau: Kendall's tau-b between the orders of the systems; same sign: share of systems with one sign in both groups"
    return Table(columns, lines, [text, *notes])


def lay_out(rows: Sequence[Agreement], notes: Sequence[str] = ()) -> Table:
    """The matrix: every measure down and across."""
    names = list(dict.fromkeys(row.first for row in rows))
    values = {(row.first, row.second): row.tau for row in rows}
    counts = sorted({row.systems for row in rows})
    over = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    text = f"Kendall's tau-b between the orders of {over} systems; more is better in every measure."
    columns = (Column("measure", label=True), *map(Column, names))
    cells = [[first, *(Number(values[first, second], decimals=2) for second in names)] for first in names]
    return Table(columns, cells, [text, *notes])


def long_forms(rows: Sequence[Agreement | Between], notes: Sequence[str] = ()) -> dict[str, Callable[[], str]]:
    """format -> what makes it, of those that have a row a pair of measures, or of groups."""
    records = [row._asdict() for row in rows]
    return {"json": lambda: to_json(records, notes), "csv": lambda: to_csv(list(records[0]), records)}


def tau_b(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[float, int]:
    """Kendall's tau-b of two columns, which may have ties, and how many systems have both; NaN for fewer than two, or where a
    column is all ties."""
    from scipy import stats

    both = [system for system in first if system in second]
    columns = ([column[each] for each in both] for column in (first, second))
    return float(stats.kendalltau(*columns).statistic) if len(both) > 1 else math.nan, len(both)
