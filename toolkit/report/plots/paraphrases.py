"""The same instruction in other words: a system's score against its worst (InstructIR, figure 3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from toolkit.report.model import Gathered, RunFacts
from toolkit.report.plots.intervals import SAMPLES, SEED, bounds, means_of, whiskers
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import legend, look, name_rows, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Original instructions against their worst paraphrase"
ORIGINAL, WORST = (
    ("nDCG@10", ""),
    ("Robustness@10", ""),
)  # the worst of a core query's instances is what Robustness is the mean of
KINDS = ("original", "worst paraphrase")


def reworded(gathered: Gathered) -> Gathered | None:
    """The benchmark of the same report whose queries are paraphrases of this one's; its core queries are our instructions."""
    own = set(gathered.judgments.query_ids)
    for other in gathered.beside:
        cores = {core for part in other.judgments.parts for core in (part.cores or {}).values()}
        if cores and cores <= own and own.isdisjoint(other.judgments.query_ids):
            return other
    return None


def pairs(gathered: Gathered) -> Iterator[tuple[RunFacts, RunFacts]]:
    """Each run with that of the paraphrases which has its name, or else is the only one of the same system."""
    others = reworded(gathered)
    for facts in gathered.runs if others else ():
        named = [other for other in others.runs if other.name == facts.name]
        alike = [other for other in others.runs if other.called == facts.called]
        alone = [its for its in gathered.runs if its.called == facts.called] == [facts]
        if named or (alone and len(alike) == 1):
            yield facts, (named or alike)[0]


def applies(gathered: Gathered) -> bool:
    """A run of instructions and one of their paraphrases, with the measures that compare them."""
    return bool(drawn(gathered).rows)


def drawn(gathered: Gathered) -> Drawn:
    """The mean of each run over the instructions that have paraphrases, and that of their worst paraphrases, with intervals."""
    rows = []
    for facts, other in pairs(gathered):
        own, worst = _values(facts, ORIGINAL), _values(other, WORST)
        shared = [query_id for query_id in worst if query_id in own]
        for kind, its in zip(KINDS, (own, worst), strict=True):
            if shared:
                values = np.array([its[query_id] for query_id in shared])
                means = means_of(values, np.arange(len(values)), np.random.default_rng(SEED))
                rows.append((facts.name, kind, float(values.mean()), *bounds(means), len(shared)))
    return Drawn(("run", "instructions", "nDCG@10", "low", "high", "number"), tuple(rows))


def _values(facts: RunFacts, column: tuple[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, its in facts.values.items():
        if key[1:] == column:
            found |= zip(its.query_ids, its.values.tolist(), strict=True)
    return found


def draw(gathered: Gathered) -> Figure:
    """Two bars a run."""
    rows = drawn(gathered).rows
    names = list(dict.fromkeys(row[0] for row in rows))
    figure, axes = panels(gathered, TITLE, 1, 1, (6.0, 1.3 + 0.5 * len(names)))
    (axis,) = axes.flat
    bars = {}
    for number, (kind, hatch) in enumerate(zip(KINDS, ("", "///"), strict=True)):
        its = [row for row in rows if row[1] == kind]
        places = [names.index(row[0]) + (number - 0.5) * 0.38 for row in its]
        values, low, high = np.array([row[2:5] for row in its]).T
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
