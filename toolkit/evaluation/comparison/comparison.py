"""Runs evaluated against the same judgments and compared: what changed from one to another, by how much, and is it chance?"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError, three
from toolkit.core.notes import MISLEADS, Note
from toolkit.core.runs import Run
from toolkit.core.scores import Change, Place, Score, in_mode
from toolkit.evaluation.comparison.primary import Number, primary_numbers
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.evaluation.scores.paired_values import Key, PairedValues, numbers_of, paired_values
from toolkit.evaluation.scores.scoring import AVERAGE, SCORE, TOGETHER, MeasureSet
from toolkit.metrics.evaluation import mean
from toolkit.metrics.inference import FEW, LEVEL, SIGNIFICANT, TOLERANCE, estimate, holm, randomisation, wilcoxon

# how p is found -> how the note says it
TESTS = {
    "t": "Student's t over core queries",
    "randomisation": "randomisation of the signs of core queries, studentised; the interval is its inversion",
    "wilcoxon": "Wilcoxon's signed ranks over core queries, a test of the symmetry of differences and not of the mean that is "
    "printed, so without an interval",
}


@dataclass(frozen=True)
class Testing:
    """How differences are tested.

    test           one of `TESTS`
    samples, seed  of the randomisation test, where it draws: over more than 16 core queries
    primary        the numbers that are marked, as MEASURE or MEASURE-MODE; the leading one where none is named
    """

    test: str = "t"
    samples: int = 10_000
    seed: int = 0
    primary: tuple[str, ...] = ()

    def __post_init__(self):
        if self.test not in TESTS:
            raise ToolkitError(f"no test {self.test!r}", f"known: {', '.join(TESTS)}")
        if self.samples < 1:
            raise ToolkitError(f"samples is {self.samples}", "a whole number from 1 on")
        if self.seed < 0:
            raise ToolkitError(f"the seed is {self.seed}", "a whole number from 0 on")


USUAL = Testing()


class Moved(NamedTuple):
    """One query's value of one measure in both runs."""

    group: str
    query_id: str
    mode: str
    measure: str
    a: float
    b: float


@dataclass(frozen=True)
class Comparison:
    """What changed from one run to another.

    changes  group by group, `average` last where there are several
    moved    every query whose value differs, in the order of groups, measures and queries
    """

    changes: tuple[Change, ...]
    moved: tuple[Moved, ...]
    notes: tuple[str, ...] = ()


def compare(
    a: Run, b: Run, judgments: Judgments, measures: Sequence[str] | MeasureSet, testing: Testing = USUAL, missing: str = "worst"
) -> Comparison:
    """Compare two runs.

    measures  of every group and in every mode; or what is asked of each group, which says what is `missing` too
    missing   as in `toolkit.evaluation`

    Raises ToolkitError where no measure has a value in both runs.
    """
    chosen = measures if isinstance(measures, MeasureSet) else MeasureSet(tuple(measures), missing=missing)
    pairs = [(part, paired_values(a, b, part, chosen)) for part in judgments.parts]
    if not (changes := changes_of(pairs, chosen, testing)):
        raise ToolkitError("no measure has a value in both runs", "name measures with -m that these judgments allow")
    moved = tuple(query for part, columns in pairs for query in _moved(part.group, columns))
    there = {part.group for part, columns in pairs if columns}
    left = [part.group for part in judgments.parts if part.group not in there]
    notes = [f"not compared, as no query of theirs has a value in both runs: {', '.join(left)}"] if left else []
    return Comparison(tuple(changes), moved, tuple(notes))


def changes_of(
    pairs: Sequence[tuple[Part, Mapping[Key, PairedValues]]], chosen: MeasureSet, testing: Testing = USUAL
) -> list[Change]:
    """The changes alone, part by part and of their average, of values that are there already; `holm` is left out."""
    return [_change(*place, values, testing) for place, values in numbers_of(pairs, per_group=chosen.per_group).items()]


def _change(group: str, key: Key, values: Sequence[PairedValues], testing: Testing) -> Change:
    cores = [each.sums for each in values]
    found = estimate(cores)
    p, low, high = found.p, *found.interval(LEVEL)
    if testing.test == "randomisation":
        p, low, high = randomisation(cores, samples=testing.samples, seed=testing.seed)
    elif testing.test == "wilcoxon":
        p, low, high = wilcoxon(cores), math.nan, math.nan
    a, b = (math.fsum(mean(getattr(each, name)) for each in values) / len(values) for name in ("a", "b"))
    relative = (b - a) / abs(a) if a else math.nan
    counts = (sum(len(each.query_ids) for each in values), int(found.core_queries))
    tested = (math.nan, float(found.effect), found.state)
    up, down = (sum(int((side * each.sums > TOLERANCE).sum()) for each in cores) for side in (1, -1))
    moved = (up, down, counts[1] - up - down)
    interval = (float(low), float(high), float(p))
    return Change(group, key[1], key[0], a, b, b - a, relative, *counts, *interval, *tested, *moved)


