"""What papers print of a measure: how it orders their systems beside other measures, and how many stand below 0."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from toolkit import registry
from toolkit.core.aligned_table import Cell, Column, Number, Table
from toolkit.core.errors import ToolkitError
from toolkit.measure_cards.axioms import AXIOMS
from toolkit.measures.agreement import Agreement, Graded, agreement, orders
from toolkit.published.paper_tables import graded, papers, reading

BLIND = next(axiom for axiom in AXIOMS if axiom.name == "blind")


def published_table(name: str) -> Table:
    """What is published of a measure, a row a paper and mode: how many systems, their range, how many stand below blind."""
    columns = (Column("paper", label=True), Column("mode"), *map(Column, ("systems", "lowest", "highest", "below blind")))
    return Table(columns, list(_ranges(name)), title="In papers")


def _ranges(name: str) -> Iterator[tuple[Cell, ...]]:
    compared = BLIND.is_about(registry.measures()[name])
    for paper in papers():
        by_mode: dict[str, list[float]] = {}
        for _, measure, mode, value in graded(paper):
            if ours(paper, measure) == name:
                by_mode.setdefault(mode, []).append(value)
        for mode, values in by_mode.items():
            below = sum(value < 0 for value in values) if compared else None
            yield paper, mode, len(values), Number(min(values)), Number(max(values)), below


def agreement_table(name: str) -> Table:
    """Kendall's tau-b between the orders of a paper's systems by this measure and by each other one, a row a pair."""
    columns = (Column("paper", label=True), Column("measure", label=True), Column("other", label=True))
    rows = [
        (paper, pair.first, pair.second, Number(pair.tau, decimals=2), pair.systems)
        for paper in papers()
        for pair in _pairs(paper)
        if ours(paper, pair.first.partition(" ")[0]) == name and pair.first != pair.second
    ]
    title = "Agreement with other measures, in papers"
    return Table((*columns, Column("tau"), Column("systems")), rows, title=title)


@functools.cache
def _pairs(paper: str) -> list[Agreement]:
    """All pairs of a paper's measures; none where it has one alone."""
    try:
        return agreement(orders((Graded(*row) for row in graded(paper)), registry.benchmark(paper).modes))
    except ToolkitError:
        return []


def ours(paper: str, printed: str) -> str:
    """The name of a measure as a paper prints it (`gold_rank`) in the registry; empty where nothing of ours is like it."""
    return reading(paper)["measures"].get(printed, "").partition("@")[0].partition("(")[0]
