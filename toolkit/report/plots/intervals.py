"""How sure the measures over modes and core queries are: bars with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from toolkit.evaluate.comparison import LEVEL
from toolkit.evaluate.judgments import Judgments
from toolkit.evaluate.scoring import is_ranked
from toolkit.measures.significance import resampled_means
from toolkit.report.model import Key, ReportModel, RunFacts
from toolkit.report.plots.charts import chart_of, data
from toolkit.report.plots.columns import Column, by_query, keys, over
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import axis_name
from toolkit.report.plots.theme import NAMES_ONCE, focused, lead, row_height, run_colour, run_rows, run_shape, zero_line

if TYPE_CHECKING:
    import altair as alt

TITLE = "Instruction following and robustness with 95 % intervals"
SAMPLES = 2000
SEED = 0
ACROSS = 3  # panels side by side


def columns(model: ReportModel) -> list[Column]:
    """p-MRR, WISE, SICR and Robustness in each of its modes: what is a mean over queries or core queries."""
    found = (column for column in model.columns(model.overall) if over(column[0]) in ("paired", "group"))
    return [column for column in found if is_ranked(*column, model.judgments.modes) and by_query(model, column)]


def applies(model: ReportModel) -> bool:
    """One such measure is enough."""
    return bool(columns(model))


def drawn(model: ReportModel) -> Drawn:
    """The value of each run and the bounds of its interval."""
    rows = []
    for column in columns(model):
        for facts in model.runs:
            # a group of which a run has no query has no value where these are skipped
            if selected := [key for key in keys(model, model.overall, column) if key in facts.values]:
                value = facts.value(*column, model.overall)
                rows.append((*column, facts.name, value, *interval(facts, model.judgments, selected)))
    return Drawn(("measure", "mode", "run", "value", "low", "high"), tuple(rows))


def interval(facts: RunFacts, judgments: Judgments, selected: Sequence[Key]) -> tuple[float, float]:
    """The bounds between which 95 % of the means over resampled core queries lie; of several groups, of their average."""
    generator = np.random.default_rng(SEED)
    cores = {part.group: part.cores for part in judgments.parts}
    means = []
    for key in selected:
        found = facts.values[key]
        known = cores[key.group] or {}
        # the values of a measure over core queries stand under these
        clusters = np.unique([known.get(each, each) for each in found.query_ids], return_inverse=True)[1]
        means.append(means_of(found.values, clusters, generator))
    return bounds(np.mean(means, axis=0))


def means_of(values: np.ndarray, clusters: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(SAMPLES,) means of values (n,) when whole clusters, (n,) from 0 on, are drawn with replacement."""
    return resampled_means([(values, clusters)], samples=SAMPLES, generator=generator)[:, 0]


def bounds(means: np.ndarray) -> tuple[float, float]:
    """Between which 95 % of them lie."""
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A panel a measure and mode, a dot with its interval a run, all on one scale."""
    import altair as alt

    numbers = drawn(model)
    bounds_of_all = [bound for row in numbers.rows for bound in row[4:]]
    scale = alt.Scale(domain=[min([0.0, *bounds_of_all]), max([0.0, *bounds_of_all])], nice=True)
    rows = lead((dict(zip(numbers.columns, row, strict=True)) for row in numbers.rows), model)
    panels = []
    for column in columns(model):
        own = data(row for row in rows if (row["measure"], row["mode"]) == column)
        base = chart_of(own).encode(y=run_rows(model), opacity=focused(), color=run_colour(model, legend=None))
        across = alt.X("low:Q", title=axis_name(*column), scale=scale, axis=alt.Axis(tickCount=5))
        intervals = base.mark_rule(strokeWidth=2).encode(x=across, x2="high:Q")
        # an interval without width is two ticks at one place
        ends = [base.mark_tick(thickness=2, size=9).encode(x=alt.X(f"{end}:Q", scale=scale)) for end in ("low", "high")]
        dots = base.mark_point(filled=True, size=60).encode(
            x="value:Q",
            shape=run_shape(model, legend=None),
            tooltip=["run:N", *(f"{name}:Q" for name in ("value", "low", "high"))],
        )
        panels.append(alt.layer(zero_line(), intervals, *ends, dots, width=190, height=alt.Step(row_height(model))))
    return alt.concat(*panels, columns=ACROSS, align="each", usermeta=NAMES_ONCE)


INTERVALS = Plot(
    "intervals",
    TITLE,
    f"The value of each run (a dot) and the interval that holds 95 % of {SAMPLES:,} resamples: whole core queries are "
    "drawn with replacement, because instructions of one core query are no independent evidence; of an average over groups, "
    "each group is drawn anew. With fewer than some 20 core queries the intervals are too narrow. Intervals of two runs say "
    "little of their difference, as both answer the same queries: the marks of the table do.",
    applies,
    draw,
    drawn,
)
