"""Runs beside what the benchmark's paper prints: how far off each number is, and which of the printed ones are doubtful."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolkit import benchmarks, registry
from toolkit.benchmarks.tables_of_papers import printed_row
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.scores import Score
from toolkit.core.specs import SystemSpec
from toolkit.evaluate.evaluation import Evaluation
from toolkit.evaluate.scoring import AVERAGE
from toolkit.formats import read_metadata
from toolkit.formats.metadata import mapping, system_name
from toolkit.measures.evaluation import PAIRED
from toolkit.registry.claims import Claim
from toolkit.registry.tables import Cell, Place, is_of, kind_of

DERIVED = "WISE_per"  # evaluation adds it where WISE and its ideal are asked for


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


def paper_of(benchmark: str | None) -> tuple[str, tuple[str, ...]]:
    """The paper that a benchmark's scores can be set beside, and the groups that are scored.

    Raises ToolkitError for a mini, whose scores are never set beside published ones, and for what no paper reports.
    """
    selection = benchmarks.find(benchmark) if benchmark else None
    if selection is None:
        raise ToolkitError("published numbers are of a benchmark", "--benchmark ID, one of ours")
    if registry.benchmark(selection.benchmark).mini:
        raise ToolkitError(
            f"{selection.benchmark} was written for this project: its scores are never set beside published ones",
            "evaluate a run of the published benchmark",
        )
    if not registry.cells(selection.benchmark):
        raise ToolkitError(f"nothing published is known of {selection.benchmark}", "tandem benchmarks published --help")
    return selection.benchmark, selection.groups


def check_judged(benchmark: str | None, qrels: object) -> None:
    """Raise ToolkitError where other judgments take the place of those that a paper scores by: of a mini, they would have its
    scores stand beside published ones. BERDS, which was published without judgments, is scored by any.
    """
    paper, groups = paper_of(benchmark)
    if qrels and all(map(benchmarks.load(paper).has_qrels, groups)):
        raise ToolkitError(f"published numbers are by the judgments of {paper}", "leave --qrels out")


def check_made_for(metadata: Mapping[str, Any]) -> None:
    """Raise ToolkitError where a run's metadata say that it is of a mini: its ids may be those of the benchmark it copies."""
    topics = mapping(metadata, "data", "topics").get("name")
    if isinstance(topics, str) and (selection := benchmarks.find(topics)):
        paper_of(selection.benchmark)


def printed_as(run: Run, paper: str, system: str = "") -> Mapping[str, Any]:
    """How the paper prints the system of a run: the one that is named, else the one of its metadata, else of its tag.

    Raises ToolkitError where the paper does not report it, and for a run whose metadata say that it is of a mini.
    """
    metadata = (read_metadata(run.source.split(", ")[0]) if run.source else None) or {}
    check_made_for(metadata)
    if system:
        return printed_row(paper, system)
    name = system_name(run.tag, metadata)
    try:
        return printed_row(paper, name)
    except ToolkitError as error:
        raise ToolkitError(f"{run.source or run.tag}: {error}", f"name the row: --published SYSTEM; {error.hint}") from error


def measures_of(paper: str) -> tuple[str, ...]:
    """What a paper prints, as ir_measures writes it; what evaluation adds by itself is not among it."""
    found = dict.fromkeys(cell.ours.measure for cell in registry.cells(paper) if cell.ours)
    return tuple(measure for measure in found if not measure.startswith(DERIVED))


def scores_beside(
    evaluation: Evaluation, benchmark: str | None, system: str, measures: Sequence[str] | None, missing: str
) -> tuple[list[Beside], tuple[str, ...]]:
    """Every number of the runs that the paper prints, beside it, run by run; and the notes of the evaluation.

    system    a name of the registry or of the paper; empty: each run's own
    measures  None for all that the paper prints

    Raises ToolkitError where there is nothing to compare.
    """
    paper, groups = paper_of(benchmark)
    rows = {run.tag: printed_as(run, paper, system) for run in evaluation.runs}
    # as the measures of the benchmark's own table: those that need other modes than are judged are left out, with a note
    judgments = replace(evaluation.judgments, measures=measures_of(paper), shown=())
    scores = replace(evaluation, judgments=judgments).scores(measures, missing=missing)
    found = beside(scores.rows, groups, paper, rows)
    if not found:
        raise ToolkitError(f"the {paper} paper prints none of these numbers", f"see `tandem benchmarks published {paper}`")
    return found, scores.notes


