"""The intervals of a run's own values: of measures whose rows ask for them, or of all."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from toolkit import registry
from toolkit.core.runs import Run
from toolkit.core.scores import Place
from toolkit.evaluation.scores.core_queries import core_queries
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.evaluation.scores.paired_values import Values, numbers_of
from toolkit.evaluation.scores.scoring import MeasureSet
from toolkit.metrics.inference import Bounds, Cores, estimate, is_binary

NOTE = (
    "interval from, to: 95 % of the value itself, Student's t over core queries (of values that are 0 or 1 Wilson's); none "
    "where all values are equal"
)


class OfGroup(NamedTuple):
    """One measure of one run in one group: the sums of its core queries, and whether each value is 0 or 1."""

    cores: Cores
    binary: bool


def of_group(values: Values, part: Part, measure: str) -> OfGroup:
    """Of values that are not empty."""
    _, cores = core_queries(tuple(values.query_ids), part)
    binary = is_binary(values.values, registry.measure(measure).lowest)
    return OfGroup(Cores.of(values.values, cores, float(np.mean(values.values)) if binary else np.nan), binary)


def own_interval(measure: str, groups: Sequence[OfGroup]) -> Bounds | None:
    """Of the value of one group, or of the average of several; None where nothing is known of how others would vary."""
    spec = registry.measure(measure)
    range_of = {"lowest": spec.lowest, "highest": 1.0} if spec.unit == "fraction" else {}
    found, binary = estimate([group.cores for group in groups]), all(group.binary for group in groups)
    bounds = found.value_interval(**range_of, binary=binary)
    return bounds and (float(bounds[0]), float(bounds[1]))


def intervals(runs: Iterable[Run], judgments: Judgments, chosen: MeasureSet, every: bool) -> dict[Place, Bounds]:
    """Low and high of each value in each group, and of their average, where they are known.

    every  also of measures whose rows do not ask for them
    """
    found = {}
    for run in runs:
        tables = []
        for part in judgments.parts:
            wanted = [each for each in chosen.values(run, part) if each.query_ids]
            wanted = [each for each in wanted if every or registry.measure(each.measure).intervals]
            tables.append((part, {(each.measure, each.mode): of_group(each, part, each.measure) for each in wanted}))
        known = {place: own_interval(place[1][0], groups) for place, groups in numbers_of(tables).items()}
        found |= {(run.tag, group, mode, measure): bounds for (group, (measure, mode)), bounds in known.items() if bounds}
    return found
