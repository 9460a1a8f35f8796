"""Runs beside what the benchmark's paper prints: how far off each number is, and which of the printed ones are doubtful."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolkit import datasets
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.scores import PAIRED, Scores
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.core.tables.tabular import to_csv, to_json
from toolkit.evaluation.comparison.comparison import Testing, compare
from toolkit.evaluation.scores.core_queries import BOTH
from toolkit.evaluation.scores.evaluation import Evaluation
from toolkit.evaluation.scores.judgments import Judgments
from toolkit.files.provenance import Recorded, part, system_name
from toolkit.registry.published.comparison import Beside, Standing, beside, measures_of, standings
from toolkit.registry.published.paper_tables import cells, printed_row
from toolkit.registry.published.tables_as_text import numbered

HEADS = ("run", "group", "mode", "measure", "value", "published", "difference")  # of ours and both, then of what is printed
HEADS += ("table", "system", "printed group", "printed mode")


def paper_of(benchmark: str | None) -> tuple[str, tuple[str, ...]]:
    """The paper that a benchmark's scores can be set beside, and the groups that are scored.

    Raises ToolkitError for a mini, whose scores are never set beside published ones, and for what no paper reports.
    """
    selection = datasets.find(benchmark) if benchmark else None
    if selection is None:
        raise ToolkitError("published numbers are of a benchmark", "--benchmark ID, one of ours")
    if datasets.load(selection.benchmark).spec.mini:
        message = f"{selection.benchmark} was written for this project: its scores are never set beside published ones"
        raise ToolkitError(message, "evaluate a run of the published benchmark")
    if not cells(selection.benchmark):
        raise ToolkitError(f"nothing published is known of {selection.benchmark}", "tandem benchmarks published --help")
    return selection.benchmark, selection.groups


def check_judged(benchmark: str | None, qrels: object) -> None:
    """Raise ToolkitError where other judgments take the place of those that a paper scores by: of a mini, they would have its
    scores stand beside published ones. BERDS, which was published without judgments, is scored by any.
    """
    paper, groups = paper_of(benchmark)
    if qrels and all(map(datasets.load(paper).has_qrels, groups)):
        raise ToolkitError(f"published numbers were computed with the judgments of {paper}", "leave --qrels out")


def check_made_for(record: Mapping[str, Any]) -> None:
    """Raise ToolkitError where a run's record says that it is of a mini: its ids may be those of the benchmark it copies."""
    topics = part(record, "data", "topics").get("name")
    if isinstance(topics, str) and (selection := datasets.find(topics)):
        paper_of(selection.benchmark)


def printed_as(run: Run, paper: str, system: str = "") -> Mapping[str, Any]:
    """How the paper prints the system of a run: the one that is named, else the one of its record, else of its tag.

    Raises ToolkitError where the paper does not report it, and for a run whose record says that it is of a mini.
    """
    record = _record_of(run)
    check_made_for(record)
    if system:
        return printed_row(paper, system)
    name = system_name(run.tag, record)
    try:
        return printed_row(paper, name)
    except ToolkitError as error:
        hint = f"name the row: --published SYSTEM; {error.hint}"
        raise ToolkitError(f"{run.source or run.tag}: {error.message}", hint) from error


def _record_of(run: Run) -> Mapping[str, Any]:
    return Recorded(run.source.split(", ")[0], run).record if run.source else {}


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
    scores = as_printed(evaluation, paper, measures, missing)
    numbers = beside(scores.rows, groups, paper, rows)
    if not numbers:
        raise ToolkitError(f"the {paper} paper prints none of these numbers", f"see `tandem benchmarks published {paper}`")
    return numbers, scores.notes


def as_printed(evaluation: Evaluation, paper: str, measures: Sequence[str] | None, missing: str) -> Scores:
    """The scores that a paper prints; of the measures of its benchmark, those that need other modes than are judged are left
    out, with a note."""
    judgments = replace(evaluation.judgments, measures=measures_of(paper), shown=())
    return replace(evaluation, judgments=judgments).scores(measures, missing=missing, ori_unit=BOTH)


