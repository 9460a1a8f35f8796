"""Runs by groups, where a system is strong and where it is weak: as a heat map, and as InfoSearch's radar plots show it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from toolkit import registry
from toolkit.core.system.lazy_names import alt
from toolkit.reporting.figures import theme
from toolkit.reporting.figures.charts import Drawn, chart_of, plot
from toolkit.reporting.figures.columns import Column, own_groups, paired
from toolkit.reporting.report.model import ReportModel, leading_columns

TIPS = ["run:N", "group:N", "value:Q"]
ACROSS = 2  # panels or circles side by side
FEWEST = 5  # groups: fewer make no area that an eye compares


class Colours(NamedTuple):
    """What the colours of cells mean in every panel; pale_on  on which values text is pale, an expression of Vega"""

    title: str
    scheme: str
    low: float
    high: float
    pale_on: str


SIGNED = Colours("from -1 to 1", "purpleorange", -1, 1, "abs(datum.value) > 0.65")
SHARES = Colours("from 0 to 1", "cividis", 0, 1, "datum.value < 0.475")
SCALES = SHARES, SIGNED


def has_groups(model: ReportModel) -> bool:
    """Several groups, and a measure that is a fraction."""
    return len(own_groups(model)) > 1 and any(map(scale_of, leading_columns(model)))


def drawn(model: ReportModel) -> Drawn:
    """The value of each run in each group and on average."""
    columns = list(filter(scale_of, leading_columns(model)))
    return Drawn(("measure", "mode", "run", "group", "value"), tuple(_values(model, columns, model.groups)))


def _values(model: ReportModel, columns: Iterable[Column], groups: Iterable[str]) -> Iterator[tuple]:
    """Of each run in each group: measure, mode, run, group, value, where it has one."""
    for column, facts, group in itertools.product(columns, model.runs, groups):
        if (value := facts.value(*column, group)) is not None:
            yield *column, facts.name, group, value


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A panel a measure and mode, a row a run, a column a group; every cell has its number."""
    rows = theme.lead(drawn(model).dicts(), model)
    groups = theme.labels(model.groups)
    for row in rows:
        row |= {"group": groups[row["group"]], "_shown": theme.cell(row["value"])}
    kinds = [[column for column in leading_columns(model) if scale_of(column) == scale] for scale in SCALES]
    return alt.vconcat(
        *(
            alt.concat(
                *(_cells(model, column, [row for row in rows if (row["measure"], row["mode"]) == column]) for column in kind),
                columns=ACROSS,
                align="each",
            )
            for kind in kinds
            if kind
        ),
        usermeta=theme.NAMES_ONCE,
    ).resolve_scale(color="independent")


def scale_of(column: Column) -> Colours | None:
    """The colours of a measure; None for ranks, which have no end."""
    measure = registry.measure(column[0])
    if measure.unit != "fraction":
        return None
    return SIGNED if measure.lowest < 0 else SHARES


def _cells(model: ReportModel, column: Column, rows: list[dict]) -> alt.TopLevelMixin:
    colours = scale_of(column)
    groups = list(theme.labels(model.groups).values())
    names = alt.Axis(labelAngle=-40, grid=False, labelLimit=110)
    across = alt.X("group:N", title=None, scale=alt.Scale(domain=groups), axis=names)
    base = chart_of(rows).encode(x=across, y=theme.run_rows(model), opacity=theme.focused(), tooltip=TIPS)
    legend = alt.Legend(title=colours.title, gradientLength=200, orient="bottom")
    scale = alt.Scale(domain=[colours.low, colours.high], scheme=colours.scheme, reverse=colours is SIGNED, clamp=True)
    grounds = base.mark_rect(stroke=theme.PALE, strokeWidth=0.5).encode(color=alt.Color("value:Q", scale=scale, legend=legend))
    ink = alt.when(colours.pale_on).then(alt.value(theme.PALE)).otherwise(alt.value(theme.NEAR_BLACK))
    numbers = base.mark_text(fontSize=theme.SMALL).encode(text="_shown:N", color=ink)
    title = theme.axis_name(*column)
    return alt.layer(grounds, numbers, title=title, width=36 * len(groups), height=alt.Step(theme.row_height(model)))


HEATMAP = plot("heatmap", has_groups, draw, drawn)


def has_radar(model: ReportModel) -> bool:
    """Asked for, measures over pairs of modes, and five groups."""
    return model.radar and len(own_groups(model)) >= FEWEST and bool(paired(model))


def drawn_radar(model: ReportModel) -> Drawn:
    """The value of each run in each group."""
    rows = _values(model, paired(model), own_groups(model))
    return Drawn(("measure", "run", "group", "value"), tuple((measure, *row) for measure, _, *row in rows))


