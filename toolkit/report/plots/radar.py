"""Measures over pairs of modes by dimension, as InfoSearch's radar plots show them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolkit.report.model import ReportModel
from toolkit.report.plots.columns import Column, own_groups, paired
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import GREY, axis_name, labels
from toolkit.report.plots.theme import (
    data,
    focused,
    lead,
    only_leading,
    run_colour,
    run_dash,
    run_legend,
    run_shape,
    with_legend_clicks,
)

if TYPE_CHECKING:
    import altair as alt

TITLE = "Following instructions by group, as a radar"
ACROSS = 2  # circles side by side
FEWEST = 5  # groups: fewer make no area that an eye compares


def applies(model: ReportModel) -> bool:
    """Asked for, measures over pairs of modes, and five groups."""
    return model.radar and len(own_groups(model)) >= FEWEST and bool(paired(model))


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


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A circle a measure, a spoke a group, a closed line a run."""
    import altair as alt

    rows = lead((dict(zip(("measure", "run", "group", "value"), row, strict=True)) for row in drawn(model).rows), model)
    circles = [_circle(model, column, [row for row in rows if row["measure"] == column[0]]) for column in paired(model)]
    return alt.concat(*circles, columns=ACROSS, align="each")


def _circle(model: ReportModel, column: Column, rows: list[dict[str, Any]]) -> alt.TopLevelMixin:
    import altair as alt

    groups = own_groups(model)
    turns = {group: 2 * math.pi * number / len(groups) for number, group in enumerate(groups)}
    rings = ticks([row["value"] for row in rows])
    start = rings[0] - (rings[1] - rings[0])  # of the centre: the smallest value does not vanish in one point
    far = rings[-1] - start

    def place(value: float, turn: float) -> dict[str, float]:
        return {"_x": (value - start) * math.sin(turn), "_y": (value - start) * math.cos(turn)}

    reach = 1.32 * far
    flat = {"axis": None, "scale": alt.Scale(domain=[-reach, reach], nice=False)}
    # the scale stands left of the circle, where no line covers it
    y_axis = alt.Axis(
        values=[ring - start for ring in rings],
        labelExpr=f"format(datum.value + ({start!r}), '.2~f')",
        grid=False,
        domain=False,
    )
    across, up = alt.X("_x:Q", **flat), alt.Y("_y:Q", **{**flat, "axis": y_axis}, title=None)
    around = [2 * math.pi * step / 72 for step in range(73)]
    circles = [{"_ring": ring, "_turn": turn, **place(ring, turn)} for ring in rings for turn in around]
    grid = (
        alt.Chart(data(circles))
        .mark_line(color=GREY, strokeWidth=1)
        .encode(
            across,
            up,
            detail="_ring:N",
            order="_turn:Q",
            opacity=alt.when("datum._ring == 0").then(alt.value(1)).otherwise(alt.value(0.3)),
        )
    )
    spokes = [
        {"_group": group, "_end": end, **place(value, turns[group])}
        for group in groups
        for end, value in enumerate((start, rings[-1]))
    ]
    spoke = alt.Chart(data(spokes)).mark_line(color=GREY, strokeWidth=1, opacity=0.3).encode(across, up, detail="_group:N")
    shown = labels(groups)
    names = alt.layer(
        *(
            alt.Chart(data([{"_name": shown[group], **place(rings[-1] + 0.1 * far, turns[group])}]))
            .mark_text(align=_side(math.sin(turns[group])), baseline="middle", limit=90)
            .encode(across, up, text="_name:N")
            for group in groups
        )
    )
    points = [{**row, **place(row["value"], turns[row["group"]]), "_number": groups.index(row["group"])} for row in rows]
    first = [{**row, "_number": len(groups)} for row in points if row["_number"] == 0]
    base = only_leading(alt.Chart(data(points + first)), model).encode(across, up, opacity=focused())
    lines = base.mark_line(strokeWidth=1.8).encode(
        color=run_colour(model, legend=run_legend(model)), strokeDash=run_dash(model, legend=None), order="_number:Q"
    )
    dots = base.mark_point(filled=True, size=40).encode(
        color=run_colour(model, legend=run_legend(model)),
        shape=run_shape(model, legend=run_legend(model)),
        tooltip=["run:N", "group:N", "value:Q"],
    )
    dots = with_legend_clicks(dots) if column == paired(model)[0] else dots
    return alt.layer(grid, spoke, names, lines, dots, title=axis_name(*column), width=300, height=300)


def _side(across: float) -> str:
    return "center" if abs(across) < 0.1 else "left" if across > 0 else "right"


def ticks(values: Sequence[float]) -> list[float]:
    """Two to seven round numbers from below the smallest value, or 0, to above the largest."""
    low, high = min([0.0, *values]), max([0.0, *values])
    rough = (high - low or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.floor(low / step)
    return [round(number * step, 12) for number in range(first, max(math.ceil(high / step), first + 1) + 1)]


RADAR = Plot(
    "radar",
    TITLE,
    "Measures over pairs of modes by dimension, language or data set, a line a run, as in InfoSearch's figures. The darker "
    "circle is 0: a system that does not react to instructions. The scale of each circle stands on its left and begins below 0 "
    "where a value is negative. Areas depend on the order of the groups: the heat map has the numbers.",
    applies,
    draw,
    drawn,
    leading=True,
)
