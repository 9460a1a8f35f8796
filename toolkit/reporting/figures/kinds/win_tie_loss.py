"""For how many core queries each run is better than the baseline, and by how much."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from toolkit import registry
from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.scores.core_queries import core_queries
from toolkit.evaluation.scores.judgments import Part
from toolkit.reporting.figures.charts import chart_of, data
from toolkit.reporting.figures.columns import best_runs, shown_column
from toolkit.reporting.figures.group_panels import signed_axis
from toolkit.reporting.figures.kinds.baseline_differences import BASELINE
from toolkit.reporting.figures.plot import Drawn, plot
from toolkit.reporting.figures.theme import GREY, run_labels, run_looks, signals
from toolkit.reporting.report.differences import differences
from toolkit.reporting.report.model import Key, ReportModel, leading, query_values

MOST, ACROSS = 8, 4  # panels, and those side by side
WIDTH, HEIGHT = 190, 120  # pixels of a panel


class Core(NamedTuple):
    """A core query.

    query   the id without mode of the one of its queries in which the runs differ most, which a click opens
    values  run -> the mean over its queries; runs without a value are not in it
    """

    group: str
    core: str
    query: str
    values: dict[str, float]


def applies(model: ReportModel) -> bool:
    """Two runs with values of the leading number, query by query."""
    measure, mode = leading(model)
    return len(model.runs) > 1 and all(
        Key(part.group, measure, mode) in facts.values for part in model.judgments.parts for facts in model.runs
    )


def cores(model: ReportModel) -> Iterator[Core]:
    """The core queries of all groups, each with the values of all runs by the leading number."""
    for part in model.judgments.parts:
        yield from _cores(model, part)


def _cores(model: ReportModel, part: Part) -> Iterator[Core]:
    query_ids, values = query_values(model.runs, Key(part.group, *leading(model)))
    core_ids, of_query = core_queries(query_ids, part)
    # what is over core queries has their ids; a page knows their queries
    queries_of: dict[str, str] = {}
    for query_id, core in (part.cores or {}).items():
        queries_of.setdefault(core, query_id)
    for code, core in enumerate(core_ids):
        own = values[of_query == code]
        known = ~np.isnan(own)
        spread = [row[here].max() - row[here].min() if here.any() else -1 for row, here in zip(own, known, strict=True)]
        query = [query_ids[row] for row in np.flatnonzero(of_query == code)][int(np.argmax(spread))]
        query = queries_of.get(core, query) if query == core else query
        means = {
            facts.name: float(own[here, run].mean())
            for run, (facts, here) in enumerate(zip(model.runs, known.T, strict=True))
            if here.any()
        }
        yield Core(part.group, core, query, means)


def drawn(model: ReportModel) -> Drawn:
    """Of each run that is drawn the core queries in the order of their difference from the report's baseline."""
    baseline, rows, of_all = model.baseline or differences(model).baselines[0], [], list(cores(model))
    for facts in best_runs(model, leading(model), MOST):
        of_run = [
            (facts.name, each.group, each.core, each.values[facts.name], each.values[baseline])
            for each in of_all
            if facts.name != baseline and {facts.name, baseline} <= each.values.keys()
        ]
        rows += sorted(of_run, key=lambda row: (row[4] - row[3], row[1:3]))
    named = ("run", "group", "core query", "value", "baseline's value", "difference")
    return Drawn(named, tuple((*row, row[3] - row[4]) for row in rows))


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A panel a run, a bar a core query, the best difference first."""
    column = leading(model)
    called = run_labels(model)
    panels = [facts.name for facts in best_runs(model, column, MOST)]
    # the values of all baselines are there to be compared with
    names = list(dict.fromkeys([*panels, *differences(model).baselines]))
    rows = [
        {
            "query": each.query,
            "core query": each.core,
            **{called[name]: round(each.values[name], 5) for name in names if name in each.values},
        }
        for each in cores(model)
    ]
    first = model.baseline if model.baseline in names else names[0]
    text = f"{json.dumps(shown_column(column))} + ': difference from ' + {BASELINE}"
    chart = _differences(_panel(model, len(rows)), model, [called[name] for name in panels])
    return chart.facet(
        data=data(rows),
        facet=alt.Facet(
            "run:N",
            title=None,
            sort=[called[name] for name in panels],
            header=alt.Header(labelFontSize=11, labelPadding=2, labelAnchor="start"),
        ),
        columns=ACROSS,
        spacing=12,
        title=alt.Title(alt.ExprRef(text), fontSize=12, fontWeight="bold", anchor="start", offset=10),
        usermeta=signals({BASELINE: called[first]}),
    )


def _panel(model: ReportModel, bars: int) -> alt.LayerChart:
    """Bars side by side, and how many there are of each kind."""
    tips = [alt.Tooltip(f"{field}:Q", title=name, format=form) for field, name, form in TIPS]
    columns = (
        chart_of()
        .mark_bar(stroke=None)
        .encode(
            x=alt.X("place:Q", title=None, axis=None, scale=alt.Scale(nice=False, domain=[0, bars])),
            x2="next:Q",
            y=alt.Y("difference:Q", title=None, axis=signed_axis(grid=True)),
            y2=alt.datum(0),
            **run_looks(model, "color"),
            opacity=alt.when("datum.won").then(alt.value(1)).otherwise(alt.value(0.5)),
            tooltip=["run:N", "query:N", *tips],
        )
    )
    counted = (
        chart_of()
        .transform_aggregate(up="sum(won)", even="sum(tied)", down="sum(lost)", groupby=["run"])
        .transform_calculate(text="datum.up + ' better, ' + datum.even + ' equal, ' + datum.down + ' worse'")
        .mark_text(align="left", baseline="bottom", fontSize=11, dy=-3)
        .encode(x=alt.value(0), y=alt.value(0), text="text:N")
    )
    zero = chart_of().mark_rule(color=GREY, strokeWidth=1).encode(y=alt.datum(0))
    return alt.layer(columns, zero, counted, width=WIDTH, height=HEIGHT)


def _differences(chart: alt.LayerChart, model: ReportModel, names: list[str]) -> alt.LayerChart:
    """The chart over a row a run and core query, made of a row a core query with a field a run."""
    column = leading(model)
    sign, order = (">", "descending") if registry.measure(column[0]).direction != "lower" else ("<", "ascending")
    values = ", ".join(f"datum[{json.dumps(name)}]" for name in names)
    return (
        chart.transform_calculate(run=json.dumps(names), value=f"[{values}]", base=f"datum[{BASELINE}]")
        .transform_flatten(["run", "value"])
        .transform_filter(f"datum.run != {BASELINE} && isValid(datum.value) && isValid(datum.base)")
        .transform_calculate(difference="datum.value - datum.base", measure=json.dumps(shown_column(column)))
        .transform_calculate(
            won=f"datum.difference {sign} 0 ? 1 : 0",
            tied="datum.difference == 0 ? 1 : 0",
            lost=f"datum.difference != 0 && !(datum.difference {sign} 0) ? 1 : 0",
        )
        .transform_window(
            next="row_number()", groupby=["run"], sort=[alt.SortField("difference", order=order), alt.SortField("query")]
        )
        .transform_calculate(place="datum.next - 1")
    )


TIPS = (("value", "value", ".3f"), ("base", "baseline", ".3f"), ("difference", "difference", "+.3f"))

WIN_TIE_LOSS = plot("win-tie-loss", applies, draw, drawn, most=MOST)
