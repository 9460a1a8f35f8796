"""How a system scores what it should find, what an instruction excludes, and everything else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.modes import Modes
from toolkit.core.runs import Run
from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.scores.scoring import own_queries
from toolkit.metrics.families.pairs import ROLES, Pairs
from toolkit.reporting.figures import theme
from toolkit.reporting.figures.charts import Drawn, chart_of, plot
from toolkit.reporting.figures.columns import followed
from toolkit.reporting.report.model import ReportModel

KINDS = GOLD, NEGATIVES, OTHERS = ("gold", "negatives", "others")
BINS = 30
KIND_COLOURS = {GOLD: "#986D2C", NEGATIVES: "#028DED", OTHERS: theme.GREY}
KIND_DASHES = {GOLD: [1, 0], NEGATIVES: [6, 3], OTHERS: [2, 2]}


class Lines(NamedTuple):
    """Lines of a run, all (n,): the mode (its place among the judgments'), the kind (its place in `KINDS`), the score."""

    modes: np.ndarray
    kinds: np.ndarray
    scores: np.ndarray


def applies(model: ReportModel) -> bool:
    """Modes, between which documents change sides."""
    return len(model.judgments.modes) > 1


def lines_of(own: Run, found: Pairs, modes: Modes) -> Lines:
    """All lines for judged queries of a group. Gold documents are relevant in the base mode and in the changed one, negatives
    in the base mode alone, whatever the mode of the line.
    """
    kinds = np.full(int(own.lengths.sum()), KINDS.index(OTHERS), np.int8)  # small: a run may have millions of lines
    # where documents stand among all lines, which are in the order of queries and ranks
    starts = dict(zip(own.query_ids, (np.cumsum(own.lengths) - own.lengths).tolist(), strict=True))
    first = np.array([starts.get(name, 0) for name in found.all_ids], np.int64).reshape(len(ROLES), -1).T[found.queries]
    for kind, rows in ((GOLD, found.gold), (NEGATIVES, ~found.gold)):
        kinds[(first + found.ranks - 1)[rows[:, None] & ~found.missing]] = KINDS.index(kind)
    place = {mode: place for place, mode in enumerate(modes)}
    mode_of = np.array([place[modes.split(query_id)[1]] for query_id in own.query_ids], np.int16)
    return Lines(np.repeat(mode_of, own.lengths), kinds, own.scores_by_rank())


def drawn(model: ReportModel) -> Drawn:
    """Of each run, mode and kind the documents whose score is in each bin; the bins of a run are the same in all modes."""
    rows: list[tuple] = []
    for facts in model.runs:
        of_groups = followed(model)[facts.name]
        lines = [lines_of(own_queries(facts.run, part), found, model.judgments.modes) for part, found in of_groups]
        modes, kinds, scores = map(np.concatenate, zip(*lines, strict=True))
        edges = np.histogram_bin_edges(scores, BINS)
        for (number, mode), (code, kind) in itertools.product(enumerate(model.judgments.modes), enumerate(KINDS)):
            counts, _ = np.histogram(scores[(modes == number) & (kinds == code)], edges)
            bins = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
            total = int(counts.sum())
            rows += ((facts.name, mode, kind, low, high, count, count / total) for low, high, count in bins if total)
    return Drawn(("run", "mode", "kind", "from score", "to score", "documents", "share"), tuple(rows))


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A panel a run and mode, a stepped line a kind of documents; the panels of a run have the same axes."""
    modes = list(model.judgments.modes)
    shown, first = theme.run_labels(model), theme.drawn_runs(model)
    found: dict[str, list[tuple]] = {}
    for row in drawn(model).rows:
        found.setdefault(row[0], []).append(row)
    panels = []
    for name in first:
        across = alt.Scale(domain=[min(row[3] for row in found[name]), max(row[4] for row in found[name])], nice=False)
        up = alt.Scale(domain=[0, max(row[6] for row in found[name])])
        for mode in modes:
            rows = list(_steps(shown[name], [row for row in found[name] if row[1] == mode]))
            last = name == first[-1]
            kinds = alt.Scale(domain=list(KINDS), range=list(KIND_COLOURS.values()))
            dashes = alt.Scale(domain=list(KINDS), range=list(KIND_DASHES.values()))
            panels.append(
                chart_of(rows, title=f"{shown[name]}, {mode}", width=190, height=80)
                .mark_line(interpolate="step-after", strokeWidth=1.6)
                .encode(
                    x=alt.X("score:Q", title="score" if last else None, scale=across, axis=alt.Axis(tickCount=4, grid=False)),
                    y=alt.Y("share:Q", title="fraction of kind", scale=up, axis=alt.Axis(tickCount=3)),
                    color=alt.Color("kind:N", scale=kinds),
                    strokeDash=alt.StrokeDash("kind:N", scale=dashes),
                    tooltip=["run:N", "mode:N", "kind:N", "score:Q", "share:Q", "documents:Q"],
                )
            )
    return alt.concat(*panels, columns=len(modes), align="each")


def _steps(name: str, bins: list[tuple]) -> Iterator[dict[str, Any]]:
    """Each bin where it begins, and the end of the last; of bins that are alike the first and the last."""
    for kind in KINDS:
        own = [row for row in bins if row[2] == kind]
        for before, row, after in zip([None, *own], own, [*own[1:], None], strict=False):
            if not (before and after and before[5] == row[5] == after[5]):
                yield {"run": name, "mode": row[1], "kind": kind, "score": row[3], "share": row[6], "documents": row[5]}
        if own:
            yield {"run": name, "mode": own[-1][1], "kind": kind, "score": own[-1][4], "share": 0.0, "documents": 0}


HISTOGRAMS = plot("histograms", applies, draw, drawn, bins=BINS)
