"""How much better each run is than the baseline, group by group, and whether that may be chance."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from toolkit import registry
from toolkit.report.differences import differences
from toolkit.report.model import Key, ReportModel
from toolkit.report.plots.columns import argued, shown_column
from toolkit.report.plots.group_panels import MOST, groups_shown, panel_row, runs_shown, signed_axis
from toolkit.report.plots.plot import Drawn, Plot
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
    baselines, shown, groups = list(differences(model).baselines), runs_shown(model), groups_shown(model)
    names, of_run = list(shown.values()), list(shown)
    numbers = drawn(model).rows
    lines = []
    for column in argued(model):
        rows = [
            {
                "b": baselines.index(baseline),
                "r": of_run.index(name),
                "g": groups.index(group),
                **{key: round(value, 4) for key, value in zip("dlh", row, strict=False)},
                **{key: float(f"{p:.3g}") for key, p in zip(("p", "q"), row[3:], strict=True) if not math.isnan(p)},
            }
            for measure, mode, baseline, name, group, *row in numbers
            if (measure, mode) == column
        ]
        # the line of the baseline itself says so, in the first panel
        rows += [{"b": place, "r": of_run.index(name), "g": 0} for place, name in enumerate(baselines) if name in shown]
        lines.append(_row(alt, model, rows, names, column, [called[name] for name in baselines]))
    first = called[model.baseline] if model.baseline in baselines else called[baselines[0]]
    return alt.vconcat(*lines, spacing=18, usermeta=signals({BASELINE: first}))


def _row(alt: Any, model: ReportModel, rows: list, names: list[str], column: tuple[str, str], baselines: list[str]) -> Any:
    colour = run_colour(model, legend=None)
    arrow = "lower is better" if registry.measure(column[0]).direction == "lower" else "to the right is better"
    chart = alt.Chart().encode(opacity=focused())
    across = alt.X("l:Q", title=None, axis=signed_axis())
    told = alt.when(f"datum.q < {SIGNIFICANT}").then(alt.value(1)).otherwise(alt.value(0))
    caps = [chart.mark_tick(thickness=1.5, size=7).encode(x=f"{end}:Q", color=colour) for end in "lh"]
    said = ["run:N", "group:N", *(_tip(alt, *each) for each in TIPS)]
    layers = [
        chart.mark_rule(strokeWidth=1.5).encode(x=across, x2="h:Q", color=colour),
        *caps,
        chart.mark_point(size=48, strokeWidth=1.6).encode(
            x="d:Q", shape=run_shape(model, legend=None), stroke=colour, fill=colour, fillOpacity=told, tooltip=said
        ),
        alt.Chart()
        .transform_filter("!isValid(datum.d)")
        .mark_text(fontSize=10, fontStyle="italic", align="left", dx=4, color="#888")
        .encode(x=alt.datum(0), text=alt.value("baseline")),
    ]
    text = alt.ExprRef(f"{json.dumps(shown_column(column))} + ': difference from ' + {BASELINE} + ' ({arrow})'")
    return panel_row(model, layers, rows, names, text, [f"{json.dumps(baselines)}[datum.b] == {BASELINE}"])


TIPS = (
    ("d", "difference", "+.3f"),
    ("l", "95 % from", "+.3f"),
    ("h", "to", "+.3f"),
    ("p", "p", ".3g"),
    ("q", "p (Holm)", ".3g"),
)


def _tip(alt: Any, field: str, title: str, form: str) -> Any:
    return alt.Tooltip(f"{field}:Q", title=title, format=form)


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
