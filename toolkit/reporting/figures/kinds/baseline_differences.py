"""How much better each run is than the baseline, group by group and core query by core query, and if that may be chance."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from toolkit import registry
from toolkit.core.scores import SIGNIFICANT
from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.scores.core_queries import core_queries
from toolkit.reporting.figures import theme
from toolkit.reporting.figures.charts import Drawn, chart_of, data, plot
from toolkit.reporting.figures.columns import argued, best_runs, shown_column
from toolkit.reporting.report.differences import differences
from toolkit.reporting.report.model import Key, ReportModel, leading, query_values

BASELINE = "baseline"  # the signal
FIELDS = ("difference", "low", "high")
PANELS, ACROSS = 8, 4  # panels, and those side by side
WIDTH, HEIGHT = 190, 120  # pixels of a panel


def applies(model: ReportModel) -> bool:
    """Two runs with a difference that can be tested."""
    return any(differences(model).changes.values()) and bool(argued(model))


def drawn(model: ReportModel) -> Drawn:
    """The difference of each run that is drawn from each possible baseline, with interval and p."""
    known = differences(model)
    rows = []
    for measure, mode in argued(model):
        for baseline in known.baselines:
            for name in theme.runs_shown(model):
                for group in theme.groups_shown(model):
                    if change := known.change(baseline, name, Key(group, measure, mode)):
                        numbers = (change.difference, change.low, change.high, change.p)
                        rows.append((measure, mode, baseline, name, group, *numbers))
    named = ("measure", "mode", "baseline", "run", "group", "difference", "low", "high", "p")
    return Drawn(named, tuple(rows))


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A row a number, a panel a group, a dot with its interval a run."""
    called, groups = theme.run_labels(model), theme.named_groups(model)
    baselines, shown = list(differences(model).baselines), theme.runs_shown(model)
    numbers, lines = drawn(model).rows, []
    for column in argued(model):
        rows = [
            {
                "measure": shown_column(column),
                "baseline": called[baseline],
                "run": called[name],
                "group": groups[group],
                **{key: round(value, 4) for key, value in zip(FIELDS, row, strict=False) if not math.isnan(value)},
                **({} if math.isnan(row[3]) else {"p": float(f"{row[3]:.2g}")}),
            }
            for measure, mode, baseline, name, group, *row in numbers
            # the other direction is the same with the other sign
            if (measure, mode) == column and not (name in baselines and baseline in shown and baseline > name)
        ]
        # the line of the baseline itself says so, in the first panel
        first_group = next(iter(groups.values()))
        rows += [{"baseline": called[name], "run": called[name], "group": first_group} for name in baselines if name in shown]
        lines.append(_row(model, rows, list(shown.values()), column))
    first = called[model.baseline] if model.baseline in baselines else called[baselines[0]]
    return alt.vconcat(*lines, spacing=18, usermeta={theme.SIGNALS: {BASELINE: first}})


def _row(model: ReportModel, rows: list[dict], names: list[str], column: tuple[str, str]) -> alt.FacetChart:
    arrow = "lower is better" if registry.measure(column[0]).direction == "lower" else "right is better"
    text = alt.ExprRef(f"{json.dumps(shown_column(column))} + ': difference from ' + {BASELINE} + ' ({arrow})'")
    # the rows of the chosen baseline, turned where it is the second of the two
    return (
        theme.panel_row(model, _layers(model), rows, names, text)
        .transform_filter(f"datum.baseline == {BASELINE} || datum.run == {BASELINE}")
        .transform_calculate(_turned=f"datum.run == {BASELINE} && datum.baseline != datum.run")
        .transform_calculate(
            run="datum._turned ? datum.baseline : datum.run",
            _difference="datum._turned ? 0 - datum.difference : datum.difference",
            _low="datum._turned ? 0 - datum.high : datum.low",
            _high="datum._turned ? 0 - datum.low : datum.high",
        )
        .transform_filter(f"indexof({json.dumps(names)}, datum.run) >= 0")
    )


