"""Scores: the long table that evaluation gives, one row a number."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError, three
from toolkit.core.system.lazy_names import pandas
from toolkit.core.tables.aligned_table import Column, Table
from toolkit.core.tables.shown_result import ShownResult

OVERALL = ("average", "all")  # what a value over all groups is called

SIGNIFICANT = 0.05  # p below which a difference is marked
AVERAGE = "average"  # the group of a macro average over groups
PAIRED = "paired"  # the mode of what needs several


def shown_measure(measure: str) -> str:
    """A measure as people read it: FollowIR's `p-MRR`, whose id, as ir_measures writes it in files for programs, is `pMRR`."""
    return re.sub(r"^pMRR\b", "p-MRR", measure)


def in_mode(measure: str, mode: str) -> str:
    """A measure with its mode, where it has one: `nDCG@10 ins`, `WISE@20`."""
    return measure if mode in ("", PAIRED) else f"{measure} {mode}"


class Score(NamedTuple):
    """One number with its denominator.

    group     the dimension, language or data set; `average` for the macro average over groups, `all` where there is one
    mode      a mode, `paired` for what needs several, empty where a benchmark has no modes
    measure   ir_measures' own string for the measure
    value     a fraction, never times 100; NaN where it is undefined
    queries   how many queries the value is over
    query_id  without mode; empty in aggregate rows
    """

    run: str
    group: str
    mode: str
    measure: str
    value: float
    queries: int
    query_id: str = ""


@dataclass(frozen=True)
class Change:
    """One number of two runs: group, mode and measure as in `Score`.

    a, b        the values of the first and of the second run
    difference  b - a
    relative    (b - a) / |a|: positive where b is larger, below 0 too; NaN where a is 0
    queries, core_queries   how many were compared
    low, high   the 95 % interval of the difference; NaN where nothing is tested, or the test has none
    p           two-sided, of this number alone; NaN where nothing is tested
    holm        p adjusted for the numbers that a comparison is decided by, over the runs compared; NaN of others
    effect      Cohen's d: the difference in standard deviations of what core queries add to it
    state       `tested`, `same` (no core query differs), `too few differ` (fewer than six), `unknown` (a single core query)
    up, down, same   core queries that rose, fell, stayed
    """

    group: str
    mode: str
    measure: str
    a: float
    b: float
    difference: float
    relative: float
    queries: int
    core_queries: int
    low: float
    high: float
    p: float
    holm: float
    effect: float
    state: str
    up: int
    down: int
    same: int

    @property
    def mark(self) -> str:
        """`*` where the number is one that the comparison is decided by, and the difference more than chance."""
        return "*" if self.holm < SIGNIFICANT else ""

    @property
    def number(self) -> tuple[str, str]:
        """Measure and mode."""
        return self.measure, self.mode

    @property
    def untested(self) -> str:
        """Why nothing is tested: `2 of 84 core queries differ`; empty where something is."""
        if self.state == "tested":
            return ""
        return "same" if self.state == "same" else f"{self.up + self.down:,} of {self.core_queries:,} core queries differ"


Place = tuple[str, str, str, str]  # run, group, mode, measure


class NoScore(ToolkitError, KeyError):
    """No value fits, or several do."""


