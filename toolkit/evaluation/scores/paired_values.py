"""Two runs against the same judgments, query by query: what every comparison of them is computed from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from toolkit.core.runs import Run
from toolkit.core.scores import AVERAGE
from toolkit.evaluation.scores.core_queries import core_queries
from toolkit.evaluation.scores.judgments import Part
from toolkit.evaluation.scores.scoring import SCORE, MeasureSet
from toolkit.metrics.inference import Cores

Key = tuple[str, str]  # measure, mode
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PairedValues:
    """One measure in one mode of one group: both runs' values of the same queries; cores  (n,) int64, codes in `core_ids`"""

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
        a, b = first[key], second[key]
        shared, values = tuple(a.query_ids), (a.values, b.values)
        if a.query_ids != b.query_ids:  # as hardly ever
            place = {query_id: row for row, query_id in enumerate(b.query_ids)}
            rows = [row for row, query_id in enumerate(a.query_ids) if query_id in place]
            shared = tuple(a.query_ids[row] for row in rows)
            values = a.values[rows], b.values[[place[query_id] for query_id in shared]]
        core_ids, cores = core_queries(shared, part)
        columns[key] = PairedValues(shared, *values, cores, core_ids)
    return {key: columns[key] for key in first if key in columns and columns[key].query_ids}


def numbers_of(tables: Sequence[tuple[Part, Mapping[Key, T]]], *, per_group: bool = False) -> dict[tuple[str, Key], list[T]]:
    """Group and number -> what it is the mean of, in a list of one; last the average's, where several groups have any values.

    per_group  in the average a group's first measure is also its score
    """
    there = [(part, columns) for part, columns in tables if columns]
    numbers = {(part.group, key): [values] for part, columns in there for key, values in columns.items()}
    for part, columns in there if len(there) > 1 else ():
        first = part.measures[:1] if per_group else ()
        scores = [((SCORE, mode), values) for (measure, mode), values in columns.items() if measure in first]
        for key, values in (*columns.items(), *scores):
            numbers.setdefault((AVERAGE, key), []).append(values)
    return numbers
