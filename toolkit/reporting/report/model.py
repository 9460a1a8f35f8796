"""What a report is made of: runs of one benchmark with all that is known of them, and the number it is about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from toolkit import registry
from toolkit.core.runs import Run
from toolkit.core.scores import Score
from toolkit.core.specs import BenchmarkSpec, SystemSpec
from toolkit.core.topics import Topic
from toolkit.evaluation.comparison.controls import controls_among
from toolkit.evaluation.comparison.primary import leading_number
from toolkit.evaluation.scores.judgments import Judgments
from toolkit.evaluation.scores.run_inputs import Source
from toolkit.evaluation.scores.scoring import AVERAGE, is_ranked
from toolkit.metrics.families.diagnostics import Findings
from toolkit.reporting.report.run_facts import Cost


class Key(NamedTuple):
    """Which numbers: group and mode as in `Score`, the measure as ir_measures writes it."""

    group: str
    measure: str
    mode: str


@dataclass(frozen=True, eq=False)
class QueryValues:
    """One measure of one run, query by query.

    query_ids  without mode; core queries for grouped measures
    values     (n,) float64, parallel
    """

    query_ids: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class RunFacts:
    """One run.

    name        unique in the report, for people (`toolkit.files.provenance.run_names`); programs know it by `run.tag`
    run         itself, truncated to the depth that is looked at
    system      the entry of the registry; None for a system that is not there
    called      what its record calls the system (`bm25+rules`); the name where nobody says
    heading     the kind of system it stands under (`toolkit.reporting.report.run_facts.headings`)
    cost        what it took
    records     the records of its files (`toolkit.files.provenance`); none of a file without
    sources     its files, each with the mode that it was given as; none of a run in memory
    scores      its own aggregate rows
    judged      the aggregate rows of Judged@10: which share of the ten best documents is judged
    references  name of the reference (`blind`, `random`, `random 2.5%`, ...) -> its aggregate rows; empty without modes
    values      group, measure, mode -> the values of each query
    findings    what the diagnostics of measures found of it and its judgments; None where nothing was scored
    by_stance   the system's runs of perspectives as queries, under the questions' ids: `supporting`, `opposing`; empty where
                none are given (`toolkit.evaluation.scores.stance`)
    """

    name: str
    run: Run
    system: SystemSpec | None
    called: str
    heading: str
    cost: Cost
    records: tuple[Mapping[str, Any], ...]
    scores: tuple[Score, ...]
    sources: tuple[Source, ...] = ()
    judged: tuple[Score, ...] = ()
    references: Mapping[str, tuple[Score, ...]] = field(default_factory=dict)
    values: Mapping[Key, QueryValues] = field(default_factory=dict)
    findings: Findings | None = None
    by_stance: Mapping[str, Run] = field(default_factory=dict)

    def is_called(self, given: str) -> bool:
        """Whether this is its name, its tag, or a file of it."""
        return given in (self.name, self.run.tag, *self.run.source.split(", "))

    def value(self, measure: str, mode: str, group: str) -> float | None:
        """An aggregate value; None where there is none, or none is defined."""
        return self._aggregates.get(Key(group, measure, mode))

    def reference(self, name: str, key: Key) -> float | None:
        """The same of one of its references."""
        rows = (row for row in self.references.get(name, ()) if Key(row.group, row.measure, row.mode) == key)
        return next((row.value for row in rows if not math.isnan(row.value)), None)

    @cached_property
    def _aggregates(self) -> dict[Key, float]:
        return {Key(row.group, row.measure, row.mode): row.value for row in reversed(self.scores) if not math.isnan(row.value)}


@dataclass(frozen=True, eq=False)
class ReportModel:
    """All runs of one benchmark, in the order of their kinds and names.

    name       the benchmark, the selection of it, or the files that judge
    benchmark  its entry; None for files and for collections of ir_datasets
    topics     of all groups and modes that are judged; empty where only files judge
    measures   as ir_measures writes them, in the order of the table
    notes      what must be known before a number is trusted
    x          the field of `Cost` that quality is drawn against
    radar      whether groups are drawn as a radar too
    stances    query id -> which of its two perspectives supports; None where nobody says, and the first does
    beside     the other benchmarks of the same report: one may hold paraphrases of this one's instructions
    baseline   the name of the run that the others are compared with first
    """

    name: str
    benchmark: BenchmarkSpec | None
    judgments: Judgments
    runs: tuple[RunFacts, ...]
    measures: tuple[str, ...]
    topics: tuple[Topic, ...] = ()
    notes: tuple[str, ...] = ()
    x: str = "parameters"
    radar: bool = False
    stances: Mapping[str, str] | None = None
    beside: tuple[ReportModel, ...] = ()
    baseline: str = ""

    @cached_property
    def controls(self) -> dict[str, tuple[str, str]]:
        """Control run -> what stood in the place of instructions, and the run that it is read beside (`controls_among`)."""
        return controls_among({facts.name: facts.records for facts in self.runs})

    @property
    def systems(self) -> tuple[RunFacts, ...]:
        """The runs that compete: no controls."""
        return tuple(facts for facts in self.runs if facts.name not in self.controls)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Those that have rows, the macro average among them where there are several."""
        return tuple(dict.fromkeys(row.group for facts in self.runs for row in facts.scores))

    @property
    def overall(self) -> str:
        """The group of the main table: the average, or the only one."""
        return AVERAGE if AVERAGE in self.groups else self.groups[0]

    def columns(self, group: str | None = None) -> Sequence[tuple[str, str]]:
        """(measure, mode) of a group's numbers, or of all, in the order of the table."""
        if group is None:
            return tuple(dict.fromkeys((key.measure, key.mode) for key in self._keys))
        return tuple((key.measure, key.mode) for key in self._keys if key.group == group)

    @cached_property
    def _keys(self) -> tuple[Key, ...]:
        return tuple(dict.fromkeys(Key(row.group, row.measure, row.mode) for facts in self.runs for row in facts.scores))


