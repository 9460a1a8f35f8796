"""How much better each run is than the baseline, group by group, and whether that may be chance."""

from __future__ import annotations

import json
import math

from toolkit import registry
from toolkit.core.scores import SIGNIFICANT
from toolkit.core.system.lazy_names import alt
from toolkit.reporting.figures.charts import chart_of
from toolkit.reporting.figures.columns import argued, shown_column
from toolkit.reporting.figures.group_panels import MOST, groups_shown, named_groups, panel_row, runs_shown, signed_axis
from toolkit.reporting.figures.plot import Drawn, plot
from toolkit.reporting.figures.theme import focused, run_labels, run_looks, signals
from toolkit.reporting.report.differences import differences
from toolkit.reporting.report.model import Key, ReportModel

BASELINE = "baseline"  # the signal
FIELDS = ("difference", "low", "high")


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
                        numbers = (change.difference, change.low, change.high, change.p)
                        rows.append((measure, mode, baseline, name, group, *numbers))
    named = ("measure", "mode", "baseline", "run", "group", "difference", "low", "high", "p")
    return Drawn(named, tuple(rows))


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A row a number, a panel a group, a dot with its interval a run."""
    called, groups = run_labels(model), named_groups(model)
    baselines, shown = list(differences(model).baselines), runs_shown(model)
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
    return alt.vconcat(*lines, spacing=18, usermeta=signals({BASELINE: first}))


def _row(model: ReportModel, rows: list[dict], names: list[str], column: tuple[str, str]) -> alt.FacetChart:
    def from_baseline(chart: alt.FacetChart) -> alt.FacetChart:
        """The rows of the chosen baseline, turned where it is the second of the two."""
        return (
            chart.transform_filter(f"datum.baseline == {BASELINE} || datum.run == {BASELINE}")
            .transform_calculate(_turned=f"datum.run == {BASELINE} && datum.baseline != datum.run")
            .transform_calculate(
                run="datum._turned ? datum.baseline : datum.run",
                _difference="datum._turned ? 0 - datum.difference : datum.difference",
                _low="datum._turned ? 0 - datum.high : datum.low",
                _high="datum._turned ? 0 - datum.low : datum.high",
            )
            .transform_filter(f"indexof({json.dumps(names)}, datum.run) >= 0")
        )

    arrow = "lower is better" if registry.measure(column[0]).direction == "lower" else "right is better"
    text = alt.ExprRef(f"{json.dumps(shown_column(column))} + ': difference from ' + {BASELINE} + ' ({arrow})'")
    return panel_row(model, _layers(model), rows, names, text, from_baseline)


def _layers(model: ReportModel) -> list[alt.Chart]:
    """Intervals with caps, so that none vanishes, and dots on them."""
    chart = chart_of().transform_filter("isValid(datum.difference)").encode(opacity=focused())
    colour = run_looks(model, "color")
    filled = alt.when(f"datum.p < {SIGNIFICANT}").then(alt.value(1)).otherwise(alt.value(0))
    tips = [alt.Tooltip(f"{field}:Q", title=title, format=form) for field, title, form in TIPS]
    words = {"fontSize": 10, "fontStyle": "italic", "align": "left", "dx": 4}
    # of fewer than six core queries that differ there is no interval
    tested, untested = (chart.transform_filter(f"{no}isValid(datum._low)") for no in ("", "!"))
    point = {"x": "_difference:Q", **run_looks(model, "shape", "stroke", "fill")}
    return [
        tested.mark_rule(strokeWidth=1.5).encode(x=alt.X("_low:Q", title=None, axis=signed_axis()), x2="_high:Q", **colour),
        *(tested.mark_tick(thickness=1.5, size=7).encode(x=f"{end}:Q", **colour) for end in ("_low", "_high")),
        tested.mark_point(size=48, strokeWidth=1.6).encode(**point, fillOpacity=filled, tooltip=["run:N", "group:N", *tips]),
        untested.mark_point(size=48, strokeWidth=1.6, fillOpacity=0).encode(**point, tooltip=["run:N", "group:N", tips[0]]),
        chart_of()
        .transform_filter("!isValid(datum.difference)")
        .mark_text(**words)
        .encode(x=alt.datum(0), text=alt.value("baseline")),
    ]


TIPS = (("_difference", "difference", "+.3f"), ("_low", "95 % from", "+.3f"), ("_high", "to", "+.3f"), ("p", "p", ".2g"))

DIFFERENCES = plot("differences", applies, draw, drawn, most=MOST)
