"""How a system scores what it should find, what an instruction excludes, and everything else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from toolkit.core.columns import lookup, to_arrow
from toolkit.core.modes import Modes, join_mode
from toolkit.core.runs import Run
from toolkit.evaluate.judgments import Judgments, Part
from toolkit.evaluate.scoring import own_queries
from toolkit.measures.pairs import ROLES, Pairs, pairs
from toolkit.report.model import ReportModel
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import labels, legend, look, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Scores of gold documents, instruction negatives and others"
KINDS = GOLD, NEGATIVES, OTHERS = ("gold", "negatives", "others")
BINS = 30
LINES = {GOLD: "-", NEGATIVES: "--", OTHERS: ":"}


class Lines(NamedTuple):
    """Lines of a run, all (n,): the mode (its place among the judgments'), the kind (its place in `KINDS`), the score."""

    modes: np.ndarray
    kinds: np.ndarray
    scores: np.ndarray


def applies(model: ReportModel) -> bool:
    """Modes, between which documents change sides."""
    return len(model.judgments.modes) > 1


def lines_of(run: Run, judgments: Judgments) -> Lines:
    """All lines for judged queries. Gold documents are relevant in the base mode and in the changed one, negatives in the base
    mode alone, whatever the mode of the line.
    """
    parts = [_lines(own_queries(run, part), part, judgments.modes) for part in judgments.parts]
    return Lines(*map(np.concatenate, zip(*parts, strict=True)))


def _lines(own: Run, part: Part, modes: Modes) -> Lines:
    followed = pairs(own, part.qrels)
    width = len(own.doc_ids)
    lines = own.queries.astype(np.int64) * width + own.docs
    kinds = np.full(len(own), KINDS.index(OTHERS))
    for kind, rows in ((GOLD, followed.gold), (NEGATIVES, ~followed.gold)):
        kinds[np.isin(lines, _places(own, followed, rows))] = KINDS.index(kind)
    place = {mode: place for place, mode in enumerate(modes)}
    mode_of = np.array([place[modes.split(query_id)[1]] for query_id in own.query_ids], np.int64)
    return Lines(mode_of[own.queries], kinds, own.scores)


def _places(own: Run, followed: Pairs, rows: np.ndarray) -> np.ndarray:
    """The code of a query of the run times the number of documents, plus the document's, of these pairs in every mode."""
    code_of = {query_id: code for code, query_id in enumerate(own.query_ids)}
    docs = lookup(to_arrow(followed.doc_ids), own.doc_ids)
    places = []
    for role in ROLES:
        names = [
            join_mode(*both)
            for both in zip(followed.query_ids, (mode_ranks[role] for mode_ranks in followed.modes), strict=True)
        ]
        queries = np.array([code_of.get(name, -1) for name in names], np.int64)[followed.queries]
        known = rows & (queries >= 0) & (docs >= 0)
        places.append(queries[known] * len(own.doc_ids) + docs[known])
    return np.concatenate(places)


def drawn(model: ReportModel) -> Drawn:
    """Of each run, mode and kind the documents whose score is in each bin; the bins of a run are the same in all modes."""
    rows = [row for facts in model.runs for row in _counted(facts.name, lines_of(facts.run, model.judgments), model)]
    return Drawn(("run", "mode", "kind", "from score", "to score", "documents", "share"), tuple(rows))


def _counted(name: str, lines: Lines, model: ReportModel) -> Iterator[tuple]:
    edges = np.histogram_bin_edges(lines.scores, BINS)
    for number, mode in enumerate(model.judgments.modes):
        for code, kind in enumerate(KINDS):
            counts, _ = np.histogram(lines.scores[(lines.modes == number) & (lines.kinds == code)], edges)
            total = int(counts.sum())
            for low, high, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True):
                if total:
                    yield name, mode, kind, low, high, count, count / total


def draw(model: ReportModel) -> Figure:
    """A row a run, a column a mode, a line a kind of documents."""
    from matplotlib.lines import Line2D

    modes, names = list(model.judgments.modes), [facts.name for facts in model.runs]
    figure, axes = panels(model, TITLE, len(names), len(modes), (3.2, 1.7), sharex="row", sharey="row")
    styles = {kind: {"color": look(number).colour, "linestyle": LINES[kind]} for number, kind in enumerate(KINDS)}
    found: dict[tuple[str, str, str], list[tuple]] = {}
    for row in drawn(model).rows:
        found.setdefault(row[:3], []).append(row)
    for (name, mode, kind), bins in found.items():
        each = axes[names.index(name), modes.index(mode)]
        edges = [bins[0][3], *(row[4] for row in bins)]
        each.stairs([row[6] for row in bins], edges, **styles[kind], linewidth=1.4)
    shown = labels(names)
    for row, name in zip(axes, names, strict=True):
        row[0].set_ylabel("documents\n(fraction of kind)", fontsize="x-small")
        row[0].set_title(shown[name], fontsize="small", loc="left")
    for mode, each in zip(modes, axes[0], strict=True):
        each.set_title(mode, fontsize="small", loc="right")
    for each in axes[-1]:
        each.set_xlabel("score (as the system gives it)", fontsize="small")
    legend(figure, {kind: Line2D([], [], **style) for kind, style in styles.items()})
    return figure


HISTOGRAMS = Plot(
    "histograms",
    TITLE,
    f"The scores of each run by mode, as its system gives them, in {BINS} bins: gold documents (relevant in the original and "
    "in the instructed mode), instruction negatives (relevant in the original mode alone) and all others that were retrieved, "
    "each as fractions of its kind and mode. A system that follows instructions moves negatives to the left when instructed.",
    applies,
    draw,
    drawn,
)
