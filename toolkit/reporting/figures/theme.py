"""What all figures share: one colour, shape and dash a run over the report, names that stay text, one look."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from toolkit import registry
from toolkit.core.scores import shown_measure
from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.scores.scoring import AVERAGE
from toolkit.metrics.evaluation import PAIRED
from toolkit.reporting.figures.charts import chart_of, data, specification
from toolkit.reporting.figures.columns import best_runs, own_groups
from toolkit.reporting.report.model import ReportModel, leading

TEXT = 11  # pixels of most text; none is smaller than SMALL
SMALL = 10
FADED = 0.12
MOST = 12  # runs whose lines or points fit into one panel
# the page's script sets it to the runs that are chosen in any figure, legend or table; empty: all
FOCUS = "focus"
SIGNALS = "signals"  # of a chart's metadata, as they are at first: altair's parameters need a name for every view
CHOSEN = f"length({FOCUS}) == 0 || indexof({FOCUS}, datum.run) >= 0"
LEADS = "_leads"  # of rows of the runs that are drawn where all would be too many; copied numbers leave fields of `_` out
# what the page's script does to fit a chart into a narrower window: see `toolkit.reporting.figures.drawing`
NAMES_ONCE = {"names": "first column"}
# the page's colour of text, black in files
INK = "currentColor"
# Each has a contrast of 3 to white and to a dark page; any two differ in simulated protanopia and deuteranopia, and in grey as
# far as both pages allow (a test computes it): shape and dash tell apart what colour does not
COLOURS = (INK, "#028DED", "#986D2C", "#229062", "#9351A4", "#7E9F00", "#4B6576")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
DASHES = ((1, 0), (6, 3), (8, 3, 2, 3), (2, 2))
GREY = "#808080"
PALE, NEAR_BLACK = "#ffffff", "#010101"  # on coloured ground, which no page turns
WIDEST = 40  # characters of a name; the middle of a longer one is left out
ROWS = 20  # runs of panels with a row a run
ROW_WIDTH, STEP = 640, 17  # pixels of all panels of a row without what is between them, and of a run
NARROW, WIDE = 92, 380  # of a panel


def themed(chart: alt.TopLevelMixin, description: str = "") -> dict[str, Any]:
    """The Vega-Lite specification of a chart, as page and files draw it: without a title, which stands beside the figure.

    description  what is read to those who do not see it

    Grounds are transparent, and text and lines have the colour of the text around them.
    """
    spec = specification(chart)
    own = spec.get("usermeta", {}).get(SIGNALS, {})
    spec["params"] = [{"name": name, "value": value} for name, value in {FOCUS: [], **own}.items()] + spec.get("params", [])
    return spec | {"background": "transparent", "description": description, "config": configuration()}


def configuration() -> dict[str, Any]:
    """Vega-Lite's configuration of every figure."""
    words = {"labelColor": INK, "titleColor": INK, "labelFontSize": TEXT, "titleFontSize": TEXT}
    lines = {"domainColor": "#888", "tickColor": "#888", "gridColor": "#8883"}
    return {
        "font": "Helvetica, Arial, sans-serif",
        "view": {"stroke": None},
        "axis": {**words, **lines, "labelLimit": 260, "titleFontWeight": "normal", "titleLimit": 400, "labelFlush": False},
        "header": {**words, "labelFontWeight": "bold", "title": None},
        "title": {
            "color": INK,
            "subtitleColor": INK,
            "fontSize": TEXT,
            "fontWeight": "normal",
            "anchor": "start",
            "offset": 6,
            "limit": 400,
        },
        "legend": {**words, "labelLimit": 260, "orient": "bottom", "columns": 4, "title": None, "titleFontWeight": "normal"},
        "text": {"color": INK, "fontSize": TEXT},
        "rule": {"color": INK},
        "concat": {"spacing": 24},
    }


def run_labels(model: ReportModel) -> dict[str, str]:
    """Run -> what figures call it."""
    return labels(facts.name for facts in model.runs)


def run_names(model: ReportModel) -> list[str]:
    """What figures call the runs, in the report's order: the domain of every scale over runs."""
    return list(run_labels(model).values())


def drawn_runs(model: ReportModel) -> list[str]:
    """The runs that are drawn where all would be too many: the best by the leading number, in the report's order."""
    best = {facts.name for facts in best_runs(model, leading(model), MOST)}
    few = len(model.runs) > MOST
    return [facts.name for facts in model.runs if facts.name in best or not few]


def only_leading(chart: alt.Chart, model: ReportModel) -> alt.Chart:
    """A chart of lines or points, whose rows `lead` has marked: the chosen runs alone, or the leading ones."""
    if len(model.runs) <= MOST:
        return chart
    return chart.transform_filter(f"length({FOCUS}) ? indexof({FOCUS}, datum.run) >= 0 : datum.{LEADS}")


def lead(rows: Iterable[dict[str, Any]], model: ReportModel) -> list[dict[str, Any]]:
    """Rows of a chart with runs as figures call them; of more than MOST runs the leading ones' are marked."""
    shown, first = run_labels(model), set(drawn_runs(model))
    marked = len(model.runs) > MOST
    return [{**row, "run": shown[row["run"]], **({LEADS: 1} if marked and row["run"] in first else {})} for row in rows]


def with_legend_clicks(first: alt.Chart) -> alt.Chart:
    """The first layer whose legend is shown: Vega takes clicks on a legend's entries where a selection is bound to it."""
    return first.add_params(alt.selection_point("legend", fields=["run"], bind="legend")).properties(name="legend_of")


