"""What following instructions costs: relevance against following, with what ignoring instructions and chance would score."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolkit.core.modes import BASE
from toolkit.evaluate.references import BLIND, RANDOM
from toolkit.evaluate.scoring import INTERVAL
from toolkit.report.model import ReportModel
from toolkit.report.plots.columns import Column, best_runs, following, relevance, shown_column
from toolkit.report.plots.placement import WIDTH, beside_points, label_opacity, line_opacity
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import GREY, axis_name
from toolkit.report.plots.theme import run_colour, run_names, run_shape

if TYPE_CHECKING:
    import altair as alt

TITLE = "Relevance against instruction following"
LABELLED = 12  # runs with a label that shows at once
SIZE = (600, 360)  # pixels
MARGIN = 0.06  # of the values' range, on each side
BOUNDS = tuple(f"{RANDOM} {bound}%" for bound in INTERVAL)


def applies(model: ReportModel) -> bool:
    """A measure of following, and runs with both numbers."""
    return following(model) is not None and any(_values(model))


def base_column(model: ReportModel) -> Column | None:
    """Relevance without the instruction, where relevance is with it."""
    measure, mode = relevance(model)
    base = next(iter(model.judgments.modes.of(BASE)), mode)
    return (measure, base) if base != mode and (measure, base) in model.columns(model.overall) else None


def _values(model: ReportModel) -> Iterator[tuple]:
    base = base_column(model)
    for facts in model.runs:
        x, y = (facts.value(*column, model.overall) for column in (following(model), relevance(model)))
        if x is not None and y is not None and not math.isnan(x) and not math.isnan(y):
            without = facts.value(*base, model.overall) if base else None
            yield facts.name, x, y, without, *(_reference(model, facts.references, name) for name in (BLIND, *BOUNDS))


def _reference(model: ReportModel, references: Any, name: str) -> float | None:
    measure, mode = following(model)
    rows = (row for row in references.get(name, ()) if (row.measure, row.mode, row.group) == (measure, mode, model.overall))
    return next((row.value for row in rows), None)


def front(points: Sequence[tuple[str, float, float]]) -> list[str]:
    """The runs (name, x, y) that no other is at least as good as in both and better in one, from left to right."""
    best = [(name, x, y) for name, x, y in points if not any(u >= x and v >= y and (u, v) != (x, y) for _, u, v in points)]
    return [name for name, *_ in sorted(best, key=lambda row: (row[1], -row[2]))]


def drawn(model: ReportModel) -> Drawn:
    """Both numbers of each run, its relevance without instruction, its references, and whether no run is better in both."""
    rows = list(_values(model))
    best = front([row[:3] for row in rows])
    named = ("run", "following", "relevance", "relevance in base mode", BLIND, "random, low", "random, high", "front")
    blank = [tuple("" if value is None else value for value in row) for row in rows]
    return Drawn(named, tuple((*row, "yes" if row[0] in best else "no") for row in blank))


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A point a run with its name, on the interval that random orders of its own lists score."""

    shown = dict(zip((facts.name for facts in model.runs), run_names(model), strict=True))
    labelled = {facts.name for facts in best_runs(model, following(model), LABELLED)}
    found = sorted(_values(model), key=lambda row: (row[0] not in labelled, -row[1]))
    xs = [value for row in found for value in (row[1], *row[4:]) if value is not None]
    ys = [value for row in found for value in row[2:4] if value is not None]
    ends = [_ends(xs), _ends(ys)]
    keys = ("x", "y", "base", "blind", "low", "high")
    rows = [
        {
            "run": shown[row[0]],
            **{key: round(value, 4) for key, value in zip(keys, row[1:], strict=True) if value is not None},
            "shown": row[0] in labelled,
        }
        for row in found
    ]
    blind = sorted({row["blind"] for row in rows if "blind" in row})
    marks = _said(rows, blind[0] if len(blind) == 1 else None, ends)
    best = [shown[name] for name in front([row[:3] for row in found])]
    steps = [{key: row[key] for key in ("x", "y")} for name in best for row in rows if row["run"] == name]
    _place(rows, marks, steps, ends)
    return _layers(model, rows, marks, steps, ends)


