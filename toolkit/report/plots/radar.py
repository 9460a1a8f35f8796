"""Measures over pairs of modes by dimension, as InfoSearch's radar plots show them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from toolkit.report.model import ReportModel
from toolkit.report.plots.columns import own_groups, paired
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import GREY, axis_name, labels, looks, panels, run_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Following instructions by group"


def applies(model: ReportModel) -> bool:
    """Measures over pairs of modes, and three groups: fewer make no area."""
    return len(own_groups(model)) > 2 and bool(paired(model))


def drawn(model: ReportModel) -> Drawn:
    """The value of each run in each group."""
    rows = (
        (measure, facts.name, group, facts.value(measure, mode, group))
        for measure, mode in paired(model)
        for facts in model.runs
        for group in own_groups(model)
    )
    kept = tuple(row for row in rows if row[3] is not None and not math.isnan(row[3]))
    return Drawn(("measure", "run", "group", "value"), kept)


def draw(model: ReportModel) -> Figure:
    """A circle a measure, a spoke a group, a line a run."""
    columns = paired(model)
    figure, axes = panels(model, TITLE, 1, len(columns), (4.4, 4.2), subplot_kw={"projection": "polar"})
    rows = drawn(model).rows
    for each, column in zip(axes.flat, columns, strict=True):
        _circle(each, model, {row[1:3]: row[3] for row in rows if row[0] == column[0]})
        each.set_title(axis_name(*column), fontsize="small", pad=18)
    run_legend(figure, model)
    return figure


def _circle(axes: Axes, model: ReportModel, values: dict[tuple[str, str], float]) -> None:
    groups = own_groups(model)
    angles = np.linspace(0, 2 * np.pi, len(groups), endpoint=False)
    axes.set_theta_offset(np.pi / 2)
    axes.set_theta_direction(-1)
    around = np.linspace(0, 2 * np.pi, 200)
    axes.plot(around, np.zeros_like(around), color=GREY, linewidth=1.2)  # below it, instructions are not followed
    for name, look in looks(model).items():
        line = [values.get((name, group), math.nan) for group in groups]
        axes.plot([*angles, angles[0]], [*line, line[0]], **look.lines)
    low, high = min([0.0, *values.values()]), max([0.0, *values.values()])
    room = (high - low or 1.0) * 0.1
    # the centre is below the smallest value, so that it does not vanish in one point
    axes.set_ylim(low - room, high + room)
    axes.set_rlabel_position(180 / len(groups))  # between two spokes
    shown = labels(groups)
    axes.set_xticks(angles, [shown[group] for group in groups])


RADAR = Plot(
    "radar",
    TITLE,
    "WISE, SICR and p-MRR (fractions) by dimension, language or data set, a line a run, as in InfoSearch's figures. The grey "
    "circle is 0: a system that does not react to instructions. The scale of each circle is its own and begins below 0 where a "
    "value is negative.",
    applies,
    draw,
    drawn,
)
