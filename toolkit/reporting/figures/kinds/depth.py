"""How far down a ranking the perspectives of a question are found (BERDS)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.scores.scoring import own_queries
from toolkit.evaluation.scores.subtopics import has_subtopics
from toolkit.metrics.families.join import positions
from toolkit.reporting.figures.charts import chart_of
from toolkit.reporting.figures.plot import Drawn, plot
from toolkit.reporting.figures.theme import focused, lead, lines_and_points, only_leading, with_legend_clicks
from toolkit.reporting.report.model import ReportModel

DEPTH = 100
TICKS = [1, 2, 5, 10, 20, 50, 100]


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


def draw(model: ReportModel, *, every: bool) -> alt.TopLevelMixin:
    """A stepped line a run, with its points at the depths that the axis names."""
    shares = curves(model, every=every)
    rows = [
        {"run": name, "depth": depth, "share": share}
        for name, curve in shares.items()
        for depth, share in enumerate(curve.tolist(), 1)
        if depth in TICKS or share != curve[depth - 2]
    ]
    base = only_leading(chart_of(lead(rows, model)), model).encode(
        x=alt.X(
            "depth:Q", title="depth (documents)", scale=alt.Scale(type="log", domain=[1, DEPTH]), axis=alt.Axis(values=TICKS)
        ),
        y=alt.Y("share:Q", title="questions (fraction)", scale=alt.Scale(domain=[0, 1])),
        opacity=focused(),
    )
    line = base.mark_line(interpolate="step-after", strokeWidth=1.8)
    named = base.transform_filter(alt.FieldOneOfPredicate(field="depth", oneOf=TICKS))
    points = named.mark_point(filled=True, size=50)
    lines, points = lines_and_points(line, points, model, ["run:N", "depth:Q", "share:Q"])
    return alt.layer(with_legend_clicks(lines), points, width=520, height=280)


MRECALL = plot("mrecall", applies, partial(draw, every=False), partial(drawn, every=False), depth=DEPTH)
COVERAGE = plot("coverage", applies, partial(draw, every=True), partial(drawn, every=True), depth=DEPTH)
