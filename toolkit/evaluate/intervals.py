"""The intervals of a run's own values: of measures whose rows ask for them, or of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from toolkit import registry
from toolkit.core.runs import Run
from toolkit.core.scores import AVERAGE, Place
from toolkit.evaluate.core_queries import core_queries
from toolkit.evaluate.judgments import Judgments, Part
from toolkit.evaluate.paired_values import Values
from toolkit.evaluate.scoring import MeasureSet
from toolkit.measures.inference import Bounds, Cores, estimate, is_binary

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
    bounds = estimate([group.cores for group in groups]).value_interval(
        **range_of, binary=all(group.binary for group in groups)
    )
    return bounds and (float(bounds[0]), float(bounds[1]))


def intervals(runs: Iterable[Run], judgments: Judgments, chosen: MeasureSet, every: bool) -> dict[Place, Bounds]:
    """Low and high of each value in each group, and of their average, where they are known.

    every  also of measures whose rows do not ask for them
    """
    return {place: bounds for run in runs for place, bounds in _of_run(run, judgments, chosen, every).items()}


def _of_run(run: Run, judgments: Judgments, chosen: MeasureSet, every: bool) -> dict[Place, Bounds]:
    of_groups: dict[tuple[str, str], dict[str, list[OfGroup]]] = {}
    for part in judgments.parts:
        for values in chosen.values(run, part):
            if (every or registry.measure(values.measure).intervals) and values.query_ids:
                of_measure = of_groups.setdefault((values.mode, values.measure), {})
                of_measure[part.group] = [of_group(values, part, values.measure)]
    found = {}
    for (mode, measure), groups in of_groups.items():
        if len(groups) > 1:
            groups[AVERAGE] = [each for of_one in groups.values() for each in of_one]
        known = {group: own_interval(measure, each) for group, each in groups.items()}
        found |= {(run.tag, group, mode, measure): bounds for group, bounds in known.items() if bounds}
    return found
