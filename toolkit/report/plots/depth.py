"""How far down a ranking the perspectives of a question are found (BERDS)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.evaluate.scoring import own_queries
from toolkit.evaluate.subtopics import has_subtopics
from toolkit.measures.join import positions
from toolkit.report.model import ReportModel
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import looks, panels, run_legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTH = 100
RECALL, COVERED = "MRecall over depth", "Questions with all perspectives covered, over depth"


def applies(model: ReportModel) -> bool:
    """Judgments of perspectives."""
    return not model.judgments.modes and all(has_subtopics(part.qrels) for part in model.judgments.parts)


def found_by(run: Run, qrels: Qrels) -> tuple[np.ndarray, np.ndarray]:
    """(queries, DEPTH) how many of a question's perspectives the top k hold, k from 1; and (queries,) how many it has."""
    found = positions(run, qrels)
    width = len(qrels.iterations)
    named, codes = np.unique(found.queries * width + found.subtopics, return_inverse=True)
    held = (found.relevance > 0) & ~found.missing & (found.ranks <= DEPTH)
    first = np.full(len(named), DEPTH + 1)
    np.minimum.at(first, codes[held], found.ranks[held])
    at = np.zeros((len(qrels.query_ids), DEPTH + 2), np.int64)
    np.add.at(at, (named // width, first), 1)
    return at[:, 1:-1].cumsum(axis=1), at.sum(axis=1)


def curves(model: ReportModel, *, every: bool) -> Mapping[str, np.ndarray]:
    """Run -> (DEPTH,) the share of questions at each depth; over several groups the mean of theirs.

    every  whether all perspectives must be there; otherwise, as MRecall has it, k of them are enough
    """
    enough = np.full(DEPTH, np.iinfo(np.int64).max) if every else np.arange(1, DEPTH + 1)
    shares = {}
    for facts in model.runs:
        of_groups = []
        for part in model.judgments.parts:
            held, named = found_by(own_queries(facts.run, part), part.qrels)
            of_groups.append((held >= np.minimum(named[:, None], enough)).mean(axis=0))
        shares[facts.name] = np.mean(of_groups, axis=0)
    return shares


def drawn(model: ReportModel, *, every: bool) -> Drawn:
    """The share of each run at each depth."""
    rows = (
        (name, depth, share)
        for name, shares in curves(model, every=every).items()
        for depth, share in enumerate(shares.tolist(), 1)
    )
    return Drawn(("run", "depth", "share"), tuple(rows))


def draw(model: ReportModel, *, title: str, every: bool) -> Figure:
    """A line a run."""
    figure, axes = panels(model, title, 1, 1, (7.0, 4.0))
    (axis,) = axes.flat
    drawing = looks(model)
    for number, (name, shares) in enumerate(curves(model, every=every).items()):
        # marks of runs stand apart, so that equal curves show both
        axis.plot(range(1, DEPTH + 1), shares, **drawing[name].lines, markevery=(number % 10, 10))
    axis.set_xlabel("depth (documents)", fontsize="small")
    axis.set_ylabel("questions (fraction)", fontsize="small")
    axis.set_ylim(-0.03, 1.03)
    run_legend(figure, model)
    return figure


MRECALL = Plot(
    "mrecall",
    RECALL,
    f"MRecall@k for k from 1 to {DEPTH}: the fraction of questions whose top k documents hold all perspectives, or k of them "
    "where there are more than k (BERDS, after Min et al. 2021); the mean over groups where there are several.",
    applies,
    partial(draw, title=RECALL, every=False),
    partial(drawn, every=False),
)
COVERAGE = Plot(
    "coverage",
    COVERED,
    "The fraction of all judged questions whose smallest prefix that holds every perspective is at most k documents long, k "
    f"from 1 to {DEPTH}; the mean over groups where there are several. A question that is never covered counts at no depth.",
    applies,
    partial(draw, title=COVERED, every=True),
    partial(drawn, every=True),
)