def standing_table(
    evaluation: Evaluation, benchmark: str | None, measures: Sequence[str] | None, missing: str
) -> tuple[Table, dict[str, Callable[[], str]]]:
    """Where each number of the runs stands among the published ones of all systems, and what makes the forms for programs.

    Raises ToolkitError for a mini, for a benchmark of which nothing is published, and where there is nothing to compare.
    """
    paper, groups = paper_of(benchmark)
    for run in evaluation.runs:
        check_made_for(_record_of(run))
    scores = as_printed(evaluation, paper, measures, missing)
    found = standings(scores.rows, groups, paper)
    if not found:
        raise ToolkitError(f"none of these numbers is published of {paper}", f"see `tandem benchmarks published {paper}`")
    records = [{**row._asdict(), "above": ", ".join(row.above), "below": ", ".join(row.below)} for row in found]
    figures = [[*list(each.values())[:4], Number(each["value"]), *list(each.values())[5:]] for each in records]
    columns = [Column(name, label=place < 4, prose=place > 6) for place, name in enumerate(Standing._fields)]
    forms = {"json": lambda: to_json(records, scores.notes), "csv": lambda: to_csv(Standing._fields, records)}
    return Table(columns, figures, scores.notes), forms


def _record(row: Beside) -> dict[str, Any]:
    cell = row.cell
    ours = (row.run, row.group, row.mode, row.measure, row.value, cell.value, row.difference, ", ".join(row.tables))
    theirs = (f"{cell.system} ({cell.kind})" if cell.kind else cell.system, cell.group, cell.mode)
    return {**dict(zip(HEADS, (*ours, *theirs), strict=True)), "inconsistent": " ".join(cell.inconsistent)}


def long_forms(rows: Sequence[Beside], notes: Sequence[str]) -> dict[str, Callable[[], str]]:
    """format -> what makes it, of those for programs."""
    records = [_record(row) for row in rows]
    return {"json": lambda: to_json(records, notes), "csv": lambda: to_csv([*HEADS, "inconsistent"], records)}


def lay_out(rows: Sequence[Beside], notes: Sequence[str]) -> Table:
    """A row for each number; what is the same in all of them is not repeated."""
    flaws = list(dict.fromkeys(flaw for row in rows for flaw in row.cell.inconsistent))
    lines = []
    for row in rows:
        share = row.cell.scale != "number"
        marks = "".join(f" [{flaws.index(flaw) + 1}]" for flaw in row.cell.inconsistent)
        figures = {"value": Number(row.value, share), "published": Number(row.cell.value, share, mark=marks)}
        figures["difference"] = Number(row.difference, share, signed=True)
        lines.append([{**_record(row), **figures}[name] for name in HEADS])
    shown = [place for place, name in enumerate(HEADS) if name in HEADS[1:8] or _tells(lines, place)]
    labels = HEADS.index("value")
    columns = [Column(HEADS[place], label=place < labels, priority=place) for place in shown]
    summary = []  # for each run, how far it is from the paper: fractions and ranks apart
    for run in dict.fromkeys(row.run for row in rows):
        rows_of_run = [row for row in rows if row.run == run]
        names = ", ".join(dict.fromkeys(str(_record(row)["system"]) for row in rows_of_run))
        for what, are_ranks in (("scores", False), ("ranks", True)):
            if off := [abs(row.difference) for row in rows_of_run if (row.cell.scale == "number") is are_ranks]:
                far = f"off by {math.fsum(off) / len(off):.4f} on average, {max(off):.4f} at most"
                summary.append(f"{run} and {names} as published: {len(off)} {what}, {far}")
    return Table(columns, [[line[place] for place in shown] for line in lines], [*summary, *notes, *numbered(flaws)])


def _tells(lines: Sequence[Sequence[Cell]], place: int) -> bool:
    """Whether a column says something: not the same in every line, nor what the column before it in our words says."""
    ours = HEADS.index(HEADS[place].removeprefix("printed "))
    return len({line[place] for line in lines}) > 1 and (ours == place or any(line[place] != line[ours] for line in lines))


def p_values(
    judgments: Judgments, runs: Callable[[str], Run], tests: Mapping[str, str]
) -> Callable[[str, str, str, str, str], float]:
    """`p_of(first, second, measure, group, mode)` of runs by name; tests  measure -> the paper's, one of `comparison.TESTS`"""

    @functools.cache
    def changes(first: str, second: str, measure: str) -> dict[tuple[str, str], float]:
        compared = compare(runs(first), runs(second), judgments, [measure], Testing(tests[measure]))
        return {(change.group, change.mode): change.p for change in compared.changes}

    return lambda first, second, measure, group, mode: changes(first, second, measure)[group, mode or PAIRED]
