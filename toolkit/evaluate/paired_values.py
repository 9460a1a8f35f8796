"""Two runs against the same judgments, query by query: what every comparison of them is computed from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from toolkit.core.runs import Run
from toolkit.evaluate.core_queries import core_queries
from toolkit.evaluate.judgments import Part
from toolkit.evaluate.scoring import SCORE, MeasureSet
from toolkit.measures.inference import Cores

Key = tuple[str, str]  # measure, mode
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PairedValues:
    """One measure in one mode of one group: both runs' values of the same queries.

    cores     (n,) int64, which core query each is of
    core_ids  what they are called
    """

    query_ids: tuple[str, ...]
    a: np.ndarray
    b: np.ndarray
    cores: np.ndarray
    core_ids: tuple[str, ...]

    @property
    def differences(self) -> np.ndarray:
        """(n,) second minus first."""
        return self.b - self.a

    @cached_property
    def sums(self) -> Cores:
        """The differences of each core query."""
        differences = self.differences
        binary = np.isin((self.a, self.b), (0.0, 1.0)).all()
        return Cores.of(differences, self.cores, float((differences != 0).mean()) if binary else math.nan)


class Values(Protocol):
    """One measure of one run in one mode, query by query."""

    query_ids: Sequence[str]
    values: np.ndarray


def paired_values(a: Run, b: Run, part: Part, chosen: MeasureSet) -> dict[Key, PairedValues]:
    """What both runs have a value of."""
    return paired(run_values(a, part, chosen), run_values(b, part, chosen), part)


def run_values(run: Run, part: Part, chosen: MeasureSet) -> dict[Key, Values]:
    """What one run has: computed once where it is compared with several others."""
    return {(values.measure, values.mode): values for values in chosen.values(run, part)}


def paired(first: Mapping[Key, Values], second: Mapping[Key, Values], part: Part) -> dict[Key, PairedValues]:
    """The same of values that are there already."""
    columns = {}
    for key in first.keys() & second.keys():
        if first[key].query_ids == second[key].query_ids:  # as nearly always
            core_ids, cores = core_queries(tuple(first[key].query_ids), part)
            values = first[key].values, second[key].values
            columns[key] = PairedValues(tuple(first[key].query_ids), *values, cores, core_ids)
            continue
        place = {query_id: row for row, query_id in enumerate(second[key].query_ids)}
        rows = [row for row, query_id in enumerate(first[key].query_ids) if query_id in place]
        shared = tuple(first[key].query_ids[row] for row in rows)
        core_ids, cores = core_queries(shared, part)
        others = [place[query_id] for query_id in shared]
        columns[key] = PairedValues(shared, first[key].values[rows], second[key].values[others], cores, core_ids)
    return {key: columns[key] for key in first if key in columns and columns[key].query_ids}


def with_score(part: Part, chosen: MeasureSet, *tables: Mapping[Key, T]) -> Iterator[dict[Key, T]]:
    """For the average over groups that have measures of their own: the group's first also as its score."""
    for table in tables:
        first_measure = part.measures[:1] if chosen.per_group else ()
        yield {**table, **{(SCORE, mode): value for (measure, mode), value in table.items() if measure in first_measure}}
