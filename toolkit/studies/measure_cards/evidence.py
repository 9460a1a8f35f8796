"""Measures on the registered runs of a benchmark: computed once, recorded in the registry, shown on the cards."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from toolkit import registry
from toolkit.core.scores import OVERALL
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.core.tables.table_forms import records
from toolkit.datasets import find
from toolkit.evaluation.analyses.measures import agreement_of
from toolkit.evaluation.analyses.power import power, registered_runs
from toolkit.evaluation.scores.evaluation import Evaluation, prepare
from toolkit.registry import evidence, with_evidence
from toolkit.studies.measure_cards.control_evidence import DIGITS, control_table, measures_of
from toolkit.studies.measure_cards.discrimination import COLUMNS as DECISION_COLUMNS
from toolkit.studies.measure_cards.discrimination import NOTES as DECISION_NOTES
from toolkit.studies.measure_cards.discrimination import Decided, decisions
from toolkit.studies.measure_cards.reference_scores import NOTES, REFERENCES, has_modes, measure_references, numbers
from toolkit.studies.measure_cards.sensitivity import changes

LEAST_RUNS = 3  # two are in the same order or not


def computed(part: str, runs: Sequence[Any] | None = None) -> dict[str, list[dict[str, Any]]]:
    """Everything that `toolkit.registry.evidence` says of a benchmark, or of a group of one.

    runs  each with a tag of its own; None for the registered runs
    """
    wanted = measures_of(part)
    files = registered_runs(part) if runs is None else []
    given = prepare(files or runs, part, None, None, "tandem", apart=True)
    if files:
        # two recipes of one system have one tag
        names = [Path(file).name.removeprefix(f"{part}.").partition(".v")[0] for file in files]
        given = replace(given, runs=tuple(replace(run, tag=name) for run, name in zip(given.runs, names, strict=True)))
    references = records(measure_references([part], measures=wanted)) if has_modes(find(part).benchmark) else []
    agreeing = agreement_of(given.runs, given.judgments, wanted)[0] if len(given.runs) >= LEAST_RUNS else []
    found = {
        "baselines": list(_baselines(given, wanted)),
        "references": [
            {name: value for name, value in row.items() if name != "benchmark" and value is not None} for row in references
        ],
        "detectable": list(_detectable(given, wanted)),
        "discrimination": [row._asdict() for row in decisions(given, wanted)],
        "agreement": [row._asdict() for row in agreeing if row.first != row.second],
        "sensitivity": list(_sensitivity(given, wanted)),
    }
    recorded: dict[str, list[dict[str, Any]]] = {}
    for name, rows in found.items():
        # without a number where what a measure needs is not there
        known = (row for row in rows if not any(isinstance(value, float) and math.isnan(value) for value in row.values()))
        recorded[name] = [
            {key: round(value, DIGITS) if isinstance(value, float) else value for key, value in row.items()} for row in known
        ]
    return recorded


def _baselines(given: Evaluation, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every run over all groups, with the interval of each value."""
    scores = given.scores(wanted, intervals=True)
    for row in scores.overall():
        bounds = scores.interval(row)
        interval = dict(zip(("low", "high"), bounds, strict=True)) if bounds else {}
        yield {"run": row.run, "measure": row.measure, "mode": row.mode, "value": row.value, **interval}


def _detectable(given: Evaluation, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
    rows = power(given, measures=wanted)
    groups = {row.group for row in rows}
    for row in rows:
        if row.group in OVERALL or len(groups) == 1:
            sizes = {"core_queries": row.core_queries, "detectable": row.detectable, "largest": row.largest}
            yield {"measure": row.measure, "mode": row.mode, **sizes, "runs": len(given.runs)}


def _sensitivity(given: Evaluation, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Over the runs: the mean share of queries whose value changes, and the largest change of a run's value."""
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for row in changes(given, wanted):
        found.setdefault((row.measure, row.mode, row.change), []).append((row.changed, abs(row.after - row.before)))
    for (measure, mode, change), values in found.items():
        shares, differences = zip(*values, strict=True)
        yield {"measure": measure, "mode": mode, "change": change, "changed": mean(shares), "difference": max(differences)}


def evidence_tables(name: str) -> list[Table]:
    """What is recorded of a measure, over all benchmarks: those tables that have rows."""
    place = (Column("measure", label=True), Column("mode"))
    references = _table(
        "What reference rankings score",
        (*place, *map(Column, REFERENCES)),
        [(part, row["measure"], row["mode"], *numbers(row)) for part, row in _rows(name, "references")],
        NOTES,
    )
    decided = _table(
        "Decisions between two runs, by core queries",
        DECISION_COLUMNS,
        [(part, *Decided(**row).cells) for part, row in _rows(name, "discrimination")],
        DECISION_NOTES,
    )
    agreeing = _table(
        "Agreement with other measures, on runs",
        (place[0], Column("other", label=True), Column("tau"), Column("runs")),
        [
            (part, row["first"], row["second"], Number(row["tau"], decimals=2), row["systems"])
            for part, row in _rows(name, "agreement", "first")
        ],
        ["tau: Kendall's tau-b between the orders of the registered runs, on FollowTable of the systems under controls"],
    )
    sensitive = _table(
        "Sensitivity to digits, ties and depth",
        (*place, *map(Column, ("change", "changed", "difference"))),
        [
            (part, row["measure"], row["mode"], row["change"], Number(row["changed"], share=True), Number(row["difference"]))
            for part, row in _rows(name, "sensitivity")
        ],
        ["changed: the share of queries whose value changes, over these runs; difference: the largest of a run's value"],
    )
    return [table for table in (references, control_table(name), decided, agreeing, sensitive) if table.rows]


def _table(title: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], notes: Sequence[str]) -> Table:
    return Table((Column("benchmark", label=True), *columns), rows, notes, title)


def _rows(name: str, what: str, key: str = "measure") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Benchmark and row of every record about a measure, whatever its parameters."""
    for benchmark in with_evidence():
        for row in evidence(benchmark)[what]:
            if registry.measure(row[key].partition(" ")[0]).name == name:
                yield benchmark, row
