"""Quality against what it takes: the size of a model, seconds, tokens, memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from toolkit.report.model import ReportModel
from toolkit.report.plots.columns import Column
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import axis_name, looks, panels, run_legend
from toolkit.report.report_tables import headline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Quality against cost"
UNITS = {
    "parameters": "parameters of the checkpoint",
    "seconds": "wall time (seconds)",
    "tokens": "tokens of prompts and answers",
    "memory": "peak memory (bytes)",
}
ACROSS = 3  # panels side by side


def applies(model: ReportModel) -> bool:
    """Two runs whose costs are known and differ."""
    return len({row[3] for row in drawn(model).rows}) > 1


def drawn(model: ReportModel) -> Drawn:
    """The cost and the value of each run of which both are known; a cost of 0 has no place on a logarithmic axis."""
    rows = (
        (*column, facts.name, float(cost), value)
        for column in headline(model)
        for facts in model.runs
        if (cost := getattr(facts.cost, model.x))
        and (value := facts.value(*column, model.overall)) is not None
        and not math.isnan(value)
    )
    return Drawn(("measure", "mode", "run", model.x, "value"), tuple(rows))


def draw(model: ReportModel) -> Figure:
    """A panel a measure and mode, a point a run."""
    from matplotlib.ticker import NullFormatter

    rows = drawn(model).rows
    columns: list[Column] = list(dict.fromkeys(row[:2] for row in rows))
    across = min(ACROSS, len(columns))
    figure, axes = panels(model, TITLE, -(-len(columns) // across), across, (3.4, 2.8))
    drawing = looks(model)
    for each, column in zip(axes.flat, columns, strict=False):
        for _, _, name, cost, value in (row for row in rows if row[:2] == column):
            each.plot([cost], [value], **drawing[name].points)
        each.set_xscale("log")
        each.xaxis.set_major_formatter(lambda cost, _: short(cost))
        each.xaxis.set_minor_formatter(NullFormatter())
        each.set_xlabel(UNITS[model.x], fontsize="small")
        each.set_ylabel(axis_name(*column), fontsize="small")
    for unused in axes.flat[len(columns) :]:
        unused.set_visible(False)
    run_legend(figure, model, "points", {row[2] for row in rows})
    return figure


def short(number: float) -> str:
    """`7e9` -> `7B`: as sizes of models are written."""
    for factor, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:g}{letter}"
    return f"{number:g}"


SIZE = Plot(
    "size",
    TITLE,
    "The value of each run (fraction) against what the record or the registry say it takes, on a logarithmic axis: "
    "parameters of the checkpoint that had the last word, or, where --x asks for them, wall time of the command in seconds, "
    "tokens, or peak memory in bytes. Runs of which it is not known are left out.",
    applies,
    draw,
    drawn,
)
