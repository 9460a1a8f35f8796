"""Scores: the long table that evaluation gives, one row a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas

AVERAGE = "average"  # the group of a macro average over groups
PAIRED = "paired"  # the mode of what needs several


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
    queries     how many were compared
    low, high   the 95 % interval of the difference, by bootstrap over core queries
    effect      Cohen's d of the paired differences
    test        which test gave p: `randomisation`, `wilcoxon`, `t`
    holm        p adjusted for all numbers of the same group
    up, down, same   queries that rose, fell, stayed
    """

    group: str
    mode: str
    measure: str
    a: float
    b: float
    difference: float
    relative: float
    queries: int
    low: float
    high: float
    effect: float
    test: str
    p: float
    holm: float
    up: int
    down: int
    same: int


Place = tuple[str, str, str, str]  # run, group, mode, measure


@dataclass(frozen=True)
class Scores:
    """All scores of an evaluation and what has to be said about them.

    notes    lines a reader must know before trusting a number (absent queries, ties, depths)
    changes  where runs were held against a baseline: how each number of another run differs from the baseline's
    """

    rows: tuple[Score, ...]
    notes: tuple[str, ...] = field(default=())
    changes: Mapping[Place, Change] = field(default_factory=dict)

    def change(self, row: Score) -> Change | None:
        """How a row differs from the baseline; None for a row of the baseline itself and where nothing was tested."""
        return None if row.query_id else self.changes.get((row.run, row.group, row.mode, row.measure))

    def value(self, measure: str, *, mode: str, group: str | None = None, run: str | None = None) -> float:
        """The one aggregate value that fits; KeyError where none or several do."""
        fits = [
            row.value
            for row in self.rows
            if not row.query_id
            and (row.measure, row.mode) == (measure, mode)
            and (group is None or row.group == group)
            and (run is None or row.run == run)
        ]
        if len(fits) != 1:
            raise KeyError(f"{len(fits)} values of {measure} in mode {mode!r}, group {group!r}, run {run!r}")
        return fits[0]

    def to_frame(self) -> pandas.DataFrame:
        """A DataFrame with the columns of `Score`."""
        import pandas

        return pandas.DataFrame(self.rows, columns=list(Score._fields))
