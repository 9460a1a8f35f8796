"""What following instructions costs: relevance against following, with what ignoring instructions and chance would score."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolkit.core.modes import BASE
from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.comparison.references import BLIND, RANDOM
from toolkit.evaluation.scores.scoring import INTERVAL
from toolkit.reporting.figures.charts import Drawn, chart_of, plot
from toolkit.reporting.figures.columns import Column, best_runs, following, relevance, shown_column
from toolkit.reporting.figures.kinds.placement import WIDTH, beside_points, label_opacity, line_opacity
from toolkit.reporting.figures.theme import GREY, axis_name, run_labels, run_looks
from toolkit.reporting.report.model import Key, ReportModel

LABELLED = 12  # runs with a label that shows at once
# pixels of the panel, for which labels have places; the second where a page or a paper has no room for the first
LAYOUTS = {"wide": (600, 360), "narrow": (270, 360)}
NARROW = 430
FIELDS = ("following", "relevance", "relevance in base mode", BLIND, "random, low", "random, high")
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
        if x is not None and y is not None:
            without = facts.value(*base, model.overall) if base else None
            others = (facts.reference(name, Key(model.overall, *following(model))) for name in (BLIND, *BOUNDS))
            yield facts.name, x, y, without, *others


def front(points: Sequence[tuple[str, float, float]]) -> list[str]:
    """The runs (name, x, y) that no other is at least as good as in both and better in one, from left to right."""
    best = [(name, x, y) for name, x, y in points if not any(u >= x and v >= y and (u, v) != (x, y) for _, u, v in points)]
    return [name for name, *_ in sorted(best, key=lambda row: (row[1], -row[2]))]


def drawn(model: ReportModel) -> Drawn:
    """Both numbers of each run, its relevance without instruction, its references, and whether no run is better in both."""
    rows = list(_values(model))
    best = front([row[:3] for row in rows])
    blank = [tuple("" if value is None else value for value in row) for row in rows]
    return Drawn(("run", *FIELDS, "front"), tuple((*row, "yes" if row[0] in best else "no") for row in blank))


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A point a run with its name, on the interval that random orders of its own lists score."""
    called = run_labels(model)
    labelled = {facts.name for facts in best_runs(model, following(model), LABELLED)}
    found = sorted(_values(model), key=lambda row: (row[0] not in labelled, -row[1]))
    ends = [
        _ends([value for row in found for value in (row[1], *row[4:]) if value is not None]),
        _ends([value for row in found for value in row[2:4] if value is not None]),
    ]
    rows = [
        {
            "run": called[row[0]],
            **{key: round(value, 4) for key, value in zip(FIELDS, row[1:], strict=True) if value is not None},
            "_shown": row[0] in labelled,
        }
        for row in found
    ]
    blind = sorted({row["blind"] for row in rows if "blind" in row})
    marks: list[dict[str, Any]] = []  # what stands beside the reference lines
    if len(blind) == 1:
        marks.append({"_x": blind[0], "_y": ends[1][1], "_text": "blind: ignores instructions", "_line": True})
    if bands := [row for row in rows if "random, low" in row]:
        lowest = min(bands, key=lambda row: row["relevance"])
        text = "random orders of the same lists"
        marks.append({"_x": lowest["random, low"], "_y": lowest["relevance"], "_text": text, "_line": False})
    best = [called[name] for name in front([row[:3] for row in found])]
    steps = [{f"_{key}": row[key] for key in FIELDS[:2]} for name in best for row in rows if row["run"] == name]
    for name in LAYOUTS:
        _place(name, rows, marks, steps, ends)
    return _layers(model, rows, marks, steps, ends)


def _ends(values: Sequence[float]) -> list[float]:
    """Those of an axis, which are apart also where all values are nearly equal."""
    low, high = min(values), max(values)
    margin = max(MARGIN * (high - low), 0.005) if high > low else 0.05
    return [round(low - margin, 3), round(high + margin, 3)]


