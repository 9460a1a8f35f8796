"""Runs by groups: where a system is strong and where it is weak."""

from __future__ import annotations

from typing import NamedTuple

from toolkit import registry
from toolkit.core.system.lazy_names import alt
from toolkit.reporting.figures.charts import chart_of
from toolkit.reporting.figures.columns import Column, own_groups
from toolkit.reporting.figures.plot import Drawn, plot
from toolkit.reporting.figures.theme import (
    NAMES_ONCE,
    NEAR_BLACK,
    PALE,
    SMALL,
    axis_name,
    cell,
    focused,
    labels,
    lead,
    row_height,
    run_rows,
)
from toolkit.reporting.report.model import ReportModel, leading_columns

ACROSS = 2  # panels side by side


class Colours(NamedTuple):
    """What the colours of cells mean, the same in every panel.

    pale_on  on which values text is pale, an expression of Vega
    """

    title: str
    scheme: str
    low: float
    high: float
    pale_on: str


SIGNED = Colours("from -1 to 1", "purpleorange", -1, 1, "abs(datum.value) > 0.65")
SHARES = Colours("from 0 to 1", "cividis", 0, 1, "datum.value < 0.475")
SCALES = SHARES, SIGNED


def applies(model: ReportModel) -> bool:
    """Several groups, and a measure that is a fraction."""
    return len(own_groups(model)) > 1 and any(map(scale_of, leading_columns(model)))


def drawn(model: ReportModel) -> Drawn:
    """The value of each run in each group and on average."""
    rows = (
        (measure, mode, facts.name, group, facts.value(measure, mode, group))
        for measure, mode in filter(scale_of, leading_columns(model))
        for facts in model.runs
        for group in model.groups
    )
    kept = tuple(row for row in rows if row[4] is not None)
    return Drawn(("measure", "mode", "run", "group", "value"), kept)


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A panel a measure and mode, a row a run, a column a group; every cell has its number."""
    rows = lead(drawn(model).dicts(), model)
    groups = labels(model.groups)
    for row in rows:
        row |= {"group": groups[row["group"]], "_shown": cell(row["value"])}
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
        usermeta=NAMES_ONCE,
    ).resolve_scale(color="independent")


def scale_of(column: Column) -> Colours | None:
    """The colours of a measure; None for ranks, which have no end."""
    measure = registry.measure(column[0])
    if measure.unit != "fraction":
        return None
    return SIGNED if measure.lowest < 0 else SHARES


def _cells(model: ReportModel, column: Column, rows: list[dict]) -> alt.TopLevelMixin:
    colours = scale_of(column)
    groups = list(labels(model.groups).values())
    base = chart_of(rows).encode(
        x=alt.X(
            "group:N", title=None, scale=alt.Scale(domain=groups), axis=alt.Axis(labelAngle=-40, grid=False, labelLimit=110)
        ),
        y=run_rows(model),
        opacity=focused(),
        tooltip=["run:N", "group:N", "value:Q"],
    )
    legend = alt.Legend(title=colours.title, gradientLength=200, orient="bottom")
    scale = alt.Scale(domain=[colours.low, colours.high], scheme=colours.scheme, reverse=colours is SIGNED, clamp=True)
    grounds = base.mark_rect(stroke=PALE, strokeWidth=0.5).encode(color=alt.Color("value:Q", scale=scale, legend=legend))
    ink = alt.when(colours.pale_on).then(alt.value(PALE)).otherwise(alt.value(NEAR_BLACK))
    numbers = base.mark_text(fontSize=SMALL).encode(text="_shown:N", color=ink)
    title = axis_name(*column)
    return alt.layer(grounds, numbers, title=title, width=36 * len(groups), height=alt.Step(row_height(model)))


HEATMAP = plot("heatmap", applies, draw, drawn)
