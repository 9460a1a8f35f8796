"""Who is best, and who differs significantly from the baseline: what the tables mark."""

import math
from collections import defaultdict
from collections.abc import Sequence

from toolkit import registry
from toolkit.evaluation.scores.scoring import is_ranked
from toolkit.reporting.report.differences import differences
from toolkit.reporting.report.model import Key, ReportModel, RunFacts
from toolkit.reporting.tables.text_table import BEST, DAGGER, OF_KIND, WORSE


def by_heading(model: ReportModel) -> dict[str, list[RunFacts]]:
    """Kind of system -> its runs, in the report's order."""
    kinds = defaultdict(list)
    for facts in model.runs:
        kinds[facts.heading].append(facts)
    return dict(kinds)


def best(model: ReportModel, runs: Sequence[RunFacts], key: Key) -> list[RunFacts]:
    """Those with the best value; several where they are equal, none where all are or where nobody can be best."""
    values = {facts.name: facts.value(key.measure, key.mode, key.group) for facts in runs}
    known = {value for value in values.values() if value is not None and not math.isnan(value)}
    if len(known) < 2 or not is_ranked(key.measure, key.mode, model.judgments.modes):
        return []
    top = (min if registry.measure(key.measure).direction == "lower" else max)(known)
    return [facts for facts in runs if values[facts.name] == top]


def marks(model: ReportModel, group: str) -> dict[tuple[str, Key], str]:
    """(run, number) -> `best` of all, or `of-kind`: the best of its kind, where that has several runs."""
    marked: dict[tuple[str, Key], str] = {}
    for column in model.columns(group):
        key = Key(group, *column)
        for runs in by_heading(model).values():
            marked |= {(facts.name, key): OF_KIND for facts in best(model, runs, key)}
        marked |= {(facts.name, key): BEST for facts in best(model, model.runs, key)}
    return marked


def against(model: ReportModel, baseline: str, run: str, key: Key) -> str:
    """`dagger` where a run's number is significantly better than the baseline's, `worse` where it is worse; else empty."""
    change = differences(model).change(baseline, run, key)
    if change is None or not change.mark:
        return ""
    better = (change.difference > 0) != (registry.measure(key.measure).direction == "lower")
    return DAGGER if better else WORSE


def tested_measures(model: ReportModel) -> set[str]:
    """The measures that every group has values of, query by query: only means of these can be tested."""
    parts = [part.group for part in model.judgments.parts]
    keys = {key for facts in model.runs for key in facts.values}
    return {key.measure for key in keys if all(Key(part, key.measure, key.mode) in keys for part in parts)}