def _moved(group: str, columns: Mapping[Key, PairedValues]) -> Iterator[Moved]:
    for (measure, mode), column in columns.items():
        for row in np.flatnonzero(column.differences):
            yield Moved(group, column.query_ids[row], mode, measure, float(column.a[row]), float(column.b[row]))


class Family(NamedTuple):
    """The numbers that are corrected together, over how many runs, and the group whose row has the marks."""

    numbers: tuple[Number, ...]
    runs: int
    group: str

    @property
    def note(self) -> str:
        """What a mark means."""
        if not self.numbers:
            return "no number is marked: neither more nor less of what is compared is better"
        times = f"{self.runs} run{'s' * (self.runs != 1)} x {len(self.numbers)} number{'s' * (len(self.numbers) != 1)}"
        where = ", ".join([*(in_mode(*number) for number in self.numbers), self.group])
        return f"*: p < {SIGNIFICANT} after Holm's correction over {times} ({where})"


def corrected(
    of_runs: Sequence[Sequence[Change]], judgments: Judgments, primary: Sequence[str] = ()
) -> tuple[list[list[Change]], Family]:
    """The changes of several runs from one, with `holm` where a number is primary (see `primary_numbers`), and over what."""
    overall = [[change for change in changes if change.group == overall_group(changes)] for changes in of_runs]
    numbers = dict.fromkeys(change.number for changes in overall for change in changes)
    chosen = primary_numbers(list(numbers), judgments.modes, primary) if numbers else []
    group = overall[0][0].group if numbers else ""
    places = [(run, change) for run, changes in enumerate(overall) for change in changes if change.number in chosen]
    adjusted = holm([change.p for _, change in places])
    holms = {(run, change.group, *change.number): p for (run, change), p in zip(places, adjusted, strict=True)}
    made = []
    for run, changes in enumerate(of_runs):
        made.append([replace(each, holm=holms.get((run, each.group, *each.number), math.nan)) for each in changes])
    return made, Family(tuple(chosen), len(of_runs), group)


def overall_group(changes: Sequence[Change]) -> str:
    """The group of the average, or the only one: it comes last."""
    return changes[-1].group if changes else ""


def testing_notes(changes: Iterable[Change], family: Family, testing: Testing, name: str) -> Iterator[str]:
    """How the columns of a comparison are to be read. name  of the run that others are compared with."""
    yield Note(family.note, MISLEADS)  # what a mark says depends on it
    found = TESTS[testing.test]
    yield f"difference: from {name}; p and {100 * LEVEL:g} % from, to: of each number by itself, uncorrected: {found}"
    few = [change for change in changes if change.state == FEW]
    if few:
        named = (f"{change.group} {in_mode(*change.number)} ({change.untested})" for change in reversed(few))
        yield f"not tested, as fewer than six core queries differ: {three(named)}"


@dataclass(frozen=True)
class Baseline:
    """Which run the others are compared with, by its tag or file, and how; others  more baselines, corrected with these"""

    run: str
    testing: Testing = USUAL
    others: tuple[str, ...] = ()

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

    types  kinds of questions, each compared like a group
    """
    first, testing = baseline.of(runs), baseline.testing
    every_first = [first, *(replace(baseline, run=name).of(runs) for name in baseline.others)]
    # two baselines are one pair, whichever comes first
    pairs = [(one, run) for n, one in enumerate(every_first) for run in runs if all(run is not b for b in every_first[: n + 1])]
    compared = [compare(one, run, judgments, chosen, testing) for one, run in pairs]
    of_runs, family = corrected([each.changes for each in compared], judgments, testing.primary)
    others = [run for one, run in pairs if one is first]  # which come first
    compared, of_runs = compared[: len(others)], of_runs[: len(others)]
    # a group's score is its own first measure
    first_measures = {part.group: part.measures[:1] for part in judgments.parts} if chosen.per_group else {}
    changes: dict[Place, Change] = {}
    for run, own in zip(others, of_runs, strict=True):
        by_type = compare(first, run, replace(judgments, parts=tuple(types)), chosen, testing).changes if types else ()
        every = [*own, *(change for change in by_type if change.group != AVERAGE)]
        changes |= {(run.tag, change.group, change.mode, change.measure): change for change in every}
        of_scores = [change for change in every if change.measure in first_measures.get(change.group, ())]
        changes |= {(run.tag, change.group, change.mode, SCORE): change for change in of_scores}
    notes = dict.fromkeys(note for each in compared for note in each.notes)
    return changes, [*testing_notes(changes.values(), family, testing, first.tag), *notes]


def untested(rows: Iterable[Score], changes: Mapping[Place, Change]) -> list[str]:
    """A note of what other runs have and no test is for."""
    others, tested = {place[0] for place in changes}, {place[3] for place in changes}
    values = {row.measure for row in rows if row.run in others and not row.query_id and not math.isnan(row.value)}
    left = sorted(values - tested)
    notes = [f"not tested, as it is no mean over queries: {', '.join(left)}"] if left else []
    together = any(row.mode == TOGETHER for row in rows if row.run in others)
    return [*notes, f"not tested: {TOGETHER}, the mean over the queries of several modes"] if together else notes
