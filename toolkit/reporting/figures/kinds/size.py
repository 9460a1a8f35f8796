"""Quality against what it takes: the size of a model, seconds, tokens, memory."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.core.system.lazy_names import alt
from toolkit.reporting.figures import theme
from toolkit.reporting.figures.charts import Drawn, chart_of, plot
from toolkit.reporting.figures.columns import Column, over
from toolkit.reporting.figures.kinds.placement import Beside, beside_points
from toolkit.reporting.report.model import ReportModel, leading_columns

UNITS = {
    "parameters": "parameters of the checkpoint",
    "seconds": "wall time (seconds)",
    "tokens": "tokens of prompts and answers",
    "memory": "peak memory (bytes)",
}
ACROSS = 2  # panels side by side
WIDTH, HEIGHT = 330, 220  # pixels of a panel
NARROW = 240  # of one on a phone or in a column: names that have room there have it everywhere
ROOM = 1.6  # by which the axis of costs goes beyond the smallest and the largest
NAMED = 0.4  # and its share for the name of the last
SIZES = re.compile(r"[-_.]?\b(?:tiny|mini|small|base|large|xl|xxl|\d+(?:\.\d+)?[mb])\b", re.IGNORECASE)


def applies(model: ReportModel) -> bool:
    """Two runs whose costs are known and differ."""
    return len({row[3] for row in drawn(model).rows}) > 1


def columns(model: ReportModel) -> list[Column]:
    """The first measure in its first mode, and those over pairs of modes; without modes all that stand for the benchmark."""
    found = leading_columns(model)
    return found if not model.judgments.modes else [*found[:1], *(each for each in found[1:] if over(each[0]) == "paired")]


def drawn(model: ReportModel) -> Drawn:
    """The cost and the value of each run of which both are known; a cost of 0 has no place on a logarithmic axis."""
    rows = (
        (*column, facts.name, float(cost), value)
        for column in columns(model)
        for facts in model.runs
        if (cost := getattr(facts.cost, model.x)) and (value := facts.value(*column, model.overall)) is not None
    )
    return Drawn(("measure", "mode", "run", model.x, "value"), tuple(rows))


def family(name: str) -> str:
    """What the names of one model in several sizes have in common: `e5-base-v2` and `e5-large-v2` are both `e5-v2`."""
    return SIZES.sub("", name)


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A panel a measure, a point with its name a run, a line a family of models."""
    rows = theme.lead(drawn(model).dicts("measure", "mode", "run", "cost", "value"), model)
    called = {shown: family(facts.called) for facts, shown in zip(model.runs, theme.run_names(model), strict=True)}
    costs = [row["cost"] for row in rows]
    low, high = min(costs) / ROOM, max(costs) * ROOM
    high *= (high / low) ** NAMED
    across = alt.X(
        "cost:Q",
        title=UNITS[model.x],
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=powers(low, high), labelExpr="replace(format(datum.value, '~s'), 'G', 'B')", labelOverlap=True),
    )
    panels = []
    for column in dict.fromkeys((row["measure"], row["mode"]) for row in rows):
        own = [row for row in rows if (row["measure"], row["mode"]) == column]
        bounds = theme.ticks([row["value"] for row in own])
        scale = alt.Scale(domain=[bounds[0], bounds[-1]])
        up = alt.Y("value:Q", title=theme.axis_name(*column), scale=scale, axis=alt.Axis(values=bounds))
        base = theme.only_leading(chart_of(own), model).encode(across, up, opacity=theme.focused())
        points = base.mark_point(filled=True, size=70).encode(
            **theme.run_looks(model, "color", "shape"),
            tooltip=["run:N", alt.Tooltip("cost:Q", title=model.x, format="~s"), "value:Q"],
        )
        named = [{**row, "_family": called[row["run"]]} for row in own if theme.LEADS in row or len(model.runs) <= theme.MOST]
        lines = chart_of(named).mark_line(color=theme.GREY, strokeWidth=1).encode(across, up, detail="_family:N")
        words = [
            chart_of([row])
            .mark_text(dx=label.dx, dy=label.dy, align=label.align, baseline="middle")
            .encode(across, up, text="run:N", opacity=theme.focused())
            for row, label in zip(named, _labels(named, (low, high), (bounds[0], bounds[-1])), strict=True)
        ]
        panels.append(alt.layer(lines, points, *words, width=WIDTH, height=HEIGHT))
    return alt.concat(*panels, columns=ACROSS, align="each")


def _labels(rows: Sequence[Mapping[str, Any]], costs: tuple[float, float], values: tuple[float, float]) -> list[Beside]:
    """Where the name of each run stands beside its point; costs, values  between which the axes go."""
    points = [
        (
            NARROW * math.log(row["cost"] / costs[0]) / math.log(costs[1] / costs[0]),
            HEIGHT * (values[1] - row["value"]) / (values[1] - values[0]),
        )
        for row in rows
    ]
    return beside_points(points, [row["run"] for row in rows], (NARROW, HEIGHT))


def powers(low: float, high: float) -> list[float]:
    """Powers of ten between two numbers; where these are few, also 3 times or 2 and 5 times."""
    decades = math.log10(high / low)
    factors = (1, 2, 5) if decades < 1.5 else (1, 3) if decades < 3 else (1,)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = (factor * 10.0**power for power in range(first, last + 1) for factor in factors)
    return [number for number in every if low <= number <= high]


SIZE = plot("size", applies, draw, drawn)
