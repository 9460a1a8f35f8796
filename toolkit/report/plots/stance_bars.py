"""Which side of a question a system retrieves, and whether it follows the query's (BERDS, figures 2 and 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.qrels import Qrels
from toolkit.evaluate.scoring import own_queries
from toolkit.evaluate.stance import CUTOFF, FORMS, Tally, contested_questions, tally
from toolkit.report.model import ReportModel, RunFacts
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import GREY, HATCHES, legend, look, looks, name_rows, panels, run_legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STANCE, LEAN = "Contested that the top documents hold", "Lean towards the supporting side"
SHOWN = {
    "SupportingOnly": "supporting only",
    "OpposingOnly": "opposing only",
    "Both": "both",
    "Neither": "neither",
}


def with_two_perspectives(qrels: Qrels) -> bool:
    """Whether some question has exactly two perspectives."""
    pairs = np.unique(np.stack([qrels.queries, qrels.subtopics]), axis=1)
    return bool((np.bincount(pairs[0]) == 2).any())


def applies(model: ReportModel) -> bool:
    """Judgments of perspectives, some question with exactly two of them in each group."""
    judgments = model.judgments
    return not judgments.modes and all(with_two_perspectives(part.qrels) for part in judgments.parts)


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


def draw_stance(model: ReportModel) -> Figure:
    """A bar a run and form of the query, four parts long."""
    from matplotlib.patches import Patch

    found = {row[:3]: row[3] for row in drawn_stance(model).rows}
    bars = list(dict.fromkeys(key[:2] for key in found))
    figure, axes = panels(model, STANCE, 1, 1, (6.5, 1.3 + 0.32 * len(bars)))
    (axis,) = axes.flat
    start = np.zeros(len(bars))
    styles = {
        what: {"facecolor": "none", "edgecolor": look(number).colour, "hatch": HATCHES[number], "linewidth": 1.2}
        for number, what in enumerate(SHOWN)
    }
    for what, style in styles.items():
        shares = np.array([found[*bar, what] for bar in bars])
        axis.barh(range(len(bars)), shares, left=start, height=0.7, **style)
        start += shares
    axis.set_xlabel("questions (fraction)", fontsize="small")
    axis.set_xlim(0, 1.01)
    name_rows(axis, [name if form == FORMS[0] else f"{name}, {form}" for name, form in bars])
    legend(figure, {SHOWN[what]: Patch(**style) for what, style in styles.items()})
    return figure


def drawn_lean(model: ReportModel) -> Drawn:
    """(p - n) / p of each run and form of the query, the mean over groups; none where p is 0 in one of them."""
    rows = []
    for facts in model.runs:
        for form, tallied in tallies(facts, model):
            lean = math.fsum(each.lean for each in tallied) / len(tallied)
            if not math.isnan(lean):
                rows.append((facts.name, form, lean))
    return Drawn(("run", "query", "lean"), tuple(rows))


def draw_lean(model: ReportModel) -> Figure:
    """A line a run over the forms of the query."""
    rows = drawn_lean(model).rows
    figure, axes = panels(model, LEAN, 1, 1, (5.0, 3.6))
    (axis,) = axes.flat
    axis.axhline(0, color=GREY, linewidth=1.2)
    for name, run_look in looks(model).items():
        values = {form: lean for run, form, lean in rows if run == name}
        axis.plot(range(len(FORMS)), [values.get(form, math.nan) for form in FORMS], **run_look.lines)
    axis.set_xticks(range(len(FORMS)), FORMS)
    axis.set_xlim(-0.3, len(FORMS) - 0.7)
    axis.set_xlabel("the query is the question, or one of its perspectives", fontsize="small")
    axis.set_ylabel("lean (p - n) / p (fraction)", fontsize="small")
    run_legend(figure, model, only={row[0] for row in rows})
    return figure


STANCES = Plot(
    "stance",
    STANCE,
    f"The fraction of the questions with exactly two perspectives whose top {CUTOFF} documents hold the supporting one only, "
    "the opposing one only, both or neither (BERDS, figure 2), the mean over groups. The first perspective supports, unless "
    "stances say otherwise. Where runs of the perspectives are given, also for these as queries.",
    applies,
    draw_stance,
    drawn_stance,
)
LEANS = Plot(
    "lean",
    LEAN,
    f"(p - n) / p with p and n the shares of all top {CUTOFF} documents that hold the supporting and the opposing perspective "
    "(BERDS, section 7 and figure 3), for questions with exactly two, by what is the query: the question, its supporting or "
    "its opposing perspective; the mean over groups. Above 0 the supporting side is retrieved more often; a system that "
    "follows the query rises to the supporting form and falls to the opposing one.",
    lambda model: applies(model) and any(facts.by_stance for facts in model.runs),
    draw_lean,
    drawn_lean,
)