def run_looks(model: ReportModel, *channels: str, legend: bool = False) -> dict[str, Any]:
    """Channel -> how it says of which run a mark is: any 28 in a row differ in colour or dash, any 56 in colour or shape.

    channels  `color`, `fill` or `stroke`, which is the same in every figure of the report; `shape`; `strokeDash`
    legend    whether the channel has one
    """
    looks = {"shape": (alt.Shape, SHAPES), "strokeDash": (alt.StrokeDash, DASHES)}
    called, shown, made = run_labels(model), None, {}
    if legend:  # in which a click chooses a run; the leading ones where all would be too many
        shown = alt.Legend(values=[called[name] for name in drawn_runs(model)], symbolLimit=0, symbolStrokeWidth=0)
    names = list(called.values())
    for channel in channels:
        kind, values = looks.get(channel, (alt.Color, COLOURS))
        scale = alt.Scale(domain=names, range=[values[number % len(values)] for number in range(len(names))])
        made[channel] = kind("run:N", scale=scale, legend=shown)
    return made


def lines_and_points(line: alt.Chart, point: alt.Chart, model: ReportModel, tooltip: list[str], **more: Any) -> list[alt.Chart]:
    """Layers of a line a run, and of points on it that tell what they are; more  channels of the lines alone"""
    return [
        line.encode(**run_looks(model, "color", "strokeDash", legend=True), **more),
        point.encode(**run_looks(model, "color", "shape", legend=True), tooltip=tooltip),
    ]


def run_rows(model: ReportModel, names: Sequence[str] | None = None) -> alt.Y:
    """A row a run, the first on top, with its name beside it; names  as figures call them, where not all runs have one."""
    return alt.Y("run:N", title=None, scale=alt.Scale(domain=list(names or run_names(model))), axis=alt.Axis(grid=False))


def row_height(model: ReportModel) -> int:
    """Pixels of a row a run: fewer where there are many."""
    return 20 if len(model.runs) <= 40 else 13


def focused(whole: float = 1.0) -> Any:
    """The opacity of marks of a run: whole where it is chosen, or nothing is."""
    return alt.when(CHOSEN).then(alt.value(whole)).otherwise(alt.value(FADED * whole))


def labels(names: Iterable[str]) -> dict[str, str]:
    """Name -> what is written for it: one line that XML can hold; long ones without their middle, if they still differ."""
    whole = {name: "".join(sign if sign.isprintable() else "\ufffd" for sign in name) for name in names}
    end = (WIDEST - 1) // 2
    short = {name: text if len(text) <= WIDEST else f"{text[:end]}\u2026{text[-end:]}" for name, text in whole.items()}
    times = Counter(short.values())
    return {name: text if times[text] == 1 else whole[name] for name, text in short.items()}


def axis_name(measure: str, mode: str = PAIRED) -> str:
    """What stands at an axis: measure, mode and unit."""
    return f"{' '.join(filter(None, (shown_measure(measure), mode.removeprefix(PAIRED))))} ({registry.measure(measure).unit})"


def cell(value: float, digits: int = 2) -> str:
    """A number in a figure, with a true minus and never minus zero."""
    return f"{value:z.{digits}f}".replace("-", "\u2212")


def ticks(values: Sequence[float]) -> list[float]:
    """Two to seven round numbers from below the smallest value, or 0, to above the largest."""
    low, high = min([0.0, *values]), max([0.0, *values])
    rough = (high - low or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.floor(low / step)
    return [round(number * step, 12) for number in range(first, max(math.ceil(high / step), first + 1) + 1)]


def runs_shown(model: ReportModel) -> dict[str, str]:
    """Name -> what the figure calls it, of the runs that lead, best first."""
    shown = run_labels(model)
    return {facts.name: shown[facts.name] for facts in best_runs(model, leading(model), ROWS)}


def groups_shown(model: ReportModel) -> list[str]:
    """The average first."""
    return [*([AVERAGE] if AVERAGE in model.groups else []), *own_groups(model)]


def panel_row(
    model: ReportModel, layers: Sequence[alt.Chart], rows: Sequence[dict[str, Any]], names: Sequence[str], title: Any
) -> alt.FacetChart:
    """Panels side by side, on one scale, with a line at 0.

    layers   without data, with a channel `x`; the vertical axis, which has the runs, is added
    rows     with the fields `run` and `group`, as `named_groups` has it
    title    of the row: text, or an expression of signals
    """
    groups = list(named_groups(model).values())
    down = run_rows(model, names)
    width = min(max(NARROW, ROW_WIDTH // len(groups)), WIDE)
    zero = chart_of().mark_rule(color=GREY, strokeWidth=1).encode(x=alt.datum(0))
    header = alt.Header(labelPadding=2) if len(groups) > 1 else alt.Header(labels=False)
    return alt.layer(zero, *(layer.encode(y=down) for layer in layers), width=width, height=alt.Step(STEP)).facet(
        data=data(rows),
        facet=alt.Facet("group:N", title=None, sort=groups, header=header),
        columns=len(groups),  # a page puts fewer side by side where it is narrow
        spacing=alt.RowColnumber(row=28, column=12),
        bounds="flush",
        title=alt.Title(title, fontSize=12, fontWeight="bold", offset=8, frame="bounds"),
    )


def named_groups(model: ReportModel) -> dict[str, str]:
    """Group -> what the figure calls it, in the order of the panels."""
    return labels(groups_shown(model))


def signed_axis(**options: Any) -> alt.Axis:
    """Numbers with their sign, and 0 without."""
    return alt.Axis(tickCount=4, labelExpr="datum.value ? format(datum.value, '+.2~f') : '0'", **options)
