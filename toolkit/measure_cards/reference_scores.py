"""What systems that follow nothing, everything or the opposite score on a benchmark: the scale on which a number is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toolkit import registry
from toolkit.benchmarks import find, load, present_groups
from toolkit.benchmarks.names import part_names
from toolkit.core.aligned_table import Cell, Column, Number, Table
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, INSTRUCTED
from toolkit.core.runs import Run
from toolkit.core.scores import OVERALL, PAIRED, Scores
from toolkit.evaluate import evaluate
from toolkit.evaluate.references import NAMES
from toolkit.jobs import search_job
from toolkit.jobs.engines import run_by
from toolkit.registry.loader import did_you_mean

SYSTEM, PLACEBO = "bm25", "placebo"
NOTES = (
    "bm25: what `tandem search` finds for query and instruction; placebo: for neutral sentences as long as the instruction",
    "blind, random, oracle and reversed are other orders of bm25's own lists (`tandem evaluate --references`)",
)


def with_modes() -> list[str]:
    """The benchmarks that are on this machine whole and have a base and an instructed mode."""
    return [name for name in registry.benchmarks() if has_modes(name) and _is_here(name)]


def has_modes(name: str) -> bool:
    """Whether a benchmark has a base and an instructed mode."""
    return {BASE, INSTRUCTED} <= set(registry.benchmark(name).modes.values())


def _is_here(name: str) -> bool:
    return len(present_groups(load(name))) == len(registry.benchmark(name).groups)


def reference_scores(names: Sequence[str] = (), measures: Sequence[str] | None = None) -> Table:
    """A row for each benchmark, measure and mode (`paired`, or the instructed one), a column a reference.

    names     of benchmarks, or of groups of them (`infosearch-mini-format`); none for all that are on this machine
    measures  None for those of the benchmark's own table

    Raises ToolkitError for names of no benchmark, for benchmarks without an instructed mode and those not on this machine.
    """
    _check(names)
    columns = (Column("benchmark", label=True), Column("measure", label=True), Column("mode", label=True))
    columns = (*columns, *map(Column, (SYSTEM, PLACEBO, *NAMES)))
    rows, notes = [], list(NOTES)
    for name in names or with_modes():
        scores, found = _scores(name, measures)
        rows += _rows(name, scores)
        notes += found
    return Table(columns, rows, list(dict.fromkeys(notes)))


def _check(names: Sequence[str]) -> None:
    selections = {name: find(name) for name in names}
    problems = [f"no benchmark {name!r}" for name, found in selections.items() if not found]
    known = {name: found for name, found in selections.items() if found}
    with_both = {name: found for name, found in known.items() if has_modes(found.benchmark)}
    problems += [f"{name} has no base and instructed mode" for name in known.keys() - with_both.keys()]
    for name, found in with_both.items():
        if set(found.modes) < set(registry.benchmark(found.benchmark).modes):
            problems.append(f"{name} is of one mode")
        elif found.absent or not set(found.groups) <= set(present_groups(load(found.benchmark))):
            problems.append(f"{name} is not on this machine")
    if problems:
        near = "".join(did_you_mean(name, part_names()) for name, found in selections.items() if not found)
        raise ToolkitError("; ".join(problems), f"{near}here are {', '.join(with_modes())}")


def _scores(name: str, measures: Sequence[str] | None) -> tuple[Scores, list[str]]:
    """The scores of BM25, its references and its placebo; what is to be known of them, as why there is no placebo."""
    runs, notes = {SYSTEM: _run(name, "full")}, []
    try:
        runs[PLACEBO] = replace(_run(name, PLACEBO), tag=PLACEBO)
    except ToolkitError as error:  # its neutral sentences are in few languages
        notes.append(f"{name}: {error.message}")
    wanted = measures or registry.benchmark(find(name).benchmark).measures
    scores = evaluate(runs, benchmark=name, measures=list(wanted), references=True)
    return scores, [*notes, *(note for note in scores.notes if note.startswith(find(name).benchmark))]


def _run(name: str, instruction: str) -> Run:
    """Lucene's BM25, with the analyzer of each group's language."""
    return run_by(search_job(name, system=SYSTEM, instruction=instruction))


def _rows(name: str, scores: Scores) -> list[tuple[Cell, ...]]:
    instructed = {mode for mode, role in registry.benchmark(find(name).benchmark).modes.items() if role == INSTRUCTED}
    rows = [row for row in scores.rows if row.mode in {PAIRED, *instructed}]
    overall = [row for row in rows if row.group in OVERALL] or rows  # of one group alone its own
    found = {(row.measure, row.mode): {} for row in overall}
    for row in overall:
        found[row.measure, row.mode][row.run.removesuffix(f" of {SYSTEM}")] = row.value
    return [
        (name, measure, mode, *(_number(values.get(column)) for column in (SYSTEM, PLACEBO, *NAMES)))
        for (measure, mode), values in found.items()
    ]


def _number(value: float | None) -> Cell:
    return None if value is None else Number(value)
