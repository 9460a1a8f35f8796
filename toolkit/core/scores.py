"""Scores: the long table that evaluation gives, one row a number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas


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
class Scores:
    """All scores of an evaluation and what has to be said about them.

    notes   lines a reader must know before trusting a number (absent queries, ties, depths)
    """

    rows: tuple[Score, ...]
    notes: tuple[str, ...] = field(default=())

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
