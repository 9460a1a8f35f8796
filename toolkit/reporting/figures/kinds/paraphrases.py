"""The same instruction in other words: a system's score against its worst (InstructIR, figure 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from toolkit.core.system.lazy_names import alt
from toolkit.metrics.inference import Cores, estimate
from toolkit.reporting.figures.charts import chart_of
from toolkit.reporting.figures.plot import Drawn, plot
from toolkit.reporting.figures.theme import axis_name, focused, lead, run_looks, run_rows
from toolkit.reporting.report.model import ReportModel, RunFacts

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
                mean = float(values.mean())
                bounds = estimate([Cores.of(values, np.arange(len(values)))]).value_interval(0.0, 1.0) or (mean, mean)
                rows.append((facts.name, kind, mean, *map(float, bounds), len(shared)))
    return Drawn(("run", "instructions", "nDCG@10", "low", "high", "number"), tuple(rows))


def _values(facts: RunFacts, column: tuple[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, measured in facts.values.items():
        if key[1:] == column:
            found |= zip(measured.query_ids, measured.values.tolist(), strict=True)
    return found


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """Two dots with their intervals a run."""
    rows = lead(drawn(model).dicts("run", "instructions", "value", "low", "high", "number"), model)
    shown = list(dict.fromkeys(row["run"] for row in rows))
    which = alt.YOffset("instructions:N", scale=alt.Scale(domain=KINDS))
    base = chart_of(rows).encode(y=run_rows(model, shown), yOffset=which, opacity=focused(), **run_looks(model, "color"))
    across = alt.X("low:Q", title=axis_name(*ORIGINAL), scale=alt.Scale(domainMin=0))
    intervals = base.mark_rule(strokeWidth=2).encode(x=across, x2="high:Q")
    ends = [base.mark_tick(thickness=2, size=7).encode(x=f"{end}:Q") for end in ("low", "high")]
    dots = base.mark_point(filled=True, size=60).encode(
        x="value:Q",
        shape=alt.Shape("instructions:N", scale=alt.Scale(domain=KINDS, range=["circle", "triangle-down"])),
        tooltip=["run:N", "instructions:N", alt.Tooltip("value:Q", title=ORIGINAL[0]), "low:Q", "high:Q", "number:Q"],
    )
    return alt.layer(intervals, *ends, dots, width=420, height=alt.Step(40))


PARAPHRASES = plot("paraphrases", applies, draw, drawn)
