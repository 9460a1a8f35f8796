"""The numbers that stand for a benchmark on the pages of a site: two, with intervals and what cannot be told from the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from toolkit import registry
from toolkit.report.leading import leading
from toolkit.report.model import Key, ReportModel, RunFacts
from toolkit.report.plots.columns import Column, argued, keys
from toolkit.report.plots.intervals import interval
from toolkit.report.rank_table import ranked, ranking
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
    bounds = interval(facts, model.judgments, keys(model, model.overall, column))
    return Value(value, *(bounds or (None, None)))


def marks(model: ReportModel, runs: Sequence[RunFacts], column: Column) -> dict[str, str]:
    """Run -> `best`, or `alike` for those that are not told apart from the best: over all pairs of these runs, as a report has
    it. Empty where all are equal or a run stands alone.
    """
    values = {facts.name: facts.value(*column, model.overall) for facts in runs}
    known = {name: value for name, value in values.items() if value is not None and not math.isnan(value)}
    if len(set(known.values())) < 2:
        return {}
    top = (min if registry.measure(column[0]).direction == "lower" else max)(known.values())
    marked = {name: BEST for name, value in known.items() if value == top}
    key = Key(model.overall, *column)
    if key not in ranked(model):
        return marked
    found = ranking(model, key, tuple(facts for facts in runs if facts.name in known))
    alike = [each.name for place, each in enumerate(found.systems) if found.alike(0, place)]
    return dict.fromkeys(alike, ALIKE) | marked
