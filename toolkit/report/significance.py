"""Who is best of its kind, and who is not significantly different from the best: what the papers' tables mark."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from toolkit import registry
from toolkit.core.progress import progress
from toolkit.evaluate.comparison import compare
from toolkit.evaluate.scoring import is_ranked
from toolkit.measures.significance import holm
from toolkit.report.model import Key, ReportModel, RunFacts
from toolkit.report.text_table import ALIKE, BEST

SIGNIFICANT = 0.05


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


def marks(model: ReportModel, group: str, *, missing: str = "worst", tested: bool = True) -> dict[tuple[str, Key], str]:
    """(run, number) -> `best` or `alike`, for the numbers of one group.

    tested  whether those that do not differ significantly from the best of their kind are looked for: the tests of
            `toolkit.evaluate.comparison`, Holm's correction over the systems that are compared with one best
    """
    marked: dict[tuple[str, Key], str] = {}
    pairs: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for runs in by_heading(model).values():
        for measure, mode in model.columns(group):
            key = Key(group, measure, mode)
            top = best(model, runs, key)
            marked |= {(facts.name, key): BEST for facts in top}
            for other in runs if top else ():
                if other not in top:
                    pairs[top[0].name, other.name].append(key)
    return marked | (_alike(model, pairs, missing) if tested else {})


def _alike(model: ReportModel, pairs: Mapping[tuple[str, str], list[Key]], missing: str) -> dict[tuple[str, Key], str]:
    """(run, number) -> `alike` for those whose difference from the best may be chance."""
    tested = tested_measures(model)
    runs = {facts.name: facts.run for facts in model.runs}
    p: dict[tuple[str, Key], dict[str, float]] = defaultdict(dict)  # (best, number) -> run -> p
    wanted = {pair: [key for key in keys if key.measure in tested] for pair, keys in pairs.items()}
    wanted = {pair: keys for pair, keys in wanted.items() if keys}
    with progress("tests of significance", len(wanted), "pairs of runs") as advance:
        for (first, second), keys in wanted.items():
            measures = list(dict.fromkeys(key.measure for key in keys))
            changes = compare(runs[first], runs[second], model.judgments, measures, missing=missing).changes
            for change in changes:
                key = Key(change.group, change.measure, change.mode)
                if key in keys:
                    p[first, key][second] = change.p
            advance(1)
    alike = {}
    for (_, key), values in p.items():
        adjusted = dict(zip(values, holm(list(values.values())), strict=True))
        alike |= {(name, key): ALIKE for name, value in adjusted.items() if not value < SIGNIFICANT}
    return alike


def tested_measures(model: ReportModel) -> set[str]:
    """The measures that every group has values of, query by query: only means of these can be tested."""
    parts = [part.group for part in model.judgments.parts]
    keys = {key for facts in model.runs for key in facts.values}
    return {key.measure for key in keys if all(Key(part, key.measure, key.mode) in keys for part in parts)}