def _place(
    layout: str, rows: list[dict[str, Any]], marks: Sequence[Mapping], steps: Sequence[Mapping], ends: Sequence[Sequence[float]]
) -> None:
    """A place for the label of each row in a layout, in the units of the axes."""
    (left, right), (bottom, top) = ends
    size = LAYOUTS[layout]
    scale = (right - left) / size[0], (top - bottom) / size[1]

    def pixels(x: float, y: float) -> tuple[float, float]:
        return (x - left) / scale[0], (top - y) / scale[1]

    others = []
    for mark in marks:
        x, y = pixels(mark["_x"], mark["_y"])
        wide = WIDTH * len(mark["_text"])
        others += [(x - 2, 0, x + 2, size[1]), (x, 0, x + wide, 14)] if mark["_line"] else [(x, y + 4, x + wide, y + 20)]
    for row in rows:  # the tails that show what instructions cost
        x, y = pixels(row["following"], row["relevance"])
        _, other = pixels(row["following"], row.get("relevance in base mode", row["relevance"]))
        others.append((x - 3, min(y, other), x + 3, max(y, other)))
    for (x, y), (next_x, next_y) in itertools.pairwise([pixels(step["_following"], step["_relevance"]) for step in steps]):
        others += [(x - 2, y, x + 2, next_y), (x, next_y - 2, next_x, next_y + 2)]
    points = [pixels(row["following"], row["relevance"]) for row in rows]
    for row, label in zip(rows, beside_points(points, [row["run"] for row in rows], size, others), strict=True):
        row[f"_{layout} x"] = round(row["following"] + label.dx * scale[0], 4)
        row[f"_{layout} y"] = round(row["relevance"] - label.dy * scale[1], 4)
        row[f"_{layout}"] = label.align


def _layers(
    model: ReportModel, rows: list[dict], marks: list[dict], steps: list[dict], ends: Sequence[Sequence[float]]
) -> alt.LayerChart:
    scales = [alt.Scale(domain=end, nice=False) for end in ends]
    x = alt.X("following:Q", title=f"{axis_name(*following(model))} \u2192", scale=scales[0], axis=alt.Axis(tickCount=8))
    y = alt.Y("relevance:Q", title=f"{axis_name(*relevance(model))} \u2192", scale=scales[1], axis=alt.Axis(tickCount=6))
    looks = run_looks(model, "color", "shape")
    points = chart_of(rows).encode(x=x, y=y, opacity=line_opacity())
    base, said = "relevance in base mode:Q", chart_of(marks).encode(x="_x:Q")
    words = {"align": "left", "fontSize": 11, "fontStyle": "italic"}
    return alt.layer(
        points.mark_rule(strokeWidth=7, color=GREY).encode(x="random, low:Q", x2="random, high:Q", opacity=alt.value(0.22)),
        said.transform_filter("datum._line").mark_rule(strokeDash=[2, 2], color=GREY),
        said.transform_filter("datum._line").mark_text(dx=5, dy=7, **words).encode(y="_y:Q", text="_text:N"),
        said.transform_filter("!datum._line").mark_text(dx=2, dy=12, **words).encode(y="_y:Q", text="_text:N"),
        chart_of(steps)
        .mark_line(interpolate="step-before", strokeDash=[6, 3], strokeWidth=1, color=GREY)
        .encode(x="_following:Q", y="_relevance:Q"),
        points.mark_rule(strokeWidth=1.2).encode(y=base, y2="relevance:Q", color=looks["color"]),
        points.mark_tick(thickness=1.6, size=9, orient="horizontal").encode(y=base, color=looks["color"]),
        points.mark_point(filled=True, size=85).encode(**looks, tooltip=_tooltip(model, rows)),
        *_labels(rows),
        width=LAYOUTS["wide"][0],
        height=LAYOUTS["wide"][1],
    )


def _labels(rows: list[dict]) -> Iterator[alt.Chart]:
    """The labels of each layout, one chart an alignment; there where the figure is as wide as the layout is for."""
    for layout, fits in (("wide", f"width >= {NARROW}"), ("narrow", f"width < {NARROW}")):
        for align in sorted({row[f"_{layout}"] for row in rows}):
            chart = chart_of(rows).transform_filter(f"datum._{layout} == '{align}' && {fits}")
            text = chart.mark_text(align=align, fontSize=11)
            yield text.encode(x=f"_{layout} x:Q", y=f"_{layout} y:Q", text="run:N", opacity=label_opacity())


def _tooltip(model: ReportModel, rows: Sequence[Mapping[str, Any]]) -> list:
    base = base_column(model)
    columns = (following(model), relevance(model), *([base] if base else []))
    named = {name: name for name in FIELDS} | dict(zip(FIELDS, map(shown_column, columns), strict=False))
    fields = [name for name in named if all(name in row for row in rows)]
    return ["run:N", *(alt.Tooltip(f"{name}:Q", title=named[name], format=".3f") for name in fields)]


TRADEOFF = plot("tradeoff", applies, draw, drawn, labelled=LABELLED)
