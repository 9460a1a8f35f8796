"""Runs compared with one of them: how each number differs from the baseline's, and whether that is more than chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run
from toolkit.core.scores import PAIRED, Change, Place, Score
from toolkit.evaluate.comparison import LEVEL, compare
from toolkit.evaluate.judgments import Judgments, Part
from toolkit.evaluate.score_table import SIGNIFICANT
from toolkit.evaluate.scoring import AVERAGE, SCORE, TOGETHER, MeasureSet
from toolkit.measures.estimates import POWER

NAMES = {"randomisation": "Fisher's randomisation", "wilcoxon": "Wilcoxon's signed ranks", "t": "paired t"}


@dataclass(frozen=True)
class Baseline:
    """Which run the others are compared with, and how; test, samples and seed as in `comparison.compare`.

    run  its tag or its file
    """

    run: str
    test: str = "default"
    samples: int = 10_000
    seed: int = 0

    def of(self, runs: Sequence[Run]) -> Run:
        """The run that is meant. Raises ToolkitError where none is, or where there is no other."""
        matching = [run for run in runs if run.tag == self.run] or [run for run in runs if self.run in run.source.split(", ")]
        if not matching:
            raise ToolkitError(f"no run is called {self.run}", f"the runs are {three(run.tag for run in runs)}")
        if len(runs) == 1:
            raise ToolkitError(f"{self.run} is the only run", "name another run to compare with it")
        return matching[0]


def against(
    baseline: Baseline, runs: Sequence[Run], judgments: Judgments, chosen: MeasureSet, types: Sequence[Part] = ()
) -> tuple[dict[Place, Change], list[str]]:
    """How the numbers of the other runs differ from the baseline's, and what is to be said of all that.

    types  kinds of questions, each tested like a group
    """
    first = baseline.of(runs)
    how = {"test": baseline.test, "samples": baseline.samples, "seed": baseline.seed}
    changes: dict[Place, Change] = {}
    notes: dict[str, None] = {}
    for run in runs:
        if run is first:
            continue
        compared_runs = compare(first, run, judgments, chosen, **how)
        compared = list(compared_runs.changes)
        if types:
            by_type = compare(first, run, replace(judgments, parts=tuple(types)), chosen, **how)
            compared += [change for change in by_type.changes if change.group != AVERAGE]
        changes |= {(run.tag, change.group, change.mode, change.measure): change for change in compared}
        changes |= _scores_of_groups(run.tag, compared, judgments, chosen)
        notes |= dict.fromkeys(compared_runs.notes)
    return changes, [*_notes(first.tag, list(changes.values()), baseline.samples), *notes]


def _scores_of_groups(tag: str, changes: Iterable[Change], judgments: Judgments, chosen: MeasureSet) -> dict[Place, Change]:
    """A group's score is its own first measure."""
    first_measures = {part.group: part.measures[:1] for part in judgments.parts} if chosen.per_group else {}
    return {
        (tag, change.group, change.mode, SCORE): change
        for change in changes
        if change.measure in first_measures.get(change.group, ())
    }


def _notes(name: str, changes: Sequence[Change], samples: int) -> Iterator[str]:
    tested: dict[str, dict[str, None]] = {}
    for change in changes:
        tested.setdefault(change.test, {})[change.measure] = None
    tests = "; ".join(f"{NAMES[test]} for {', '.join(measures)}" for test, measures in tested.items())
    yield (
        f"against {name}: * where p is below {SIGNIFICANT} after Holm's correction over the numbers of a group in one run; "
        f"two-sided, over core queries: {tests}"
    )
    yield from _small(changes)
    interval = f"{100 * LEVEL:g} % from, to: the interval of the difference"
    yield f"difference: from {name}; {interval}, from {samples:,} resamples of core queries"


def _small(changes: Iterable[Change]) -> Iterator[str]:
    """The differences that are smaller than what the core queries show reliably, significant or not."""
    small = [change for change in changes if 0 < abs(change.difference) < change.detectable]
    if small:
        named = (
            " ".join(filter(None, (change.group, change.measure, change.mode.replace(PAIRED, ""))))
            + f" {change.difference:+.4f} (detectable {change.detectable:.4f})"
            for change in sorted(small, key=lambda change: change.group != AVERAGE)
        )
        yield (
            f"below the smallest difference that the core queries show with {100 * POWER:g} % power: {three(named)}; "
            "tandem analyze power says how many core queries would"
        )


def untested(rows: Iterable[Score], changes: Mapping[Place, Change]) -> list[str]:
    """A note of what other runs have and no test is for."""
    others, tested = {place[0] for place in changes}, {place[3] for place in changes}
    values = {row.measure for row in rows if row.run in others and not row.query_id and not math.isnan(row.value)}
    left = sorted(values - tested)
    notes = [f"not tested, as it is no mean over queries: {', '.join(left)}"] if left else []
    together = any(row.mode == TOGETHER for row in rows if row.run in others)
    return [*notes, f"not tested: {TOGETHER}, the mean over the queries of several modes"] if together else notes
