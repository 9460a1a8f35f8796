"""The same instruction in other words: a system's score against its worst (InstructIR, figure 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from toolkit.report.model import ReportModel, RunFacts
from toolkit.report.plots.intervals import SAMPLES, SEED, bounds, means_of
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import legend, look, name_rows, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Original instructions against their worst paraphrase"
ORIGINAL, WORST = (
    ("nDCG@10", ""),
    ("Robustness@10", ""),
)  # the worst of a core query's instances is what Robustness is the mean of
KINDS = ("original", "worst paraphrase")


def reworded(model: ReportModel) -> ReportModel | None:
    """The benchmark of the same report whose queries are paraphrases of this one's; its core queries are our instructions."""
    own = set(model.judgments.query_ids)
    for other in model.beside:
        cores = {core for part in other.judgments.parts for core in (part.cores or {}).values()}
        if cores and cores <= own and own.isdisjoint(other.judgments.query_ids):
            return other
    return None


def pairs(model: ReportModel) -> Iterator[tuple[RunFacts, RunFacts]]:
    """Each run with that of the paraphrases which has its name, or else is the only one of the same system."""
    others = reworded(model)
    for facts in model.runs if others else ():
        named = [other for other in others.runs if other.name == facts.name]
        alike = [other for other in others.runs if other.called == facts.called]
        alone = [other for other in model.runs if other.called == facts.called] == [facts]
        if named or (alone and len(alike) == 1):
            yield facts, (named or alike)[0]


def applies(model: ReportModel) -> bool:
    """A run of instructions and one of their paraphrases, with the measures that compare them."""
    return bool(drawn(model).rows)


def drawn(model: ReportModel) -> Drawn:
    """The mean of each run over the instructions that have paraphrases, and that of their worst paraphrases, with intervals."""
    rows = []
    for facts, other in pairs(model):
        own, worst = _values(facts, ORIGINAL), _values(other, WORST)
        shared = [query_id for query_id in worst if query_id in own]
        for kind, by_query in zip(KINDS, (own, worst), strict=True):
            if shared:
                values = np.array([by_query[query_id] for query_id in shared])
                means = means_of(values, np.arange(len(values)), np.random.default_rng(SEED))
                rows.append((facts.name, kind, float(values.mean()), *bounds(means), len(shared)))
    return Drawn(("run", "instructions", "nDCG@10", "low", "high", "number"), tuple(rows))


def _values(facts: RunFacts, column: tuple[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, measured in facts.values.items():
        if key[1:] == column:
            found |= zip(measured.query_ids, measured.values.tolist(), strict=True)
    return found


def whiskers(axes: Axes, places: Sequence[float], values: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Intervals over horizontal bars."""
    # the mean itself may lie outside by a rounding error
    bars = np.maximum([values - low, high - values], 0)
    axes.errorbar(values, places, xerr=bars, fmt="none", ecolor="black", capsize=3, linewidth=1.2)


def draw(model: ReportModel) -> Figure:
    """Two bars a run."""
    rows = drawn(model).rows
    names = list(dict.fromkeys(row[0] for row in rows))
    figure, axes = panels(model, TITLE, 1, 1, (6.0, 1.3 + 0.5 * len(names)))
    (axis,) = axes.flat
    bars = {}
    for number, (kind, hatch) in enumerate(zip(KINDS, ("", "///"), strict=True)):
        of_kind = [row for row in rows if row[1] == kind]
        places = [names.index(row[0]) + (number - 0.5) * 0.38 for row in of_kind]
        values, low, high = np.array([row[2:5] for row in of_kind]).T
        style = {"edgecolor": look(number + 1).colour, "facecolor": "none", "hatch": hatch, "linewidth": 1.4}
        bars[kind] = axis.barh(places, values, height=0.36, **style)
        whiskers(axis, places, values, low, high)
    axis.set_xlabel("nDCG@10 (fraction)", fontsize="small")
    name_rows(axis, names)
    legend(figure, bars)
    return figure


PARAPHRASES = Plot(
    "paraphrases",
    TITLE,
    "The mean nDCG@10 (fraction) of the instructions that have paraphrases, and that of the worst paraphrase of each "
    f"(InstructIR, figure 3), with intervals that hold 95 % of {SAMPLES:,} resamples of the instructions. Instructions without "
    "paraphrases are left out.",
    applies,
    draw,
    drawn,
)
