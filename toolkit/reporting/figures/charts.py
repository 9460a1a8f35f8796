"""What a plot is, and charts whose rows and channels Altair does not copy and guess at every step: three times as fast."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from toolkit.core.system.lazy_names import alt
from toolkit.core.system.yaml_json import read_yaml
from toolkit.reporting.report.model import ReportModel

Value = str | float
Place = Literal["argument", "paper", "appendix"]


class Rows:
    """Rows of a chart, numbers with five digits for a small page; Altair copies lists at every step, and takes these as is."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]):
        rounded = lambda value: float(f"{value:.5g}") if isinstance(value, float) else value  # noqa: E731
        self.values = [{name: rounded(value) for name, value in row.items()} for row in rows]

    def __str__(self) -> str:
        """What Altair names them by: equal rows are in a specification once."""
        return json.dumps(self.values)


def data(rows: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Rows, for charts that share them."""
    return alt.InlineData(values=Rows(rows))


def chart_of(rows: Iterable[Mapping[str, Any]] | alt.InlineData | None = None, **options: Any) -> alt.Chart:
    """A chart of rows, or of those of the chart that it is a layer or facet of; options  of `altair.Chart`."""
    if rows is None:
        return _charts()(**options)
    return _charts()(rows if isinstance(rows, alt.InlineData) else data(rows), **options)


def specification(made: alt.TopLevelMixin) -> dict[str, Any]:
    """Its Vega-Lite specification, not validated."""
    spec = made.to_dict(validate=False)
    datasets = {name: rows.values if isinstance(rows, Rows) else rows for name, rows in spec.get("datasets", {}).items()}
    return spec | ({"datasets": datasets} if datasets else {})


@functools.cache
def _charts() -> type[alt.Chart]:
    class Chart(alt.Chart):
        def copy(self, deep: bool | Iterable[Any] = True, ignore: list[str] | None = None) -> Chart:
            # what combines charts sets properties of the copy, and changes nothing inside them
            return super().copy(deep=False if deep is True else deep, ignore=ignore)

        def encode(self, *positional: Any, **channels: Any) -> Chart:
            return super().encode(*positional, **{name: _channel(name, value) for name, value in channels.items()})

    return Chart


def _channel(name: str, value: Any) -> Any:
    """The object that a short form stands for (`"run:N"`, a condition): Altair finds it by hashing all of its schema."""
    kind = name[0].upper() + name[1:]
    if isinstance(value, str):
        return getattr(alt, kind)(value)
    if isinstance(value, list):
        return [_channel(name, each) for each in value]
    if not isinstance(value, alt.SchemaBase) and hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, dict):
        return getattr(alt, f"{kind}Value" if "value" in value else kind)(**value)
    return value


@dataclass(frozen=True)
class Drawn:
    """The numbers behind a figure, at full precision, in the order in which they are drawn; what is undefined has no row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def dicts(self, *names: str) -> list[dict[str, Value]]:
        """Each row by its columns, or by other names for them."""
        return [dict(zip(names or self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Plot:
    """One figure of a report.

    caption  what is drawn, with units, and where the definition is from; it is also read to those who do not see the figure
    draw     the chart, which `theme.themed` makes a specification; axes have titles with units, runs differ by shape and
             dash as well as by colour, and a row of a run's data has its name in the field `run`
    place    where a page shows it, and `leading`, whether only leading runs are drawn: see `plots.yaml`
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
    row = _words()[name]
    return Plot(name, **row | {"caption": row["caption"].format(**numbers)}, applies=applies, draw=draw, drawn=drawn)


@functools.cache
def _words() -> Mapping[str, Mapping[str, Any]]:
    return read_yaml(Path(__file__).with_name("plots.yaml"))