def draw_radar(model: ReportModel) -> alt.TopLevelMixin:
    """A circle a measure, a spoke a group, a closed line a run; retrieval and reranking apart, on the same rings."""
    rows = theme.lead(drawn_radar(model).dicts(), model)
    groups = own_groups(model)
    circles = []
    turns = {group: 2 * math.pi * number / len(groups) for number, group in enumerate(groups)}
    for column in paired(model):
        own = [row for row in rows if row["measure"] == column[0]]
        rings = theme.ticks([row["value"] for row in own])
        circle = Circle(turns, rings, 2 * rings[0] - rings[1])
        for row in own:
            row |= {**circle.place(row["value"], turns[row["group"]]), "_number": groups.index(row["group"])}
        for name, names in stages(model).items():
            title = ", ".join(filter(None, (theme.axis_name(*column), name)))
            places = [row for row in own if row["run"] in names]
            ends = [{**row, "_number": len(groups)} for row in places if row["_number"] == 0]
            base = theme.only_leading(chart_of(places + ends), model).encode(*circle.axes(), opacity=theme.focused())
            line, point = base.mark_line(strokeWidth=1.8), base.mark_point(filled=True, size=40)
            lines, points = theme.lines_and_points(line, point, model, TIPS, order="_number:Q")
            lines = lines if circles else theme.with_legend_clicks(lines)
            circles.append(alt.layer(*_web(circle), lines, points, title=title, width=300, height=300))
    return alt.concat(*circles, columns=ACROSS, align="each")


def stages(model: ReportModel) -> dict[str, set[str]]:
    """Runs of `retrieval` and of `reranking`, apart as in InfoSearch's figure 3; one without a name where all are alike."""
    reranking = {facts.name for facts in model.runs if facts.heading.endswith("reranker")}
    retrieval = {facts.name for facts in model.runs} - reranking
    return {"retrieval": retrieval, "reranking": reranking} if retrieval and reranking else {"": retrieval | reranking}


class Circle(NamedTuple):
    """Where values lie: the turn of each group from the top, the values of the rings, and the value of the centre, which is
    below the smallest ring, so that this does not vanish in one point.
    """

    turns: dict[str, float]
    rings: list[float]
    centre: float

    @property
    def radius(self) -> float:
        """Of the outermost ring."""
        return self.rings[-1] - self.centre

    def place(self, value: float, turn: float) -> dict[str, float]:
        """Of a value, from the centre."""
        return {"_x": (value - self.centre) * math.sin(turn), "_y": (value - self.centre) * math.cos(turn)}

    def axes(self) -> tuple[alt.X, alt.Y]:
        """Both; the scale stands left of the circle, where no line covers it."""
        reach = 1.32 * self.radius
        scale = alt.Scale(domain=[-reach, reach], nice=False)
        labelled = {"labelExpr": f"format(datum.value + ({self.centre!r}), '.2~f')", "grid": False, "domain": False}
        axis = alt.Axis(values=[ring - self.centre for ring in self.rings], **labelled)
        return alt.X("_x:Q", axis=None, scale=scale), alt.Y("_y:Q", axis=axis, scale=scale, title=None)


def _web(circle: Circle) -> list[alt.Chart]:
    """The rings, the one of 0 darker, the spokes, and the names of the groups at their ends."""
    across, up = circle.axes()
    around = [2 * math.pi * step / 72 for step in range(73)]
    rings = [{"_ring": ring, "_turn": turn, **circle.place(ring, turn)} for ring in circle.rings for turn in around]
    spokes = [
        {"_group": group, **circle.place(value, turn)}
        for group, turn in circle.turns.items()
        for value in (circle.centre, circle.rings[-1])
    ]
    zero = alt.when("datum._ring == 0").then(alt.value(1)).otherwise(alt.value(0.3))
    web = [
        chart_of(rings)
        .mark_line(color=theme.GREY, strokeWidth=1)
        .encode(across, up, detail="_ring:N", order="_turn:Q", opacity=zero),
        chart_of(spokes).mark_line(color=theme.GREY, strokeWidth=1, opacity=0.3).encode(across, up, detail="_group:N"),
    ]
    shown = theme.labels(circle.turns)
    for group, turn in circle.turns.items():
        end = {"_name": shown[group], **circle.place(circle.rings[-1] + 0.1 * circle.radius, turn)}
        right = math.sin(turn)
        align = "center" if abs(right) < 0.1 else "left" if right > 0 else "right"
        web.append(chart_of([end]).mark_text(align=align, baseline="middle", limit=90).encode(across, up, text="_name:N"))
    return web


RADAR = plot("radar", has_radar, draw_radar, drawn_radar)