@dataclass(frozen=True, repr=False)
class Scores(ShownResult):
    """All scores of an evaluation and what has to be said about them.

    notes    lines a reader must know before trusting a number (absent queries, ties, depths)
    changes  where runs were compared with a baseline: how each number of another run differs from the baseline's
    intervals  of values whose measures have them (`MeasureSpec.intervals`): low and high
    findings  run -> `toolkit.metrics.families.diagnostics.Findings`, of which the notes tell
    controls  run of something else in the place of instructions -> what (`placebo`), and the run that it stands below
    shown    the table that the command prints of them; the wide one of `to_frame` where there is none
    """

    rows: tuple[Score, ...]
    notes: tuple[str, ...] = field(default=())
    changes: Mapping[Place, Change] = field(default_factory=dict)
    findings: Mapping[str, Any] = field(default_factory=dict)
    intervals: Mapping[Place, tuple[float, float]] = field(default_factory=dict)
    controls: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    shown: Callable[[Scores], Table] | None = field(default=None, compare=False)

    def change(self, row: Score) -> Change | None:
        """How a row differs from the baseline; None for a row of the baseline itself and where nothing was tested."""
        return None if row.query_id else self.changes.get((row.run, row.group, row.mode, row.measure))

    def interval(self, row: Score) -> tuple[float, float] | None:
        """Low and high of a row's value; None for a query's and where its measure has none."""
        return None if row.query_id else self.intervals.get((row.run, row.group, row.mode, row.measure))

    def overall(self) -> list[Score]:
        """The values over all groups; where there is one group alone, its own."""
        rows = [row for row in self.rows if not row.query_id]
        return [row for row in rows if row.group in OVERALL] or rows

    def __repr__(self) -> str:
        runs, measures = (three(dict.fromkeys(getattr(row, name) for row in self.rows)) for name in ("run", "measure"))
        return f"Scores({runs}: {measures}; {len(self.rows):,} values)"

    def tables(self) -> list[Table]:
        """The command's table with the notes below it."""
        if self.shown:
            return [self.shown(self)]
        heads, rows = self._wide()
        return [Table([Column(head, label=place < 2) for place, head in enumerate(heads)], rows, self.notes)]

    def __getitem__(self, measure: str) -> float:
        """`scores["WISE@20"]`: `value` where there is no choice."""
        return self.value(measure)

    def value(self, measure: object, mode: str | None = None, *, group: str | None = None, run: str | None = None) -> float:
        """The one aggregate value that fits. What there is one of need not be named; of groups, the overall one is taken, and
        of runs those that are no controls.

        measure  as ir_measures writes it, or its object

        Raises NoScore, which is a KeyError too, where none or several fit, and names them.
        """
        rows = [row for row in self.rows if not row.query_id]
        wanted = {"measure": str(measure), "mode": mode, "group": group, "run": run}
        fits = [row for row in rows if all(value is None or getattr(row, name) == value for name, value in wanted.items())]
        if group is None:
            fits = [row for row in fits if row.group in OVERALL] or fits
        if run is None:
            fits = [row for row in fits if row.run not in self.controls] or fits
        if len(fits) == 1:
            return fits[0].value
        known = fits or [row for row in rows if row.measure == str(measure)] or rows
        differing = [name for name in wanted if len({getattr(row, name) for row in known}) > 1] or ["measure"]
        choices = (f"{name} {', '.join(dict.fromkeys(repr(getattr(row, name)) for row in known))}" for name in differing)
        selection = ", ".join(f"{name} {value!r}" for name, value in wanted.items() if value is not None)
        raise NoScore(f"{len(fits) or 'no'} values of {selection}", f"there are {'; '.join(choices)}")

    def to_frame(self, *, wide: bool = False) -> pandas.DataFrame:
        """A DataFrame with the columns of `Score`; wide, one row a run, group and query, and one column a measure and mode."""
        heads, rows = self._wide() if wide else (Score._fields, self.rows)
        return pandas.DataFrame(rows, columns=list(heads))

    def _wide(self) -> tuple[tuple[str, ...], list[tuple]]:
        """Heads (run, group, query_id where there are any, `measure mode`) and rows; NaN where there is no value."""
        labels = ("run", "group", "query_id") if any(row.query_id for row in self.rows) else ("run", "group")
        columns = dict.fromkeys((row.measure, row.mode) for row in self.rows)
        lines: dict[tuple[str, ...], dict[tuple[str, str], float]] = {}
        for row in self.rows:
            lines.setdefault(tuple(getattr(row, name) for name in labels), {})[row.measure, row.mode] = row.value
        heads = (*labels, *(f"{measure} {mode}".rstrip() for measure, mode in columns))
        return heads, [(*label, *(values.get(column, math.nan) for column in columns)) for label, values in lines.items()]
