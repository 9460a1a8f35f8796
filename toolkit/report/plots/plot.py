"""What a plot is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolkit.report.gathered import Gathered

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plot:
    """One figure of a report.

    name     of its files (`radar`)
    title    a heading, in words
    caption  what is drawn, with units, and where the definition is from; it is also read to those who do not see the figure
    applies  whether these runs have what it draws
    draw     the figure, made with `matplotlib.figure.Figure` (pyplot keeps figures in memory); axes have labels with units,
             and runs differ by mark and line style as well as by colour
    """

    name: str
    title: str
    caption: str
    applies: Callable[[Gathered], bool]
    draw: Callable[[Gathered], Figure]
