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

NOTE = "interval from, to: 95 % of the value itself, Student's t over core queries"


def intervals(runs: Iterable[Run], judgments: Judgments, chosen: MeasureSet, every: bool) -> dict[Place, tuple[float, float]]:
    """Low and high of each value in each group, and of their average; none where one core query leaves the error unknown.

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
        bounds = {group: estimate.interval() for group, estimate in estimates.items() if math.isfinite(estimate.error)}
        found |= {(run.tag, group, mode, measure): interval for group, interval in bounds.items()}
    return found