def _layers(model: ReportModel) -> list[alt.Chart]:
    """Intervals with caps, so that none vanishes, and dots on them."""
    chart = chart_of().transform_filter("isValid(datum.difference)").encode(opacity=theme.focused())
    colour = theme.run_looks(model, "color")
    filled = alt.when(f"datum.p < {SIGNIFICANT}").then(alt.value(1)).otherwise(alt.value(0))
    tips = [alt.Tooltip(f"{field}:Q", title=title, format=form) for field, title, form in TIPS]
    words = {"fontSize": 10, "fontStyle": "italic", "align": "left", "dx": 4}
    # of fewer than six core queries that differ there is no interval
    tested, untested = (chart.transform_filter(f"{no}isValid(datum._low)") for no in ("", "!"))
    across = alt.X("_low:Q", title=None, axis=theme.signed_axis())
    point = {"x": "_difference:Q", **theme.run_looks(model, "shape", "stroke", "fill")}
    return [
        tested.mark_rule(strokeWidth=1.5).encode(x=across, x2="_high:Q", **colour),
        *(tested.mark_tick(thickness=1.5, size=7).encode(x=f"{end}:Q", **colour) for end in ("_low", "_high")),
        tested.mark_point(size=48, strokeWidth=1.6).encode(**point, fillOpacity=filled, tooltip=["run:N", "group:N", *tips]),
        untested.mark_point(size=48, strokeWidth=1.6, fillOpacity=0).encode(**point, tooltip=["run:N", "group:N", tips[0]]),
        chart_of()
        .transform_filter("!isValid(datum.difference)")
        .mark_text(**words)
        .encode(x=alt.datum(0), text=alt.value("baseline")),
    ]


TIPS = (("_difference", "difference", "+.3f"), ("_low", "95 % from", "+.3f"), ("_high", "to", "+.3f"), ("p", "p", ".2g"))

DIFFERENCES = plot("differences", applies, draw, drawn, most=theme.ROWS)


class Core(NamedTuple):
    """A core query: the id of its query in which runs differ most, which a click opens, and run -> mean over its queries."""

    group: str
    core: str
    query: str
    values: dict[str, float]


def has_cores(model: ReportModel) -> bool:
    """Two runs with values of the leading number, query by query."""
    measure, mode = leading(model)
    keys = [Key(part.group, measure, mode) for part in model.judgments.parts]
    return len(model.runs) > 1 and all(key in facts.values for key in keys for facts in model.runs)


def cores(model: ReportModel) -> Iterator[Core]:
    """The core queries of all groups, each with the values of all runs by the leading number."""
    for part in model.judgments.parts:
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


def drawn_by_core(model: ReportModel) -> Drawn:
    """Of each run that is drawn the core queries in the order of their difference from the report's baseline."""
    baseline, rows, of_all = model.baseline or differences(model).baselines[0], [], list(cores(model))
    for facts in best_runs(model, leading(model), PANELS):
        of_run = [
            (facts.name, each.group, each.core, each.values[facts.name], each.values[baseline])
            for each in of_all
            if facts.name != baseline and {facts.name, baseline} <= each.values.keys()
        ]
        rows += sorted(of_run, key=lambda row: (row[4] - row[3], row[1:3]))
    named = ("run", "group", "core query", "value", "baseline's value", "difference")
    return Drawn(named, tuple((*row, row[3] - row[4]) for row in rows))


def draw_by_core(model: ReportModel) -> alt.TopLevelMixin:
    """A panel a run, a bar a core query, the best difference first."""
    column = leading(model)
    called = theme.run_labels(model)
    panels = [facts.name for facts in best_runs(model, column, PANELS)]
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
    return _from_baseline(_bars(model, len(rows)), model, [called[name] for name in panels]).facet(
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
        usermeta={theme.SIGNALS: {BASELINE: called[first]}},
    )


def _bars(model: ReportModel, bars: int) -> alt.LayerChart:
    """Bars side by side, and how many there are of each kind."""
    tips = [alt.Tooltip(f"{field}:Q", title=name, format=form) for field, name, form in CORE_TIPS]
    columns = (
        chart_of()
        .mark_bar(stroke=None)
        .encode(
            x=alt.X("place:Q", title=None, axis=None, scale=alt.Scale(nice=False, domain=[0, bars])),
            x2="next:Q",
            y=alt.Y("difference:Q", title=None, axis=theme.signed_axis(grid=True)),
            y2=alt.datum(0),
            **theme.run_looks(model, "color"),
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
    zero = chart_of().mark_rule(color=theme.GREY, strokeWidth=1).encode(y=alt.datum(0))
    return alt.layer(columns, zero, counted, width=WIDTH, height=HEIGHT)


def _from_baseline(chart: alt.LayerChart, model: ReportModel, names: list[str]) -> alt.LayerChart:
    """The chart over a row a run and core query, made of a row a core query with a field a run."""
    column = leading(model)
    by_query = alt.SortField("query")
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
        .transform_window(next="row_number()", groupby=["run"], sort=[alt.SortField("difference", order=order), by_query])
        .transform_calculate(place="datum.next - 1")
    )


CORE_TIPS = (("value", "value", ".3f"), ("base", "baseline", ".3f"), ("difference", "difference", "+.3f"))

WIN_TIE_LOSS = plot("win-tie-loss", has_cores, draw_by_core, drawn_by_core, most=PANELS)
