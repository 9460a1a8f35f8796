"""Scores of runs beside what a paper prints of their systems, and a paper's claims and tests over them."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from toolkit import registry
from toolkit.core.scores import AVERAGE, PAIRED, SIGNIFICANT, Score
from toolkit.core.specs import SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.published.claims import Claim, outcomes
from toolkit.registry.published.paper_tables import PUBLISHED, Cell, Place, cells, is_of, kind_of, reading, row_of


class Beside(NamedTuple):
    """One number of a run beside the printed one; all in our scale.

    cell    the printed one
    tables  that print it so
    """

    run: str
    group: str
    mode: str
    measure: str
    value: float
    cell: Cell
    tables: tuple[str, ...]

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.value - self.cell.value


def measures_of(paper: str) -> tuple[str, ...]:
    """What a paper prints, as ir_measures writes it; what evaluation adds by itself is not among it."""
    measures = dict.fromkeys(cell.ours.measure for cell in cells(paper) if cell.ours)
    return tuple(measure for measure in measures if registry.measure(measure).over != "aggregate")


def beside(
    scores: Iterable[Score], groups: Sequence[str], paper: str, printed: Mapping[str, Mapping[str, Any]]
) -> list[Beside]:
    """The aggregate scores of runs beside what a paper prints, run by run, each in the paper's order; what several tables
    print alike is one row.

    groups   of the benchmark, that were scored: a printed average is compared where all that it is over were
    printed  run -> how the paper prints its system (`SystemSpec.printed`)
    """
    values = aggregates(scores)
    rows: dict[tuple, Beside] = {}
    for run, printed_so in printed.items():
        for cell in cells(paper):
            if not cell.ours or not is_of(cell, printed_so) or not (group := scored_group(cell.ours, groups)):
                continue
            place = (group, cell.ours.mode, cell.ours.measure)
            value = values.get((run, *place), math.nan)
            if not math.isnan(value):
                key = (run, *place, cell.group, cell.mode, cell.value)
                row = Beside(run, *place, value, cell, (cell.table,))
                if known := rows.get(key):  # alike but for the table: what contradicts either contradicts both
                    flaws = tuple(dict.fromkeys((*known.cell.inconsistent, *cell.inconsistent)))
                    row = known._replace(cell=known.cell._replace(inconsistent=flaws), tables=(*known.tables, cell.table))
                rows[key] = row
    return list(rows.values())


class Standing(NamedTuple):
    """Where a number of a run stands among the published ones of all systems.

    place         1 for better than all of them
    of            how many there are
    above, below  the systems next to it, the nearest first, as they are printed
    """

    run: str
    group: str
    mode: str
    measure: str
    value: float
    place: int
    of: int
    above: tuple[str, ...]
    below: tuple[str, ...]


def standings(scores: Iterable[Score], groups: Sequence[str], paper: str, *, near: int = 2) -> list[Standing]:
    """Every aggregate number of the runs that is published of two systems or more, among these; near  systems on a side.

    A number that equals a printed one stands above it. Where tables print a number differently, the last one counts.
    """
    printed: dict[tuple[str, str, str], dict[tuple[str, str], float]] = {}
    for cell in cells(paper):
        if cell.ours and (group := scored_group(cell.ours, groups)):
            printed.setdefault((group, cell.ours.mode, cell.ours.measure), {})[cell.system, cell.kind] = cell.value
    found = []
    for (run, *place), value in aggregates(scores).items():
        theirs = printed.get(tuple(place), {})
        if len(theirs) < 2 or math.isnan(value):
            continue
        sign = -1 if registry.measure(place[2]).direction == "lower" else 1
        ordered = sorted(theirs, key=lambda system: -sign * theirs[system])
        better = sum(sign * theirs[system] > sign * value for system in ordered)
        names = [f"{system} {theirs[system, kind]:.4f}" for system, kind in ordered]
        above, below = names[max(0, better - near) : better][::-1], names[better : better + near]
        found.append(Standing(run, *place, value, better + 1, len(ordered), tuple(above), tuple(below)))
    return found


def aggregates(scores: Iterable[Score]) -> dict[tuple[str, str, str, str], float]:
    """Run, group, mode (empty where it is paired) and measure -> value."""
    whole = [row for row in scores if not row.query_id]
    return {(row.run, row.group, "" if row.mode == PAIRED else row.mode, row.measure): row.value for row in whole}


def scored_group(place: Place, groups: Sequence[str]) -> str:
    """How the scores of some groups call what a printed number is over; empty where they do not have it."""
    if len(place.groups) > 1:
        return AVERAGE if set(place.groups) == set(groups) else ""
    if place.groups[0] not in groups:
        return ""
    return place.groups[0] if len(groups) > 1 else "all"


def as_cells(
    scores: Iterable[Score], groups: Sequence[str], paper: str, systems: Mapping[str, SystemSpec | None]
) -> list[Cell]:
    """The scores of runs in the form of a paper's tables, as its claims are said over them (`outcomes`).

    systems  run -> the entry of its system, None where there is none. A system is called as the paper prints it; the second
             run of one system, and a run of a system that the paper does not report, by the run's name
    """
    scores = [row for row in scores if not row.query_id]
    values = aggregates(scores)
    places = {(cell.table, cell.group, cell.mode, cell.measure): cell for cell in cells(paper) if cell.ours}
    converted, taken = [], set()
    for run, spec in systems.items():
        printed = row_of(paper, spec)
        names = printed.get("name", run)
        name = names if isinstance(names, str) else names[0]
        kind = printed.get("kind") or (kind_of(paper, spec.kind) if spec else "")
        name = run if (name, kind) in taken else name
        taken.add((name, kind))
        for figure, measures in reading(paper).get("unprinted", {}).items():
            # what the figures that print no number would show; the mode is the form of the query
            for row in [row for row in scores if row.run == run and not math.isnan(row.value)]:
                if (measure := row.measure.partition("@")[0]) in measures:
                    shown = (row.group, row.mode, measure, "", "fraction", row.value, "", (), None)
                    converted.append(Cell(figure, name, kind, *shown))
        for cell in places.values():
            value = values.get((run, scored_group(cell.ours, groups), cell.ours.mode, cell.ours.measure))
            if value is not None and not math.isnan(value):
                converted.append(cell._replace(system=name, kind=kind, value=value, printed="", note="", inconsistent=()))
    return converted


def claims_over(
    scores: Iterable[Score], groups: Sequence[str], paper: str, systems: Mapping[str, SystemSpec | None]
) -> list[tuple[Claim, bool | None]]:
    """What a paper claims in general, and whether it holds over the scores of runs; None where runs or scores are missing.

    scores   with the measures that the paper prints (`measures_of`), or of `analyze stance`; others say nothing
    others   as in `as_cells`
    """
    return [(claim, holds) for claim, holds in outcomes(paper, as_cells(scores, groups, paper, systems)) if claim.general]


def tests_of(paper: str) -> Mapping[str, str]:
    """Measure -> the test by which a paper says what is similar to the best, one of `comparison.comparison.TESTS`."""
    return read_yaml(PUBLISHED / "reproductions.yaml")[paper].get("tests", {})


class Tested(NamedTuple):
    """A number beside the best of its column.

    best   whose number is the highest; empty where the paper tests nothing
    p      against it, by the paper's test; NaN for the best itself, and where fewer than six core queries differ
    first  whether it is the best: what the paper prints in bold
    """

    best: str = ""
    p: float = math.nan
    first: bool = False

    @property
    def is_similar(self) -> bool:
        """Whether it is not told from the best: what the paper underlines."""
        return bool(self.best) and not self.first and not self.p < SIGNIFICANT

    def said(self, kind: str) -> str:
        """In words; kind  of the systems that are compared."""
        if not self.best:
            return ""
        column = f"{kind} of this column".strip()
        if self.first:
            return f"the best {column}"
        if math.isnan(self.p):
            return f"not tested against {self.best}, the best {column}: fewer than six queries differ"
        return f"{'not ' * self.is_similar}told from {self.best}, the best {column} (p = {self.p:.3f})"


def tested(numbers: Sequence[tuple[Hashable, str, float]], p_of: Callable[[int, int], float]) -> list[Tested]:
    """Each number beside the best of its column.

    numbers  column, system and value
    p_of     of two numbers of one column, by their places
    """
    columns: dict[Hashable, list[int]] = {}
    for place, (column, _, _) in enumerate(numbers):
        columns.setdefault(column, []).append(place)
    found = [Tested()] * len(numbers)
    for places in columns.values():
        best = max(places, key=lambda place: numbers[place][2])
        for place in places:
            found[place] = Tested(numbers[best][1], math.nan if place == best else p_of(best, place), place == best)
    return found
