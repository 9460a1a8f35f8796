"""How sure the measures over modes and core queries are: bars with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from toolkit.evaluate.comparison import LEVEL
from toolkit.evaluate.judgments import Judgments
from toolkit.evaluate.scoring import is_ranked
from toolkit.measures.significance import resampled_means
from toolkit.report.model import Key, ReportModel, RunFacts
from toolkit.report.plots.columns import Column, by_query, keys, over
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import GREY, axis_name, look, name_rows, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Instruction following and robustness with 95 % intervals"
SAMPLES = 2000
SEED = 0
ACROSS = 3  # panels side by side


def columns(model: ReportModel) -> list[Column]:
    """p-MRR, WISE, SICR and Robustness in each of its modes: what is a mean over queries or core queries."""
    found = (column for column in model.columns(model.overall) if over(column[0]) in ("paired", "group"))
    return [column for column in found if is_ranked(*column, model.judgments.modes) and by_query(model, column)]


def applies(model: ReportModel) -> bool:
    """One such measure is enough."""
    return bool(columns(model))


def drawn(model: ReportModel) -> Drawn:
    """The value of each run and the bounds of its interval."""
    rows = []
    for column in columns(model):
        for facts in model.runs:
            # a group of which a run has no query has no value where these are skipped
            if selected := [key for key in keys(model, model.overall, column) if key in facts.values]:
                value = facts.value(*column, model.overall)
                rows.append((*column, facts.name, value, *interval(facts, model.judgments, selected)))
    return Drawn(("measure", "mode", "run", "value", "low", "high"), tuple(rows))


def interval(facts: RunFacts, judgments: Judgments, selected: Sequence[Key]) -> tuple[float, float]:
    """The bounds between which 95 % of the means over resampled core queries lie; of several groups, of their average."""
    generator = np.random.default_rng(SEED)
    cores = {part.group: part.cores for part in judgments.parts}
    means = []
    for key in selected:
        found = facts.values[key]
        known = cores[key.group] or {}
        # the values of a measure over core queries stand under these
        clusters = np.unique([known.get(each, each) for each in found.query_ids], return_inverse=True)[1]
        means.append(means_of(found.values, clusters, generator))
    return bounds(np.mean(means, axis=0))


def means_of(values: np.ndarray, clusters: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(SAMPLES,) means of values (n,) when whole clusters, (n,) from 0 on, are drawn with replacement."""
    return resampled_means([(values, clusters)], samples=SAMPLES, generator=generator)[:, 0]


def bounds(means: np.ndarray) -> tuple[float, float]:
    """Between which 95 % of them lie."""
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def whiskers(axes: Axes, places: Sequence[float], values: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Intervals over horizontal bars."""
    # the mean itself may lie outside by a rounding error
    bars = np.maximum([values - low, high - values], 0)
    axes.errorbar(values, places, xerr=bars, fmt="none", ecolor="black", capsize=3, linewidth=1.2)


def draw(model: ReportModel) -> Figure:
    """A panel a measure and mode, a bar a run."""
    shown = columns(model)
    names = [facts.name for facts in model.runs]
    across = min(ACROSS, len(shown))
    height = 0.9 + 0.28 * len(names)
    figure, axes = panels(model, TITLE, -(-len(shown) // across), across, (3.6, height), sharey=True)
    rows = drawn(model).rows
    for each, column in zip(axes.flat, shown, strict=False):
        own = {row[2]: row[3:] for row in rows if row[:2] == column}
        places = [names.index(name) for name in own]
        values, low, high = np.array(list(own.values())).T
        each.barh(places, values, height=0.6, color=look(1).colour, alpha=0.55)
        whiskers(each, places, values, low, high)
        each.axvline(0, color=GREY, linewidth=1)
        each.set_xlabel(axis_name(*column), fontsize="small")
        name_rows(each, names)
    for unused in axes.flat[len(shown) :]:
        unused.set_visible(False)
    return figure


INTERVALS = Plot(
    "intervals",
    TITLE,
    f"The value of each run (fraction), and the interval that holds 95 % of {SAMPLES:,} resamples: whole core queries are "
    "drawn with replacement, because instructions of one core query are no independent evidence; of an average over groups, "
    "each group is drawn anew. With fewer than some 20 core queries the intervals are too narrow. Intervals of two runs say "
    "little of their difference, as both answer the same queries: the marks of the table do.",
    applies,
    draw,
    drawn,
)