def beside(
    scores: Iterable[Score], groups: Sequence[str], paper: str, printed: Mapping[str, Mapping[str, Any]]
) -> list[Beside]:
    """The aggregate scores of runs beside what a paper prints, run by run, each in the paper's order; what several tables
    print alike is one row.

    groups   of the benchmark, that were scored: a printed average is compared where all that it is over were
    printed  run -> how the paper prints its system (`SystemSpec.printed`)
    """
    values = _aggregates(scores)
    found: dict[tuple, Beside] = {}
    for run, row in printed.items():
        for cell in registry.cells(paper):
            if not cell.ours or not is_of(cell, row) or not (group := own_group(cell.ours, groups)):
                continue
            place = (group, cell.ours.mode, cell.ours.measure)
            value = values.get((run, *place), math.nan)
            if not math.isnan(value):
                key = (run, *place, cell.group, cell.mode, cell.value)
                found[key] = _merged(found.get(key), Beside(run, *place, value, cell, (cell.table,)))
    return list(found.values())


def _merged(known: Beside | None, row: Beside) -> Beside:
    """One row for two that are alike but for the table; what contradicts either contradicts both."""
    if known is None:
        return row
    flaws = tuple(dict.fromkeys((*known.cell.inconsistent, *row.cell.inconsistent)))
    return known._replace(cell=known.cell._replace(inconsistent=flaws), tables=(*known.tables, *row.tables))


def _aggregates(scores: Iterable[Score]) -> dict[tuple[str, str, str, str], float]:
    """Run, group, mode (empty where it is paired) and measure -> value."""
    return {
        (row.run, row.group, "" if row.mode == PAIRED else row.mode, row.measure): row.value
        for row in scores
        if not row.query_id
    }


def own_group(place: Place, groups: Sequence[str]) -> str:
    """How the scores of some groups call what a printed number is over; empty where they do not have it."""
    if len(place.groups) > 1:
        return AVERAGE if set(place.groups) == set(groups) else ""
    if place.groups[0] not in groups:
        return ""
    return place.groups[0] if len(groups) > 1 else "all"


def as_cells(
    scores: Iterable[Score], groups: Sequence[str], paper: str, systems: Mapping[str, SystemSpec | None]
) -> list[Cell]:
    """The scores of runs in the form of a paper's tables, as its claims are said over them (`registry.outcomes`).

    systems  run -> the entry of its system, None where there is none. A system is called as the paper prints it; the second
             run of one system, and a run of a system that the paper does not report, by the run's name
    """
    values = _aggregates(scores)
    places = {(cell.table, cell.group, cell.mode, cell.measure): cell for cell in registry.cells(paper) if cell.ours}
    found, taken = [], set()
    for run, spec in systems.items():
        printed = spec.printed.get(paper, {}) if spec else {}
        names = printed.get("name", run)
        name = names if isinstance(names, str) else names[0]
        kind = printed.get("kind") or (kind_of(paper, spec.kind) if spec else "")
        name = run if (name, kind) in taken else name
        taken.add((name, kind))
        for cell in places.values():
            value = values.get((run, own_group(cell.ours, groups), cell.ours.mode, cell.ours.measure))
            if value is not None and not math.isnan(value):
                found.append(cell._replace(system=name, kind=kind, value=value, printed="", note="", inconsistent=()))
    return found


def claims(
    scores: Iterable[Score], groups: Sequence[str], paper: str, systems: Mapping[str, SystemSpec | None]
) -> list[tuple[Claim, bool | None]]:
    """What a paper claims in general, and whether it holds over the scores of runs; None where runs or scores are missing.

    scores   with the measures that the paper prints (`measures_of`), others say nothing
    others   as in `as_cells`
    """
    outcomes = registry.outcomes(paper, as_cells(scores, groups, paper, systems))
    return [(claim, holds) for claim, holds in outcomes if claim.general]
