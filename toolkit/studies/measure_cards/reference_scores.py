"""What systems that follow nothing, everything or the opposite score on a benchmark: the scale on which a number is read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, INSTRUCTED
from toolkit.core.runs import Run
from toolkit.core.scores import PAIRED
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table, labels
from toolkit.datasets import find, load, present_groups
from toolkit.datasets.accepted import Measures
from toolkit.datasets.names import Selection, part_names
from toolkit.evaluation import evaluate
from toolkit.evaluation.comparison.references import NAMES
from toolkit.jobs import search_job
from toolkit.jobs.file_job import run_by
from toolkit.registry.loader import did_you_mean

SYSTEM, PLACEBO = "bm25", "placebo"
REFERENCES = (SYSTEM, PLACEBO, *NAMES)  # its columns
NOTES = (
    "bm25: what `tandem search` finds for query and instruction; placebo: for neutral sentences as long as the instruction",
    "blind, random, oracle and reversed are other orders of bm25's own lists (`tandem evaluate --references`)",
)


def with_modes() -> list[str]:
    """The benchmarks that are on this machine whole and have a base and an instructed mode."""
    whole = (name for name, spec in registry.benchmarks().items() if len(present_groups(load(name))) == len(spec.groups))
    return list(filter(has_modes, whole))


def has_modes(name: str) -> bool:
    """Whether a benchmark has a base and an instructed mode."""
    return {BASE, INSTRUCTED} <= set(registry.benchmark(name).modes.values())


def measure_references(names: str | Sequence[str] = (), *, measures: Measures | None = None) -> Table:
    """What BM25, its placebo, and blind, random, oracle and reversed orders score.

    A row for each benchmark, measure and mode (`paired`, or the instructed one), a column a reference; `to_frame()` for pandas.

    names     of benchmarks, or of groups of them (`infosearch-mini-format`); none for all that are on this machine
    measures  None for those of the benchmark's own table

    Raises ToolkitError for names of no benchmark, for benchmarks without an instructed mode and those not on this machine.
    """
    names = [names] if isinstance(names, str) else names
    rows, notes = [], list(NOTES)
    for name, selection in _selections(names or with_modes()).items():
        benchmark, runs = registry.benchmark(selection.benchmark), {SYSTEM: _run(name, "full")}
        try:
            runs[PLACEBO] = replace(_run(name, PLACEBO), tag=PLACEBO)
        except ToolkitError as error:  # its neutral sentences are in few languages
            notes.append(f"{name}: {error.message}")
        scores = evaluate(runs, benchmark=name, measures=list(measures or benchmark.measures), references=True)
        notes += (note for note in scores.notes if note.startswith(selection.benchmark))
        values: dict[tuple[str, str], dict[str, float]] = {}
        for row in scores.overall():
            if row.mode == PAIRED or row.mode in benchmark.modes.of(INSTRUCTED):
                values.setdefault((row.measure, row.mode), {})[row.run.removesuffix(f" of {SYSTEM}")] = row.value
        rows += ((name, *place, *numbers(by_reference)) for place, by_reference in values.items())
    return Table((*labels("benchmark", "measure", "mode"), *map(Column, REFERENCES)), rows, list(dict.fromkeys(notes)))


def _selections(names: Sequence[str]) -> dict[str, Selection]:
    """Name -> what it means; ToolkitError names all that cannot be scored."""
    selections = {name: find(name) for name in names}
    problems = [f"no benchmark {name!r}" for name, selection in selections.items() if not selection]
    known = {name: selection for name, selection in selections.items() if selection}
    with_both = {name: selection for name, selection in known.items() if has_modes(selection.benchmark)}
    problems += [f"{name} has no base and instructed mode" for name in known if name not in with_both]
    for name, selection in with_both.items():
        if set(selection.modes) < set(registry.benchmark(selection.benchmark).modes):
            problems.append(f"{name} is of one mode")
        elif selection.absent or not set(selection.groups) <= set(present_groups(load(selection.benchmark))):
            problems.append(f"{name} is not on this machine")
    if problems:
        near = "".join(did_you_mean(name, part_names()) for name in names if name not in known)
        raise ToolkitError("; ".join(problems), f"{near}here are {', '.join(with_modes())}")
    return with_both


def _run(name: str, instruction: str) -> Run:
    """Lucene's BM25, with the analyzer of each group's language."""
    return run_by(search_job(name, system=SYSTEM, instruction=instruction))


def numbers(values: Mapping[str, float]) -> Iterator[Cell]:
    """A cell for each of `REFERENCES`, empty where there is none."""
    yield from (Number(values[name]) if name in values else None for name in REFERENCES)
