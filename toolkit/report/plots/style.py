"""How plots look: runs distinguishable without colour, names that stay text, black that a page may turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from toolkit import registry
from toolkit.measures.evaluation import PAIRED
from toolkit.report.model import ReportModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's, yellow left out and the bright ones darkened: each has a contrast of 3 to white and to a dark page. Black is
# a page's own colour of text
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#C4669B", "#B88A00", "#2F97D6")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # as many as have no divisor in common with the colours
LINES = ("-", "--", "-.", ":")
HATCHES = ("", "///", "...", "xxx")
GREY = "#808080"
WHITE, NEAR_BLACK = "#ffffff", "#010101"  # on coloured ground: a page turns black alone
WIDEST = 40  # characters of a name; the middle of a longer one is left out


class Look(NamedTuple):
    """How a run is drawn, the same in all plots."""

    colour: str
    marker: str
    line: str

    @property
    def points(self) -> dict[str, object]:
        """For points alone."""
        return {"color": self.colour, "marker": self.marker, "linestyle": "none", "markersize": 6}

    @property
    def marks(self) -> dict[str, object]:
        """For points on coloured ground, which a dark page does not darken: black stays, and all have a pale middle."""
        colour = NEAR_BLACK if self.colour == COLOURS[0] else self.colour
        return {**self.points, "color": colour, "markerfacecolor": f"{WHITE}99"}

    @property
    def lines(self) -> dict[str, object]:
        """For a line with points."""
        return {"color": self.colour, "marker": self.marker, "linestyle": self.line, "markersize": 4, "linewidth": 1.4}


def look(number: int) -> Look:
    """Of the n-th thing that is drawn: any 56 in a row differ in colour or mark."""
    return Look(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)], LINES[number // len(COLOURS) % len(LINES)])


def looks(model: ReportModel) -> dict[str, Look]:
    """Run -> how it is drawn."""
    return {facts.name: look(number) for number, facts in enumerate(model.runs)}


def labels(names: Iterable[str]) -> dict[str, str]:
    """Name -> what is written for it: one line that XML can hold; long ones without their middle, if they still differ."""
    whole = {name: "".join(sign if sign.isprintable() else "\ufffd" for sign in name) for name in names}
    short = {name: text if len(text) <= WIDEST else _without_middle(text) for name, text in whole.items()}
    times = Counter(short.values())
    return {name: text if times[text] == 1 else whole[name] for name, text in short.items()}


def _without_middle(text: str) -> str:
    kept = (WIDEST - 1) // 2
    return f"{text[:kept]}\u2026{text[-kept:]}"


def axis_name(measure: str, mode: str = PAIRED) -> str:
    """What stands at an axis: measure, mode and unit."""
    return f"{' '.join(filter(None, (measure, mode.removeprefix(PAIRED))))} ({registry.measure(measure).unit})"


def panels(
    model: ReportModel, title: str, rows: int, columns: int, size: tuple[float, float], **options: object
) -> tuple[Figure, np.ndarray]:
    """An empty figure under its title, and its (rows, columns) axes.

    size  of one panel, width and height in inches; options  of `Figure.subplots`
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * columns, size[1] * rows + 0.5), layout="constrained")
    figure.suptitle(f"{labels([model.name])[model.name]}: {title}", fontsize="medium")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for each in axes.flat:
        each.tick_params(labelsize="small")
        each.grid(visible=True, color=GREY, alpha=0.3, linewidth=0.6)
        each.set_axisbelow(True)
    return figure, axes


def legend(figure: Figure, entries: Mapping[str, object]) -> None:
    """Below the panels: name -> what is drawn for it."""
    shown = labels(entries)
    widest = max(map(len, shown.values()), default=0)
    columns = max(1, min(len(entries), int(figure.get_figwidth() * 12 / (widest + 6))))
    names = [shown[name] for name in entries]
    figure.legend(list(entries.values()), names, loc="outside lower center", ncols=columns, fontsize="small", frameon=False)


def run_legend(figure: Figure, model: ReportModel, style: str = "lines", only: Collection[str] | None = None) -> None:
    """The runs as they are drawn; style  `lines`, `points` or `marks`; only  those of which there is anything to see."""
    from matplotlib.lines import Line2D

    shown = {name: run_look for name, run_look in looks(model).items() if only is None or name in only}
    legend(figure, {name: Line2D([], [], **getattr(run_look, style)) for name, run_look in shown.items()})


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Names along the vertical axis, the first on top."""
    shown = labels(names)
    axes.set_yticks(range(len(names)), [shown[name] for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
