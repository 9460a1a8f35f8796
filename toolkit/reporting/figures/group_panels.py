"""Figures of one look: a row of panels a number, a panel a group on the row's scale, a line of each panel a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.scores.scoring import AVERAGE
from toolkit.reporting.figures.charts import chart_of, data
from toolkit.reporting.figures.columns import best_runs, own_groups
from toolkit.reporting.figures.theme import GREY, labels, run_labels, run_rows
from toolkit.reporting.report.model import ReportModel, leading

MOST = 20  # runs
WIDTH, STEP = 640, 17  # pixels of all panels of a row without what is between them, and of a run
NARROW, WIDE = 92, 380  # of a panel


def runs_shown(model: ReportModel) -> dict[str, str]:
    """Name -> what the figure calls it, of the runs that lead, best first."""
    shown = run_labels(model)
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
    """Panels side by side, on one scale, with a line at 0.

    layers   without data, with a channel `x`; the vertical axis, which has the runs, is added
    rows     with the fields `run` and `group`, as `named_groups` has it; they go through `prepare` first
    title    of the row: text, or an expression of signals
    """
    groups = list(named_groups(model).values())
    down = run_rows(model, names)
    width = min(max(NARROW, WIDTH // len(groups)), WIDE)
    zero = chart_of().mark_rule(color=GREY, strokeWidth=1).encode(x=alt.datum(0))
    header = alt.Header(labelPadding=2) if len(groups) > 1 else alt.Header(labels=False)
    chart = alt.layer(zero, *(layer.encode(y=down) for layer in layers), width=width, height=alt.Step(STEP)).facet(
        data=data(rows),
        facet=alt.Facet("group:N", title=None, sort=groups, header=header),
        columns=len(groups),  # a page puts fewer side by side where it is narrow
        spacing=alt.RowColnumber(row=28, column=12),
        bounds="flush",
        title=alt.Title(title, fontSize=12, fontWeight="bold", offset=8, frame="bounds"),
    )
    return prepare(chart) if prepare else chart


def named_groups(model: ReportModel) -> dict[str, str]:
    """Group -> what the figure calls it, in the order of the panels."""
    return labels(groups_shown(model))


def signed_axis(**options: Any) -> alt.Axis:
    """Numbers with their sign, and 0 without."""
    return alt.Axis(tickCount=4, labelExpr="datum.value ? format(datum.value, '+.2~f') : '0'", **options)
