"""What a plot is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from toolkit.core.system.lazy_names import alt
from toolkit.core.system.yaml_json import read_yaml
from toolkit.reporting.report.model import ReportModel

Value = str | float
Place = Literal["argument", "paper", "appendix"]


@dataclass(frozen=True)
class Drawn:
    """The numbers behind a figure: rows parallel to `columns`, at full precision, in the order in which they are drawn.

    What is undefined has no row.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def dicts(self, *names: str) -> list[dict[str, Value]]:
        """Each row by its columns, or by other names for them."""
        return [dict(zip(names or self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Plot:
    """One figure of a report.

    name     of its files (`radar`)
    title    a heading, in words
    caption  what is drawn, with units, and where the definition is from; it is also read to those who do not see the figure
    applies  whether these runs have what it draws
    draw     the chart, which `theme.themed` makes a specification; axes have titles with units, runs differ by shape and dash
             as well as by colour, and a row of a run's data has its name in the field `run`
    drawn    the numbers in it
    place    where a page shows it: `argument` openly below the main table, `paper` in the fold of figures as in the papers,
             `appendix` in the last one
    leading  whether only the leading runs are drawn where all are too many (`theme.leading`)
    """

    name: str
    title: str
    caption: str
    applies: Callable[[ReportModel], bool]
    draw: Callable[[ReportModel], alt.TopLevelMixin]
    drawn: Callable[[ReportModel], Drawn]
    place: Place = "paper"
    leading: bool = False


def plot(name: str, applies: Callable, draw: Callable, drawn: Callable, **numbers: float) -> Plot:
    """A figure with the words that `plots.yaml` has for it; numbers  what stands in braces in its caption."""
    row = _rows()[name]
    return Plot(name, **row | {"caption": row["caption"].format(**numbers)}, applies=applies, draw=draw, drawn=drawn)


@functools.cache
def _rows() -> Mapping[str, Mapping[str, Any]]:
    return read_yaml(Path(__file__).with_name("plots.yaml"))
