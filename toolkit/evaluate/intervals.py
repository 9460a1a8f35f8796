"""The intervals of a run's own values: of measures whose rows ask for them, or of all."""

from __future__ import annotations

import math
from collections.abc import Iterable

from toolkit import registry
from toolkit.core.runs import Run
from toolkit.core.scores import AVERAGE, Place
from toolkit.evaluate.core_queries import core_queries
from toolkit.evaluate.judgments import Judgments
from toolkit.evaluate.scoring import MeasureSet
from toolkit.measures.estimates import Estimate, average, of_core_queries

NOTE = "interval from, to: 95 % of the value itself, Student's t over core queries; none where all values are equal"


def intervals(runs: Iterable[Run], judgments: Judgments, chosen: MeasureSet, every: bool) -> dict[Place, tuple[float, float]]:
    """Low and high of each value in each group, and of their average; none where one core query
    leaves the error unknown, and where all values are equal: nothing is known of how others would vary.

    every  also of measures whose rows do not ask for them
    """
    return {place: bounds for run in runs for place, bounds in _of_run(run, judgments, chosen, every).items()}


def _of_run(run: Run, judgments: Judgments, chosen: MeasureSet, every: bool) -> dict[Place, tuple[float, float]]:
    of_groups: dict[tuple[str, str], dict[str, Estimate]] = {}
    for part in judgments.parts:
        for values in chosen.values(run, part):
            if (every or registry.measure(values.measure).intervals) and values.query_ids:
                _, cores = core_queries(tuple(values.query_ids), part)
                estimates = of_groups.setdefault((values.mode, values.measure), {})
                estimates[part.group] = of_core_queries(values.values, cores)
    found = {}
    for (mode, measure), estimates in of_groups.items():
        if len(estimates) > 1:
            estimates[AVERAGE] = average(list(estimates.values()))
        known = {group: estimate for group, estimate in estimates.items() if 0 < estimate.error < math.inf}
        found |= {(run.tag, group, mode, measure): _within(measure, *each.interval()) for group, each in known.items()}
    return found


def _within(measure: str, low: float, high: float) -> tuple[float, float]:
    """Both, within the measure's range where it has one."""
    spec = registry.measure(measure)
    return (max(low, spec.lowest), min(high, 1.0)) if spec.unit == "fraction" else (low, high)
