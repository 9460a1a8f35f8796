"""Figures of one look: a row of panels a number, a panel a group on the row's scale, a line of each panel a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from toolkit.evaluate.scoring import AVERAGE
from toolkit.report.leading import leading
from toolkit.report.model import ReportModel
from toolkit.report.plots.columns import best_runs, own_groups
from toolkit.report.plots.style import GREY, labels
from toolkit.report.plots.theme import run_names

if TYPE_CHECKING:
    import altair as alt

MOST = 20  # runs
WIDTH, STEP = 640, 17  # pixels of all panels of a row without what is between them, and of a run
NARROW, WIDE = 92, 380  # of a panel


def runs_shown(model: ReportModel) -> dict[str, str]:
    """Name -> what the figure calls it, of the runs that lead, best first."""
    shown = dict(zip((facts.name for facts in model.runs), run_names(model), strict=True))
    return {facts.name: shown[facts.name] for facts in best_runs(model, leading(model), MOST)}


def groups_shown(model: ReportModel) -> list[str]:
    """The average first."""
    return [*([AVERAGE] if AVERAGE in model.groups else []), *own_groups(model)]


def panel_row(
    model: ReportModel,
    layers: Sequence[alt.Chart],
    rows: Sequence[dict[str, Any]],
    names: Sequence[str],
    title: Any,
    prepare: Callable[[alt.FacetChart], alt.FacetChart] | None = None,
) -> alt.FacetChart:
    """Panels side by side, on one scale.

    layers  without data, with a channel `x`; the vertical axis, which has the runs, is added, and a line at 0
    rows    with a field `g`, the number of the group in `groups_shown`, and `r`, the number of the run in `names`
    title   of the row: text, or an expression of signals
    prepare what gives the rows their field `run`, where not `r` alone does
    """
    import altair as alt

    groups = groups_shown(model)
    named = labels(groups)
    down = alt.Y("run:N", title=None, sort=list(names), scale=alt.Scale(domain=list(names)), axis=alt.Axis(grid=False))
    width = min(max(NARROW, WIDTH // len(groups)), WIDE)
    zero = alt.Chart().mark_rule(color=GREY, strokeWidth=1).encode(x=alt.datum(0))
    layered = alt.layer(zero, *(layer.encode(y=down) for layer in layers), width=width, height=alt.Step(STEP))
    chart = layered.facet(
        data=alt.Data(values=list(rows)),
        column=alt.Column(
            "group:N",
            title=None,
            sort=[named[group] for group in groups],
            header=alt.Header(labelFontSize=11, labelPadding=4) if len(groups) > 1 else None,
        ),
        spacing=12,
        bounds="flush",
        title=alt.Title(title, fontSize=12, anchor="start", offset=8, frame="bounds"),
    )
    chart = chart.transform_calculate(group=f"{written([named[group] for group in groups])}[datum.g]")
    return prepare(chart) if prepare else chart.transform_calculate(run=f"{written(names)}[datum.r]")


def signed_axis(**options: Any) -> alt.Axis:
    """Numbers with their sign, and 0 without."""
    import altair as alt

    return alt.Axis(tickCount=4, labelExpr="datum.value ? format(datum.value, '+.2~f') : '0'", **options)


def written(words: Sequence[str]) -> str:
    """A list of texts in an expression of Vega."""
    return json.dumps(list(words))
