"""The numbers that stand for a benchmark on the pages of a site: two, with intervals and what cannot be told from the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from toolkit import registry
from toolkit.evaluate.score_table import SIGNIFICANT
from toolkit.measures.significance import holm
from toolkit.report.differences import compared, differences
from toolkit.report.leading import leading
from toolkit.report.model import Key, ReportModel, RunFacts
from toolkit.report.plots.columns import Column, argued, keys
from toolkit.report.plots.intervals import interval
from toolkit.report.significance import tested_measures
from toolkit.report.text_table import BEST

ALIKE = "alike"  # what does not differ significantly from the best


@dataclass(frozen=True)
class Value:
    """One number of one run.

    low, high  of its 95 % interval; None where it is no mean over queries
    """

    value: float
    low: float | None
    high: float | None


def headline_columns(model: ReportModel) -> list[Column]:
    """Two: how well is searched, and the number that the benchmark is about; one where that is the same."""
    first, *others = argued(model) or [leading(model)]
    return [first, *(column for column in others if registry.measure(column[0]).name != registry.measure(first[0]).name)]


def value_of(model: ReportModel, facts: RunFacts, column: Column) -> Value | None:
    """A run's number over all groups; None where it has none."""
    value = facts.value(*column, model.overall)
    if value is None or math.isnan(value):
        return None
    means = keys(model, model.overall, column)
    bounds = interval(facts, model.judgments, means) if all(key in facts.values for key in means) else (None, None)
    return Value(value, *bounds)


def marks(model: ReportModel, runs: Sequence[RunFacts], column: Column) -> dict[str, str]:
    """Run -> `best`, or `alike` for those whose difference from the best may be chance (p of 0.05 or more over core queries,
    Holm's correction over these runs). Empty where all are equal or a run stands alone.
    """
    values = {facts.name: facts.value(*column, model.overall) for facts in runs}
    known = {name: value for name, value in values.items() if value is not None and not math.isnan(value)}
    if len(set(known.values())) < 2:
        return {}
    top = (min if registry.measure(column[0]).direction == "lower" else max)(known.values())
    best = [facts for facts in runs if known.get(facts.name) == top]
    others = [facts for facts in runs if facts.name in known and facts not in best]
    marked = {facts.name: BEST for facts in best}
    if column[0] not in tested_measures(model):
        return marked
    p = [_p(model, best[0], facts, column) for facts in others]
    alike = [facts.name for facts, value in zip(others, holm(p), strict=True) if not value < SIGNIFICANT]
    return marked | dict.fromkeys(alike, ALIKE)


def _p(model: ReportModel, best: RunFacts, other: RunFacts, column: Column) -> float:
    key = Key(model.overall, *column)
    if found := differences(model).change(best.name, other.name, key):
        return found.p
    return compared(model, best, other)[key].p  # of many runs not each is a baseline