def leading(model: ReportModel) -> tuple[str, str]:
    """Measure and mode of the number that a comparison is decided by where nobody names another."""
    return leading_number(model.columns(model.overall), model.judgments.modes)


def leader(model: ReportModel) -> list[str]:
    """The runs with the best value of the leading number; several where they tie, none where nobody has one."""
    key = Key(model.overall, *leading(model))
    return best_of(known_values(model.systems, key), key.measure)


def query_values(runs: Sequence[RunFacts], key: Key) -> tuple[tuple[str, ...], np.ndarray]:
    """The queries that some run has by a number, and (n, runs) float64 their values, NaN where a run lacks one."""
    own = [facts.values[key] for facts in runs]
    query_ids = tuple(dict.fromkeys(query_id for each in own for query_id in each.query_ids))
    place = {query_id: row for row, query_id in enumerate(query_ids)}
    values = np.full((len(query_ids), len(own)), np.nan)
    for column, each in enumerate(own):
        values[[place[query_id] for query_id in each.query_ids], column] = each.values
    return query_ids, values


def known_values(runs: Iterable[RunFacts], key: Key) -> dict[str, float]:
    """Name -> value, of the runs that have one."""
    values = {facts.name: facts.value(key.measure, key.mode, key.group) for facts in runs}
    return {name: value for name, value in values.items() if value is not None}


def best_of(values: Mapping[str, float], measure: str) -> list[str]:
    """The names with the best value; several where they tie."""
    top = (min if registry.measure(measure).direction == "lower" else max)(values.values(), default=None)
    return [name for name, value in values.items() if value == top]


def leading_columns(model: ReportModel) -> list[tuple[str, str]]:
    """The columns that stand for a benchmark: its first measure, and those over pairs of modes or groups of queries."""
    columns = model.columns(model.overall)
    return [
        column
        for column in columns
        if is_ranked(*column, model.judgments.modes)
        and (column[0] == columns[0][0] or registry.measure(column[0]).over in ("paired", "group"))
    ]
