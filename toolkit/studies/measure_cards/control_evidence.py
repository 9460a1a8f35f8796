"""Measures under controls: what systems score with their instructions, with placebos and with those of other core queries.

A placebo says nothing, and another query's instruction nothing about this one: a measure of following is at or below 0 for
both, and above 0 for a system that follows. `scripts/measure_evidence --controls` writes `registry/controls.yaml`.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, INSTRUCTED, REVERSED
from toolkit.core.runs import Run
from toolkit.core.scores import PAIRED
from toolkit.core.system.progress import say
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.tables.aligned_table import Column, Number, Table, labels
from toolkit.datasets import find
from toolkit.evaluation import evaluate
from toolkit.jobs import search_job
from toolkit.jobs.file_job import run_by
from toolkit.metrics.agreement import Between, Grouped, between
from toolkit.registry.loader import FOLDER
from toolkit.retrieval.fuse import fuse
from toolkit.retrieval.instructions import PLACEBO, SHUFFLED

FILE = FOLDER / "controls.yaml"
SENT = ("full", PLACEBO, SHUFFLED)
FUSED = ("bm25", "all-minilm-l6-v2")
FOLLOWER = "bm25+rules"  # reads the instruction itself, whatever is sent in its place: it has no control
FOLLOWING = ("pMRR", "IRS", "IRS_mean", "Following_selection", "WISE", "SICR")
DIGITS = 6  # of numbers that are recorded
Searched = Mapping[str, Mapping[str, Run]]  # what was sent -> system -> its run


def computed(part: str, runs: Searched) -> list[dict[str, Any]]:
    """The rows of one benchmark, or group of it, as `FILE` has them."""
    named = [replace(run, tag=f"{name} {sent}") for sent, by_name in runs.items() for name, run in by_name.items()]
    benchmark = registry.benchmark(find(part).benchmark)
    scores = evaluate(named, benchmark=part, measures=measures_of(part), intervals=True)
    shown = (PAIRED, "", *benchmark.modes.of(INSTRUCTED))
    found: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for row in scores.overall():
        if row.mode in shown and registry.measure(row.measure).direction == "higher":
            system, _, sent = row.run.rpartition(" ")
            values = [row.value, *(scores.interval(row) or ())]
            found.setdefault((system, row.measure, row.mode), {})[sent] = [round(value, DIGITS) for value in values]
    return [{"part": part, "system": s, "measure": measure, "mode": mode, **sent} for (s, measure, mode), sent in found.items()]


def measures_of(part: str) -> list[str]:
    """The measures of a benchmark, and those of following that its modes allow."""
    benchmark = registry.benchmark(find(part).benchmark)
    own = {registry.measure(measure).name for measure in benchmark.measures}
    needed = {name: registry.measures()[name].needs for name in FOLLOWING if benchmark.modes.of(BASE) and name not in own}
    further = (name for name, needs in needed.items() if benchmark.modes.of(REVERSED) or "reversed" not in needs)
    return [*benchmark.measures, *further]


def searched(part: str, systems: Sequence[str], kinds: Sequence[str] = SENT) -> Searched:
    """The runs of the systems with the instruction and with what stands in its place; none with a placebo where there are no
    neutral sentences in the script of an instruction.

    systems  of the registry; BM25 and MiniLM together are fused, too (reciprocal ranks)
    kinds    of `SENT`
    """
    found: dict[str, Mapping[str, Run]] = {}
    for sent in kinds:
        wanted = [name for name in systems if sent == SENT[0] or name != FOLLOWER]
        try:
            runs = {name: run_by(search_job(part, system=name, instruction=sent)) for name in wanted}
        except ToolkitError as error:
            if sent != PLACEBO:
                raise
            say(f"note: {part}: {error.message}")
            runs = {}
        fused = {f"{'+'.join(FUSED)}.rrf": fuse([runs[name] for name in FUSED])} if set(FUSED) <= set(runs) else {}
        found[sent] = runs | fused
    return found


@functools.cache
def recorded() -> list[Mapping[str, Any]]:
    """All rows that were computed."""
    return read_yaml(FILE)


@functools.cache
def between_parts() -> tuple[list[Between], list[str]]:
    """How alike each measure orders the systems on the groups of a benchmark, with the instruction; kind is the benchmark."""
    values: Grouped = {}
    for row in recorded():
        selection = find(row["part"])
        if row["part"] != selection.benchmark:
            by_part = values.setdefault((selection.benchmark, row["measure"], row["mode"]), {})
            by_part.setdefault(row["part"], {})[row["system"]] = row[SENT[0]][0]
    return between(values)


def control_table(name: str) -> Table:
    """What is recorded of a measure: a row a benchmark and system; what speaks against it stands in the notes."""
    rows = [row for row in recorded() if registry.measure(row["measure"]).name == name]
    places = ("part", "system", "measure", "mode")
    lines = [(*(row[name] for name in places), *(_cell(row.get(sent)) for sent in SENT)) for row in rows]
    columns = (*labels("benchmark", "system", "measure"), *map(Column, ("mode", "instruction", *SENT[1:])))
    notes = [
        "placebo: neutral sentences as long as the instruction; shuffled: the instruction of another core query",
        f"{FOLLOWER} reads the instruction itself, whatever is sent in its place: it has no control",
        "in brackets 95 % of the value, over core queries",
        *(f"against it: {finding}" for row in rows for finding in findings(row)),
    ]
    return Table(columns, lines, notes, title="Value under controls")


def _cell(values: Sequence[float] | None) -> Number | None:
    if values is None:
        return None
    bounds = f" ({values[1]:.3f} to {values[2]:.3f})" if len(values) > 1 else ""
    return Number(values[0], text=f"{values[0]:.3f}{bounds}")


def findings(row: Mapping[str, Any]) -> list[str]:
    """How a row speaks against a measure of following: a control is significantly above 0, or the rules are not."""
    spec = registry.measure(row["measure"])
    if spec.name not in FOLLOWING:
        return []
    where = f"{row['system']} on {row['part']}"
    found = [f"{sent} of {where} is above 0" for sent in SENT[1:] if sent in row and _low(row[sent]) > 0]
    if row["system"] == FOLLOWER and not _low(row["full"]) > 0:
        found.append(f"{where} is not above 0")
    return found


def _low(values: Sequence[float]) -> float:
    """The lower bound of a value, itself where all core queries have the same."""
    return values[1] if len(values) > 1 else values[0]
