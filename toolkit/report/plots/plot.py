"""What a plot is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from toolkit.report.model import ReportModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value = str | float
Place = Literal["argument", "paper", "appendix"]


@dataclass(frozen=True)
class Drawn:
    """The numbers behind a figure: rows parallel to `columns`, at full precision, in the order in which they are drawn.

    What is undefined has no row.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True)
class Plot:
    """One figure of a report.

    name     of its files (`radar`)
    title    a heading, in words
    caption  what is drawn, with units, and where the definition is from; it is also read to those who do not see the figure
    applies  whether these runs have what it draws
    draw     the figure, made with `matplotlib.figure.Figure` (pyplot keeps figures in memory); axes have labels with units,
             and runs differ by mark and line style as well as by colour
    drawn    the numbers in it
    place    where a page shows it: `argument` openly below the main table, `paper` in the fold of figures as in the papers,
             `appendix` in the last one
    """

    name: str
    title: str
    caption: str
    applies: Callable[[ReportModel], bool]
    draw: Callable[[ReportModel], Figure]
    drawn: Callable[[ReportModel], Drawn]
    place: Place = "paper"
