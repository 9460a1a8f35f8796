"""Runs by groups: where a system is strong and where it is weak."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from toolkit import registry
from toolkit.evaluate.scoring import AVERAGE
from toolkit.report.model import ReportModel
from toolkit.report.plots.columns import Column, own_groups
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import NEAR_BLACK, WHITE, axis_name, labels, name_rows, panels
from toolkit.report.report_tables import headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Runs by groups"
ACROSS = 2  # panels side by side


def applies(model: ReportModel) -> bool:
    """Several groups."""
    return len(own_groups(model)) > 1


def drawn(model: ReportModel) -> Drawn:
    """The value of each run in each group and on average."""
    rows = (
        (measure, mode, facts.name, group, facts.value(measure, mode, group))
        for measure, mode in headline(model)
        for facts in model.runs
        for group in model.groups
    )
    kept = tuple(row for row in rows if row[4] is not None and not math.isnan(row[4]))
    return Drawn(("measure", "mode", "run", "group", "value"), kept)


def draw(model: ReportModel) -> Figure:
    """A panel a measure and mode, a row a run, a column a group; every cell has its number."""
    columns = headline(model)
    across = min(ACROSS, len(columns))
    size = (1.6 + 0.6 * len(model.groups), 1.2 + 0.28 * len(model.runs))
    figure, axes = panels(model, TITLE, -(-len(columns) // across), across, size, sharey=True)
    rows = drawn(model).rows
    for each, column in zip(axes.flat, columns, strict=False):
        _cells(each, model, column, {row[2:4]: row[4] for row in rows if row[:2] == column})
        each.set_title(axis_name(*column), fontsize="small")
    for unused in axes.flat[len(columns) :]:
        unused.set_visible(False)
    return figure


def _cells(axes: Axes, model: ReportModel, column: Column, values: dict[tuple[str, str], float]) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    signed = registry.measure(column[0]).lowest < 0  # from -1 to 1
    scale = Normalize(-1, 1) if signed else Normalize(min(values.values(), default=0), max(values.values(), default=1))
    shades = colormaps["PuOr" if signed else "cividis"]
    names = [facts.name for facts in model.runs]
    for (name, group), value in values.items():
        x, y = model.groups.index(group), names.index(name)
        shade = shades(scale(value))
        # a rectangle a cell: a page shows no images
        axes.add_artist(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=shade, linewidth=0))
        dark = 0.299 * shade[0] + 0.587 * shade[1] + 0.114 * shade[2] < 0.5
        axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=7, color=WHITE if dark else NEAR_BLACK)
    shown = labels(model.groups)
    axes.grid(visible=False)
    axes.set_xlim(-0.5, len(model.groups) - 0.5)
    axes.set_xticks(range(len(model.groups)), [shown[group] for group in model.groups], rotation=40, ha="right")
    if AVERAGE in model.groups:
        axes.axvline(model.groups.index(AVERAGE) - 0.5, color=WHITE, linewidth=3)
    name_rows(axes, names)


HEATMAP = Plot(
    "heatmap",
    TITLE,
    "The value of each run in each dimension, language or data set (fractions), the average over them apart. p-MRR and WISE "
    "are coloured from -1 (brown) over 0 (white) to 1 (violet), other measures from the smallest value (dark blue) to the "
    "largest (yellow) of their own panel.",
    applies,
    draw,
    drawn,
)
