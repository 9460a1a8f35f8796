"""How much better each run is than the baseline, group by group, and whether that may be chance."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from toolkit import registry
from toolkit.report.differences import differences
from toolkit.report.model import Key, ReportModel
from toolkit.report.plots.columns import argued, shown_column
from toolkit.report.plots.group_panels import MOST, groups_shown, panel_row, runs_shown, signed_axis, written
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import GREY
from toolkit.report.plots.theme import focused, run_colour, run_names, run_shape, signals
from toolkit.report.significance import SIGNIFICANT

if TYPE_CHECKING:
    import altair as alt

TITLE = "Differences from the baseline, group by group"
BASELINE = "baseline"  # the signal


def applies(model: ReportModel) -> bool:
    """Two runs with a difference that can be tested."""
    return any(differences(model).changes.values()) and bool(argued(model))


def drawn(model: ReportModel) -> Drawn:
    """The difference of each run that is drawn from each possible baseline, with interval and p."""
    known = differences(model)
    rows = []
    for measure, mode in argued(model):
        for baseline in known.baselines:
            for name in runs_shown(model):
                for group in groups_shown(model):
                    if change := known.change(baseline, name, Key(group, measure, mode)):
                        numbers = (change.difference, change.low, change.high, change.p, change.holm)
                        rows.append((measure, mode, baseline, name, group, *numbers))
    named = ("measure", "mode", "baseline", "run", "group", "difference", "low", "high", "p", "p (Holm)")
    return Drawn(named, tuple(rows))


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A row a number, a panel a group, a dot with its interval a run."""
    import altair as alt

    called = dict(zip((facts.name for facts in model.runs), run_names(model), strict=True))
    baselines, shown, groups = list(differences(model).baselines), list(runs_shown(model)), groups_shown(model)
    names = list(dict.fromkeys([*shown, *baselines]))
    numbers, lines = drawn(model).rows, []
    for column in argued(model):
        rows = [
            {
                "b": names.index(baseline),
                "r": names.index(name),
                "g": groups.index(group),
                **{key: round(value, 4) for key, value in zip("dlh", row, strict=False)},
                **{key: float(f"{p:.2g}") for key, p in zip("pq", row[3:], strict=True) if not math.isnan(p)},
            }
            for measure, mode, baseline, name, group, *row in numbers
            # the other direction is the same with the other sign
            if (measure, mode) == column and not (name in baselines and baseline in shown and baseline > name)
        ]
        # the line of the baseline itself says so, in the first panel
        rows += [{"b": names.index(name), "r": names.index(name), "g": 0} for name in baselines if name in shown]
        lines.append(_row(model, rows, [called[name] for name in names], len(shown), column))
    first = called[model.baseline] if model.baseline in baselines else called[baselines[0]]
    return alt.vconcat(*lines, spacing=18, usermeta=signals({BASELINE: first}))


def _row(model: ReportModel, rows: list[dict], names: list[str], shown: int, column: tuple[str, str]) -> alt.FacetChart:
    import altair as alt

    def from_baseline(chart: alt.FacetChart) -> alt.FacetChart:
        """The rows of the chosen baseline, turned where it is the second of the two."""
        turned = f"{written(names)}[datum.r] == {BASELINE} && datum.b != datum.r"
        return (
            chart.transform_filter(f"{written(names)}[datum.b] == {BASELINE} || {written(names)}[datum.r] == {BASELINE}")
            .transform_calculate(turned=turned)
            .transform_filter(f"(datum.turned ? datum.b : datum.r) < {shown}")
            .transform_calculate(
                run=f"{written(names)}[datum.turned ? datum.b : datum.r]",
                difference="datum.turned && datum.d ? -datum.d : datum.d",
                low="datum.turned ? -datum.h : datum.l",
                high="datum.turned ? -datum.l : datum.h",
            )
        )

    arrow = "lower is better" if registry.measure(column[0]).direction == "lower" else "to the right is better"
    text = alt.ExprRef(f"{json.dumps(shown_column(column))} + ': difference from ' + {BASELINE} + ' ({arrow})'")
    return panel_row(model, _layers(model), rows, names[:shown], text, from_baseline)


def _layers(model: ReportModel) -> list[alt.Chart]:
    """Intervals with caps, so that none vanishes, and dots on them."""
    import altair as alt

    colour, chart = run_colour(model, legend=None), alt.Chart().transform_filter("isValid(datum.d)").encode(opacity=focused())
    told = alt.when(f"datum.q < {SIGNIFICANT}").then(alt.value(1)).otherwise(alt.value(0))
    tips = [alt.Tooltip(f"{field}:Q", title=title, format=form) for field, title, form in TIPS]
    words = {"fontSize": 10, "fontStyle": "italic", "align": "left", "dx": 4, "color": GREY}
    return [
        chart.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", title=None, axis=signed_axis()), x2="high:Q", color=colour),
        *(chart.mark_tick(thickness=1.5, size=7).encode(x=f"{end}:Q", color=colour) for end in ("low", "high")),
        chart.mark_point(size=48, strokeWidth=1.6).encode(
            x="difference:Q",
            shape=run_shape(model, legend=None),
            stroke=colour,
            fill=colour,
            fillOpacity=told,
            tooltip=["run:N", "group:N", *tips],
        ),
        alt.Chart().transform_filter("!isValid(datum.d)").mark_text(**words).encode(x=alt.datum(0), text=alt.value("baseline")),
    ]


TIPS = (
    ("difference", "difference", "+.3f"),
    ("low", "95 % from", "+.3f"),
    ("high", "to", "+.3f"),
    ("p", "p", ".2g"),
    ("q", "p, Holm", ".2g"),
)

DIFFERENCES = Plot(
    "differences",
    TITLE,
    "The difference of each run from the baseline (fractions) with the interval that holds 95 % of the means over resampled "
    "core queries, for the average and for each group on one scale. Filled: p below 0.05 (the tests of the main table, Holm's "
    "correction over all numbers of a group); hollow: it may be chance. Another baseline can be chosen above the main table. "
    f"Of more than {MOST} runs the {MOST} that lead are drawn.",
    applies,
    draw,
    drawn,
    "argument",
)
