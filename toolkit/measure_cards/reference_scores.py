"""What systems that follow nothing, everything or the opposite score on a benchmark: the scale on which a number is read."""

from __future__ import annotations

from collections.abc import Sequence

from toolkit import registry
from toolkit.benchmarks import Benchmark, load, present_groups
from toolkit.core.aligned_table import Cell, Column, Number, Table
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, INSTRUCTED
from toolkit.core.runs import Run, join_runs
from toolkit.core.scores import OVERALL, PAIRED, Scores
from toolkit.evaluate import evaluate
from toolkit.evaluate.references import NAMES
from toolkit.instructions import with_instructions
from toolkit.registry.loader import did_you_mean
from toolkit.search.lexical_engines import search_okapi

SYSTEM, PLACEBO = "bm25", "placebo"
NOTES = (
    "bm25: Okapi BM25 over query and instruction; placebo: over neutral sentences as long as the instruction, verbosity only",
    "blind, random, oracle and reversed are other orders of bm25's own lists (`tandem evaluate --references`)",
)


def with_modes() -> list[str]:
    """The benchmarks that are on this machine whole and have a base and an instructed mode."""
    return [name for name in registry.benchmarks() if _has_modes(name) and _is_here(name)]


def _has_modes(name: str) -> bool:
    return {BASE, INSTRUCTED} <= set(registry.benchmark(name).modes.values())


def _is_here(name: str) -> bool:
    return len(present_groups(load(name))) == len(registry.benchmark(name).groups)


def reference_scores(names: Sequence[str] = (), measures: Sequence[str] | None = None) -> Table:
    """A row for each benchmark, measure and mode (`paired`, or the instructed one), a column a reference.

    names     of benchmarks; none for all that are on this machine
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
    return Table(columns, rows, notes)


def _check(names: Sequence[str]) -> None:
    known = registry.benchmarks()
    problems = [f"no benchmark {name!r}" for name in names if name not in known]
    found = [name for name in names if name in known]
    problems += [f"{name} has no base and instructed mode" for name in found if not _has_modes(name)]
    problems += [f"{name} is not on this machine" for name in found if _has_modes(name) and not _is_here(name)]
    if problems:
        near = "".join(did_you_mean(name, known) for name in names if name not in known)
        raise ToolkitError("; ".join(problems), f"{near}here are {', '.join(with_modes())}")


def _scores(name: str, measures: Sequence[str] | None) -> tuple[Scores, list[str]]:
    """The scores of BM25, its references and its placebo; and why there is no placebo, where there is none."""
    benchmark = load(name)
    runs, notes = {SYSTEM: _run(benchmark, "full", SYSTEM)}, []
    try:
        runs[PLACEBO] = _run(benchmark, PLACEBO, PLACEBO)
    except ToolkitError as error:  # its neutral sentences are in few languages
        notes.append(f"{name}: {error.message}")
    return evaluate(runs, benchmark=name, measures=list(measures or benchmark.spec.measures), references=True), notes


def _run(benchmark: Benchmark, instruction: str, tag: str) -> Run:
    parts = []
    for group in benchmark.groups:
        topics = [topic for mode in benchmark.spec.modes for topic in benchmark.topics(group, mode)]
        parts.append(search_okapi(with_instructions(topics, instruction), list(benchmark.docs(group)), tag=tag))
    return join_runs(parts)


def _rows(name: str, scores: Scores) -> list[tuple[Cell, ...]]:
    instructed = {mode for mode, role in registry.benchmark(name).modes.items() if role == INSTRUCTED}
    overall = [row for row in scores.rows if row.group in OVERALL and row.mode in {PAIRED, *instructed}]
    found = {(row.measure, row.mode): {} for row in overall}
    for row in overall:
        found[row.measure, row.mode][row.run.removesuffix(f" of {SYSTEM}")] = row.value
    return [
        (name, measure, mode, *(_number(values.get(column)) for column in (SYSTEM, PLACEBO, *NAMES)))
        for (measure, mode), values in found.items()
    ]


def _number(value: float | None) -> Cell:
    return None if value is None else Number(value)
