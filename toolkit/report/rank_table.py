"""Which ranks each system may have, and how far it is behind the best, beside what so many core queries show."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolkit import registry
from toolkit.evaluate.core_queries import core_queries
from toolkit.evaluate.judgments import Part
from toolkit.evaluate.scoring import is_ranked
from toolkit.measures.estimates import average, of_core_queries
from toolkit.measures.rank_intervals import RankInterval, rank_intervals
from toolkit.report.model import Key, ReportModel
from toolkit.report.significance import tested_measures


@dataclass(frozen=True)
class Ranked:
    """One system by one measure.

    behind      the best score minus this one, not below 0; NaN for the best
    detectable  the smallest difference from the best that the core queries show in 80 % of all samples; NaN where none differs
    """

    name: str
    rank: RankInterval
    score: float
    behind: float
    detectable: float

    @property
    def below(self) -> bool:
        """Whether it is behind by less than the core queries show."""
        return 0 < self.behind < self.detectable


@dataclass(frozen=True, eq=False)
class _Group:
    """The values of all systems in one group: (n, k), a row a query that all have; cores: (n,) which core query each is of."""

    values: np.ndarray
    cores: np.ndarray

    @property
    def sums(self) -> np.ndarray:
        """(cores, k) over the queries of each core query."""
        return np.stack([np.bincount(self.cores, column) for column in self.values.T], axis=1)


@functools.lru_cache(maxsize=16)  # a table and a figure of one report ask for the same
def ranked(model: ReportModel) -> dict[Key, list[Ranked]]:
    """Number of the main table -> the systems, best first. Left out is what is no mean over the queries of every group."""
    tested = tested_measures(model)
    found = {}
    for measure, mode in model.columns(model.overall):
        if measure in tested and is_ranked(measure, mode, model.judgments.modes):
            groups = [_values(model, part, measure, mode) for part in model.judgments.parts]
            if all(len(group.values) for group in groups):
                key = Key(model.overall, measure, mode)
                found[key] = _ranked(model, key, groups)
    return found


def _values(model: ReportModel, part: Part, measure: str, mode: str) -> _Group:
    own = [facts.values.get(Key(part.group, measure, mode)) for facts in model.runs]
    if any(values is None for values in own):
        return _Group(np.empty((0, len(own))), np.empty(0, np.int64))
    shared = set.intersection(*(set(values.query_ids) for values in own))
    query_ids = tuple(query_id for query_id in own[0].query_ids if query_id in shared)
    columns = []
    for values in own:
        place = {query_id: row for row, query_id in enumerate(values.query_ids)}
        columns.append(values.values[[place[query_id] for query_id in query_ids]])
    return _Group(np.stack(columns, axis=1), core_queries(query_ids, part)[1])


def _ranked(model: ReportModel, key: Key, groups: Sequence[_Group]) -> list[Ranked]:
    sign = -1 if registry.measure(key.measure).direction == "lower" else 1
    sums = [group.sums for group in groups]
    total = sum(map(len, sums))
    # the mean over all rows is the macro average of the groups' means over queries
    weighted = [sign * each * total / (len(groups) * len(group.values)) for each, group in zip(sums, groups, strict=True)]
    intervals = rank_intervals(weighted)
    scores = [facts.value(key.measure, key.mode, key.group) for facts in model.runs]
    order = sorted(range(len(scores)), key=lambda system: -sign * scores[system])
    best = order[0]
    rows = []
    for system in order:
        difference = average(
            [of_core_queries(group.values[:, best] - group.values[:, system], group.cores) for group in groups]
        )
        behind = math.nan if system == best else abs(scores[best] - scores[system])
        rows.append(Ranked(model.runs[system].name, intervals[system], scores[system], behind, difference.detectable()))
    return rows
