"""Perspectives of a question (BERDS): how deep they are found, which side is retrieved, and whether it follows the query's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.analyses.coverage import first_ranks
from toolkit.evaluation.scores.scoring import own_queries
from toolkit.evaluation.scores.stance import CUTOFF, FORMS, Tally, contested_questions, tally
from toolkit.evaluation.scores.subtopics import has_subtopics, named_perspectives, perspectives
from toolkit.reporting.figures import theme
from toolkit.reporting.figures.charts import Drawn, chart_of, plot
from toolkit.reporting.report.model import ReportModel, RunFacts

DEPTH = 100
TICKS = [1, 2, 5, 10, 20, 50, 100]
SHOWN = {"SupportingOnly": "supporting only", "OpposingOnly": "opposing only", "Both": "both", "Neither": "neither"}
STANCE_COLOURS = ("#4B1D7A", "#A04A00", "#F2B84B", "#BDBDBD")  # dark, middle, bright, pale: in grey as well
LABELLED = 0.07  # the smallest part of a bar that has room for its number


def has_perspectives(model: ReportModel) -> bool:
    """Judgments of perspectives."""
    return not model.judgments.modes and all(has_subtopics(part.qrels) for part in model.judgments.parts)


def curves(model: ReportModel, *, every: bool) -> Mapping[str, np.ndarray]:
    """Run -> (DEPTH,) the share of questions at each depth; over several groups the mean of theirs.

    every  whether all perspectives must be there; otherwise, as MRecall has it, k of them are enough
    """
    enough = np.full(DEPTH, np.iinfo(np.int64).max) if every else np.arange(1, DEPTH + 1)
    shares = {}
    for facts in model.runs:
        of_groups = []
        for part in model.judgments.parts:
            first = np.minimum(first_ranks(own_queries(facts.run, part), part.qrels, DEPTH), DEPTH + 1).astype(np.int64)
            at = np.zeros((len(part.qrels.query_ids), DEPTH + 2), np.int64)
            np.add.at(at, (named_perspectives(part.qrels)[0], first), 1)
            # how many of a question's perspectives the top k hold, k from 1; and how many it has
            held, named = at[:, 1:-1].cumsum(axis=1), at.sum(axis=1)
            of_groups.append((held >= np.minimum(named[:, None], enough)).mean(axis=0))
        shares[facts.name] = np.mean(of_groups, axis=0)
    return shares


def drawn_depth(model: ReportModel, *, every: bool) -> Drawn:
    """The share of each run at each depth."""
    rows = (
        (name, depth, share)
        for name, shares in curves(model, every=every).items()
        for depth, share in enumerate(shares.tolist(), 1)
    )
    return Drawn(("run", "depth", "share"), tuple(rows))


def draw_depth(model: ReportModel, *, every: bool) -> alt.TopLevelMixin:
    """A stepped line a run, with its points at the depths that the axis names."""
    rows = [
        {"run": name, "depth": depth, "share": share}
        for name, curve in curves(model, every=every).items()
        for depth, share in enumerate(curve.tolist(), 1)
        if depth in TICKS or share != curve[depth - 2]
    ]
    scale = alt.Scale(type="log", domain=[1, DEPTH])
    base = theme.only_leading(chart_of(theme.lead(rows, model)), model).encode(
        x=alt.X("depth:Q", title="depth (documents)", scale=scale, axis=alt.Axis(values=TICKS)),
        y=alt.Y("share:Q", title="questions (fraction)", scale=alt.Scale(domain=[0, 1])),
        opacity=theme.focused(),
    )
    line = base.mark_line(interpolate="step-after", strokeWidth=1.8)
    points = base.transform_filter(alt.FieldOneOfPredicate(field="depth", oneOf=TICKS)).mark_point(filled=True, size=50)
    lines, points = theme.lines_and_points(line, points, model, ["run:N", "depth:Q", "share:Q"])
    return alt.layer(theme.with_legend_clicks(lines), points, width=520, height=280)


MRECALL = plot("mrecall", has_perspectives, partial(draw_depth, every=False), partial(drawn_depth, every=False), depth=DEPTH)
COVERAGE = plot("coverage", has_perspectives, partial(draw_depth, every=True), partial(drawn_depth, every=True), depth=DEPTH)


def has_sides(model: ReportModel) -> bool:
    """Judgments of perspectives, some question with exactly two of them in each group."""
    judgments = model.judgments
    return not judgments.modes and all((perspectives(part.qrels) == 2).any() for part in judgments.parts)


def has_forms(model: ReportModel) -> bool:
    """These, and runs with perspectives as queries."""
    return has_sides(model) and any(facts.by_stance for facts in model.runs)


def tallies(facts: RunFacts, model: ReportModel) -> Iterator[tuple[str, list[Tally]]]:
    """Each form of the query with what its top documents hold, group by group."""
    parts = [(part, contested_questions(part.qrels, model.stances)) for part in model.judgments.parts]
    for form, run in {FORMS[0]: facts.run, **facts.by_stance}.items():
        yield form, [tally(own_queries(run, part), part.qrels, stance, CUTOFF) for part, stance in parts]


def drawn_stance(model: ReportModel) -> Drawn:
    """The share of questions, the mean over groups, for each run and form of the query."""
    rows = []
    for facts in model.runs:
        for form, tallied in tallies(facts, model):
            shares = [{what: which.mean() for what, which in each.stances().items()} for each in tallied]
            rows += [(facts.name, form, what, float(np.mean([each[what] for each in shares]))) for what in SHOWN]
    return Drawn(("run", "query", "stance", "share"), tuple(rows))


def draw_stance(model: ReportModel) -> alt.TopLevelMixin:
    """A bar a run and form of the query, four parts long, each with its number where it has the room."""
    rows, ends = [], {}
    for row in theme.lead(drawn_stance(model).dicts(), model):
        start = ends.get((row["run"], row["query"]), 0.0)
        end = ends[row["run"], row["query"]] = start + row["share"]
        bar = row["run"] if row["query"] == FORMS[0] else f"{row['run']}, {row['query']}"
        shown = theme.cell(row["share"]) if row["share"] >= LABELLED else ""
        names = {"stance": SHOWN[row["stance"]], "_bar": bar, "_shown": shown}
        rows.append({**row, **names, "_start": start, "_end": end, "_middle": (start + end) / 2})
    bars = alt.Scale(domain=list(dict.fromkeys(row["_bar"] for row in rows)))
    base = chart_of(rows).encode(
        y=alt.Y("_bar:N", title=None, scale=bars, axis=alt.Axis(grid=False)),
        opacity=theme.focused(),
        tooltip=["run:N", "query:N", "stance:N", "share:Q"],
    )
    across = alt.X("_start:Q", title="questions (fraction)", scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color("stance:N", scale=alt.Scale(domain=list(SHOWN.values()), range=list(STANCE_COLOURS)), sort=None)
    bar = base.mark_bar(stroke=theme.INK, strokeWidth=0.8, height={"band": 0.8})
    parts = bar.encode(x=across, x2="_end:Q", color=colour)
    pale = alt.when(alt.FieldOneOfPredicate(field="stance", oneOf=[SHOWN["Both"], SHOWN["Neither"]]))
    ink = pale.then(alt.value(theme.NEAR_BLACK)).otherwise(alt.value(theme.PALE))
    numbers = base.mark_text().encode(x="_middle:Q", text="_shown:N", color=ink)
    return alt.layer(parts, numbers, width=480, height=alt.Step(24))


def drawn_lean(model: ReportModel) -> Drawn:
    """(p - n) / p of each run and form of the query, the mean over groups; none where p is 0 in one of them."""
    rows = []
    for facts in model.runs:
        for form, tallied in tallies(facts, model):
            lean = math.fsum(each.lean for each in tallied) / len(tallied)
            if not math.isnan(lean):
                rows.append((facts.name, form, lean))
    return Drawn(("run", "query", "lean"), tuple(rows))


def draw_lean(model: ReportModel) -> alt.TopLevelMixin:
    """A line a run over the forms of the query."""
    rows = theme.lead(drawn_lean(model).dicts(), model)
    forms = alt.Scale(domain=list(FORMS))
    title = "the query is the question, or one of its perspectives"
    across = alt.X("query:N", title=title, scale=forms, axis=alt.Axis(labelAngle=0))
    up = alt.Y("lean:Q", title="lean (p \u2212 n) / p (fraction)")
    base = theme.only_leading(chart_of(rows), model).encode(x=across, y=up, opacity=theme.focused())
    line, point = base.mark_line(strokeWidth=1.8), base.mark_point(filled=True, size=60)
    lines, points = theme.lines_and_points(line, point, model, ["run:N", "query:N", "lean:Q"])
    zero = chart_of([{}]).mark_rule(strokeDash=[2, 2], opacity=0.7).encode(y=alt.datum(0))
    return alt.layer(zero, theme.with_legend_clicks(lines), points, width=400, height=260)


STANCES = plot("stance", has_sides, draw_stance, drawn_stance, cutoff=CUTOFF)
LEANS = plot("lean", has_forms, draw_lean, drawn_lean, cutoff=CUTOFF)