def _ends(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    margin = MARGIN * (high - low) or 0.05
    return [round(low - margin, 3), round(high + margin, 3)]


def _pixels(x: float, y: float, ends: Sequence[Sequence[float]]) -> tuple[float, float]:
    (left, right), (bottom, top) = ends
    return SIZE[0] * (x - left) / (right - left), SIZE[1] * (top - y) / (top - bottom)


def _said(rows: Sequence[Mapping[str, Any]], blind: float | None, ends: Sequence[Sequence[float]]) -> list[dict[str, Any]]:
    """What stands beside the reference lines."""
    marks = [{"x": blind, "y": ends[1][1], "text": "blind: ignores instructions", "line": True}] if blind is not None else []
    if bands := [row for row in rows if "low" in row]:
        lowest = min(bands, key=lambda row: row["y"])
        marks.append({"x": lowest["low"], "y": lowest["y"], "text": "random orders of the same lists", "line": False})
    return marks


def _place(
    rows: list[dict[str, Any]], marks: Sequence[Mapping], steps: Sequence[Mapping], ends: Sequence[Sequence[float]]
) -> None:
    """A place for the label of each row, in the units of the axes."""
    scale = [(high - low) / size for (low, high), size in zip(ends, SIZE, strict=True)]
    others = []
    for mark in marks:
        x, y = _pixels(mark["x"], mark["y"], ends)
        wide = WIDTH * len(mark["text"])
        others += [(x - 2, 0, x + 2, SIZE[1]), (x, 0, x + wide, 14)] if mark["line"] else [(x, y + 4, x + wide, y + 20)]
    for row in rows:  # the tails that show what instructions cost
        x, y = _pixels(row["x"], row["y"], ends)
        other = _pixels(row["x"], row["base"], ends)[1] if "base" in row else y
        others.append((x - 3, min(y, other), x + 3, max(y, other)))
    corners = [_pixels(step["x"], step["y"], ends) for step in steps]
    for (left, top), (right, bottom) in itertools.pairwise(corners):
        others += [(left - 2, top, left + 2, bottom), (left, bottom - 2, right, bottom + 2)]
    points = [_pixels(row["x"], row["y"], ends) for row in rows]
    for row, label in zip(rows, beside_points(points, [row["run"] for row in rows], SIZE, others), strict=True):
        row["label x"] = round(row["x"] + label.dx * scale[0], 4)
        row["label y"] = round(row["y"] - label.dy * scale[1], 4)
        row["align"] = label.align


def _layers(
    model: ReportModel, rows: list[dict], marks: list[dict], steps: list[dict], ends: Sequence[Sequence[float]]
) -> alt.LayerChart:
    import altair as alt

    across, down = following(model), relevance(model)
    x = alt.X(
        "x:Q", title=f"{axis_name(*across)} \u2192", scale=alt.Scale(domain=ends[0], nice=False), axis=alt.Axis(tickCount=8)
    )
    y = alt.Y(
        "y:Q", title=f"{axis_name(*down)} \u2192", scale=alt.Scale(domain=ends[1], nice=False), axis=alt.Axis(tickCount=6)
    )
    colour, look = run_colour(model, legend=None), run_shape(model, legend=None)
    points = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, opacity=line_opacity())
    labels = alt.Chart(alt.Data(values=rows)).encode(
        x="label x:Q", y="label y:Q", text="run:N", color=colour, opacity=label_opacity()
    )
    said = alt.Chart(alt.Data(values=marks)).encode(x="x:Q")
    words = {"align": "left", "fontSize": 11, "color": GREY, "fontStyle": "italic"}
    return alt.layer(
        points.mark_rule(strokeWidth=7, color=GREY).encode(x="low:Q", x2="high:Q", opacity=alt.value(0.22)),
        said.transform_filter("datum.line").mark_rule(strokeDash=[2, 2], color=GREY),
        said.transform_filter("datum.line").mark_text(dx=5, dy=7, **words).encode(y="y:Q", text="text:N"),
        said.transform_filter("!datum.line").mark_text(dx=2, dy=12, **words).encode(y="y:Q", text="text:N"),
        alt.Chart(alt.Data(values=steps))
        .mark_line(interpolate="step-before", strokeDash=[6, 3], strokeWidth=1, color=GREY)
        .encode(x="x:Q", y="y:Q"),
        points.mark_rule(strokeWidth=1.2).encode(y="base:Q", y2="y:Q", color=colour),
        points.mark_tick(thickness=1.6, size=9, orient="horizontal").encode(y="base:Q", color=colour),
        points.mark_point(filled=True, size=85).encode(color=colour, shape=look, tooltip=_tooltip(model, rows)),
        *(
            labels.transform_filter(f"datum.align == '{align}'").mark_text(align=align, fontSize=11)
            for align in dict.fromkeys(row["align"] for row in rows)
        ),
        width=SIZE[0],
        height=SIZE[1],
    )


def _tooltip(model: ReportModel, rows: Sequence[Mapping[str, Any]]) -> list:
    import altair as alt

    base = base_column(model)
    named = {
        "x": shown_column(following(model)),
        "y": shown_column(relevance(model)),
        "base": shown_column(base) if base else "",
    }
    named |= {"blind": "blind", "low": "random, 2.5 %", "high": "random, 97.5 %"}
    return [
        "run:N",
        *(alt.Tooltip(f"{key}:Q", title=name, format=".3f") for key, name in named.items() if all(key in row for row in rows)),
    ]


TRADEOFF = Plot(
    "tradeoff",
    TITLE,
    "Each run by how well it follows instructions (to the right is better) and by its relevance under them (up is better). The "
    "tail ends at its relevance without instructions: what the instructions cost. Dotted line: a run that ignores them. Grey "
    "bars: where 95 % of random orders of the run's own lists lie; a run on its bar follows no better than chance. Dashed: the "
    f"runs that no other beats in both (Pareto front). Of more than {LABELLED} runs the {LABELLED} that follow best are "
    "labelled; the others are pale until they are chosen.",
    applies,
    draw,
    drawn,
    "argument",
)
