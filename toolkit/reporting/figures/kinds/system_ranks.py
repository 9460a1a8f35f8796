"""Which ranks each system may have, number by number."""

from __future__ import annotations

from toolkit import registry
from toolkit.core.system.lazy_names import alt
from toolkit.reporting.figures import theme
from toolkit.reporting.figures.charts import Drawn, chart_of, plot
from toolkit.reporting.figures.columns import Column, argued, over, shown_column
from toolkit.reporting.report.model import ReportModel
from toolkit.reporting.tables.rank_table import ranked

PANELS = 4
WIDTH = 660  # pixels of all panels


def applies(model: ReportModel) -> bool:
    """Systems to be ranked by something that can be tested."""
    return len(model.runs) > 1 and bool(columns(model))


def columns(model: ReportModel) -> list[Column]:
    """What the report argues with, and other measures over pairs of modes (without modes: others of the table), if tested."""
    tested = [(key.measure, key.mode) for key in ranked(model)]
    others = [column for column in tested if over(column[0]) == "paired" or not model.judgments.modes]
    return [column for column in dict.fromkeys([*argued(model), *others]) if column in tested][:PANELS]


def drawn(model: ReportModel) -> Drawn:
    """Of each run by each number its rank, the first and last that it may have, and its score."""
    rows = []
    for key, found in ranked(model).items():
        if (key.measure, key.mode) in columns(model):
            better = (lambda a, b: a < b) if registry.measure(key.measure).direction == "lower" else (lambda a, b: a > b)
            for each in found.systems:
                place = 1 + sum(better(other.score, each.score) for other in found.systems)
                rows.append((key.measure, key.mode, each.name, place, each.first, each.last, each.score))
    return Drawn(("measure", "mode", "run", "rank", "first", "last", "score"), tuple(rows))


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A panel a number, a line a run; all panels have the ranks of all runs."""
    shown = theme.runs_shown(model)
    names, rows = list(shown.values()), drawn(model).rows
    looks = theme.run_looks(model, "color", "shape")
    panels = []
    ticks = sorted({1, *range(0, len(model.runs) + 1, max(1, len(model.runs) // 6)), len(model.runs)} - {0})
    for column in columns(model):
        data = [
            {
                "measure": shown_column(column),
                "run": shown[name],
                "rank": rank,
                "low": low,
                "high": high,
                "score": round(score, 4),
            }
            for *of_column, name, rank, low, high, score in rows
            if tuple(of_column) == column and name in shown
        ]
        down = theme.run_rows(model, names)
        scale = alt.Scale(domain=[0.5, len(model.runs) + 0.5], nice=False)
        across = alt.X("low:Q", title="rank", scale=scale, axis=alt.Axis(values=ticks, format="d", grid=True))
        chart = chart_of(data).encode(y=down, opacity=theme.focused())
        panels.append(
            alt.layer(
                chart.mark_rule(strokeWidth=2).encode(x=across, x2="high:Q", color=looks["color"]),
                *(chart.mark_tick(thickness=2, size=9).encode(x=f"{end}:Q", color=looks["color"]) for end in ("low", "high")),
                chart.mark_point(filled=True, size=60).encode(
                    x="rank:Q",
                    **looks,
                    tooltip=["run:N", *(alt.Tooltip(f"{field}:Q", title=title, format=form) for field, title, form in TIPS)],
                ),
                width=min(240, WIDTH // len(columns(model))),
                height=alt.Step(theme.STEP),
                title=alt.Title(shown_column(column), fontSize=12, fontWeight="bold", anchor="start", frame="group"),
            )
        )
    return alt.concat(*panels, columns=len(panels), spacing=14, usermeta=theme.NAMES_ONCE)


TIPS = (("score", "score", ".3f"), ("rank", "rank", "d"), ("low", "may be from", "d"), ("high", "to", "d"))

SYSTEM_RANKS = plot("system-ranks", applies, draw, drawn, most=theme.ROWS)
