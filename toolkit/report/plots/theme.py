"""How figures look: one colour, point and dash a run over the whole report, and one configuration for page and paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolkit.report.model import ReportModel
from toolkit.report.plots.style import COLOURS, labels

if TYPE_CHECKING:
    import altair as alt

SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "stroke")
DASHES = ((1, 0), (6, 3), (6, 2, 1, 2), (1, 2))
FADED = 0.12
# the page's script sets it to the runs that are chosen in any figure, legend or table; empty: all
FOCUS = "focus"
SIGNALS = "signals"
CHOSEN = f"length({FOCUS}) == 0 || indexof({FOCUS}, datum.run) >= 0"


def themed(chart: alt.TopLevelMixin, ink: str = "currentColor") -> dict[str, Any]:
    """The Vega-Lite specification of a chart, as page and files draw it: without a title, which stands beside the figure.

    ink  of text and lines: the page's colour of text, which a dark page turns; black in files. Grounds are transparent.
    """
    spec = chart.to_dict(validate=False)
    own = spec.get("usermeta", {}).get(SIGNALS, {})
    spec["params"] = [{"name": name, "value": value} for name, value in {FOCUS: [], **own}.items()] + spec.get("params", [])
    return spec | {"background": "transparent", "config": configuration(ink)}


def signals(values: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a chart with these signals, as they are at first: altair's parameters need a name for every view."""
    return {SIGNALS: dict(values)}


def configuration(ink: str) -> dict[str, Any]:
    """Vega-Lite's configuration of every figure."""
    words = {"labelColor": ink, "titleColor": ink}
    lines = {"domainColor": "#888", "tickColor": "#888", "gridColor": "#8883"}
    return {
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {**words, **lines, "labelLimit": 260, "titleFontWeight": "normal"},
        "header": {**words, "labelFontWeight": "bold"},
        "legend": {**words, "labelLimit": 260, "orient": "bottom", "columns": 4},
        "text": {"color": ink},
        "rule": {"color": ink},
    }


def run_names(model: ReportModel) -> list[str]:
    """What figures call the runs, in the report's order: the domain of every scale over runs."""
    shown = labels(facts.name for facts in model.runs)
    return [shown[facts.name] for facts in model.runs]


def run_colour(model: ReportModel, field: str = "run:N", **options: Any) -> alt.Color:
    """A run's colour, the same in every figure of the report."""
    import altair as alt

    return alt.Color(field, scale=alt.Scale(domain=run_names(model), range=_repeated(COLOURS, model)), **options)


def run_shape(model: ReportModel, field: str = "run:N", **options: Any) -> alt.Shape:
    """A run's point: any 56 in a row differ in colour or in shape."""
    import altair as alt

    return alt.Shape(field, scale=alt.Scale(domain=run_names(model), range=_repeated(SHAPES, model)), **options)


def focused(whole: float = 1.0) -> Any:
    """The opacity of marks of a run: whole where it is chosen, or nothing is."""
    import altair as alt

    return alt.when(CHOSEN).then(alt.value(whole)).otherwise(alt.value(FADED * whole))


def _repeated(looks: Sequence[Any], model: ReportModel) -> list[Any]:
    return [looks[number % len(looks)] for number in range(len(model.runs))]
