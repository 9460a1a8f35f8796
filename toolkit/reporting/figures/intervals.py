"""How sure the measures over modes and core queries are, and runs on paraphrases of instructions: dots with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.comparison.intervals import of_group, own_interval
from toolkit.evaluation.scores.judgments import Judgments
from toolkit.evaluation.scores.scoring import is_ranked
from toolkit.metrics.inference import Bounds, Cores, estimate
from toolkit.reporting.figures.charts import Drawn, chart_of, data, plot
from toolkit.reporting.figures.columns import Column, by_query, keys, over
from toolkit.reporting.figures.theme import NAMES_ONCE, axis_name, focused, lead, row_height, run_looks, run_rows
from toolkit.reporting.report.model import Key, ReportModel, RunFacts

ACROSS = 3  # panels side by side
ORIGINAL, WORST = ("nDCG@10", ""), ("Robustness@10", "")  # Robustness is the mean of the worst of each core query's instances
KINDS = ("original", "worst paraphrase")


def columns(model: ReportModel) -> list[Column]:
    """p-MRR, WISE, SICR and Robustness in each of its modes: what is a mean over queries or core queries."""
    found = (column for column in model.columns(model.overall) if over(column[0]) in ("paired", "group"))
    return [column for column in found if is_ranked(*column, model.judgments.modes) and by_query(model, column)]


def drawn(model: ReportModel) -> Drawn:
    """The value of each run and the bounds of its interval."""
    rows = []
    for column in columns(model):
        for facts in model.runs:
            # a group of which a run has no query has no value where these are skipped
            if selected := [key for key in keys(model, model.overall, column) if key in facts.values]:
                value = facts.value(*column, model.overall)
                rows.append((*column, facts.name, value, *(interval(facts, model.judgments, selected) or (value, value))))
    return Drawn(("measure", "mode", "run", "value", "low", "high"), tuple(rows))


def interval(facts: RunFacts, judgments: Judgments, selected: Sequence[Key]) -> Bounds | None:
    """The 95 % interval of a run's value, as `evaluate --intervals` has it; of several groups, of their average. None where a
    run lacks one, and where nothing is known of how others would vary.
    """
    parts = {part.group: part for part in judgments.parts}
    if not selected or any(key not in facts.values or key.group not in parts for key in selected):
        return None
    measure = selected[0].measure
    return own_interval(measure, [of_group(facts.values[key], parts[key.group], measure) for key in selected])


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A panel a measure and mode, a dot with its interval a run, all on one scale."""
    numbers = drawn(model)
    bounds_of_all = [bound for row in numbers.rows for bound in row[4:]]
    scale = alt.Scale(domain=[min([0.0, *bounds_of_all]), max([0.0, *bounds_of_all])], nice=True)
    rows = lead(numbers.dicts(), model)
    panels = []
    for column in columns(model):
        own = data(row for row in rows if (row["measure"], row["mode"]) == column)
        base = chart_of(own).encode(y=run_rows(model), opacity=focused(), **run_looks(model, "color"))
        across = alt.X("low:Q", title=axis_name(*column), scale=scale, axis=alt.Axis(tickCount=5))
        intervals = base.mark_rule(strokeWidth=2).encode(x=across, x2="high:Q")
        # an interval without width is two ticks at one place
        ends = [base.mark_tick(thickness=2, size=9).encode(x=alt.X(f"{end}:Q", scale=scale)) for end in ("low", "high")]
        tips = ["run:N", "value:Q", "low:Q", "high:Q"]
        dots = base.mark_point(filled=True, size=60).encode(x="value:Q", **run_looks(model, "shape"), tooltip=tips)
        zero = chart_of([{}]).mark_rule(strokeDash=[2, 2], opacity=0.7).encode(x=alt.datum(0))
        panels.append(alt.layer(zero, intervals, *ends, dots, width=190, height=alt.Step(row_height(model))))
    return alt.concat(*panels, columns=ACROSS, align="each", usermeta=NAMES_ONCE)


INTERVALS = plot("intervals", lambda model: bool(columns(model)), draw, drawn)


def reworded(model: ReportModel) -> ReportModel | None:
    """The benchmark of the same report whose queries are paraphrases of this one's; its core queries are our instructions."""
    own = set(model.judgments.query_ids)
    for other in model.beside:
        cores = {core for part in other.judgments.parts for core in (part.cores or {}).values()}
        if cores and cores <= own and own.isdisjoint(other.judgments.query_ids):
            return other
    return None


def drawn_paraphrases(model: ReportModel) -> Drawn:
    """The mean of each run over the instructions that have paraphrases, and that of their worst paraphrases, with intervals."""
    rows, others = [], reworded(model)
    for facts in model.runs if others else ():
        # its run of the paraphrases has its name, or else is the only one of the same system
        named = [other for other in others.runs if other.name == facts.name]
        alike = [other for other in others.runs if other.called == facts.called]
        alone = [other for other in model.runs if other.called == facts.called] == [facts]
        if not named and not (alone and len(alike) == 1):
            continue
        own, worst = _by_query(facts, ORIGINAL), _by_query((named or alike)[0], WORST)
        shared = [query_id for query_id in worst if query_id in own]
        for kind, answers in zip(KINDS, (own, worst), strict=True):
            if shared:
                values = np.array([answers[query_id] for query_id in shared])
                mean = float(values.mean())
                bounds = estimate([Cores.of(values, np.arange(len(values)))]).value_interval(0.0, 1.0) or (mean, mean)
                rows.append((facts.name, kind, mean, *map(float, bounds), len(shared)))
    return Drawn(("run", "instructions", "nDCG@10", "low", "high", "number"), tuple(rows))


def _by_query(facts: RunFacts, column: tuple[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, measured in facts.values.items():
        if key[1:] == column:
            found |= zip(measured.query_ids, measured.values.tolist(), strict=True)
    return found


def draw_paraphrases(model: ReportModel) -> alt.TopLevelMixin:
    """Two dots with their intervals a run."""
    rows = lead(drawn_paraphrases(model).dicts("run", "instructions", "value", "low", "high", "number"), model)
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


PARAPHRASES = plot("paraphrases", lambda model: bool(drawn_paraphrases(model).rows), draw_paraphrases, drawn_paraphrases)
