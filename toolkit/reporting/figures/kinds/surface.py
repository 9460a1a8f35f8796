"""What WISE rewards and what it punishes, and where the gold documents of the runs stand (InfoSearch, eq. 3 to 6)."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.modes import ROLES as ROLE_NAMES
from toolkit.core.system.lazy_names import alt
from toolkit.metrics.families.paired import VARIANTS, wise_of_ranks
from toolkit.metrics.families.pairs import BASE, CHANGED, REVERSED
from toolkit.reporting.figures import theme
from toolkit.reporting.figures.charts import Drawn, chart_of, plot
from toolkit.reporting.figures.columns import followed
from toolkit.reporting.report.model import ReportModel

K = 20
SHOWN = 40  # the rank to which axes go at least
STEPS = 10  # shades between 0 and 1
TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
MANY = 10  # documents at one place that have the largest mark
SINGLE = 20  # ranks with cells of their own; deeper ones share cells
COLUMNS = ("run", "query", "document", "R_ori", "R_ins", "R_rev", "N", *VARIANTS)


class Side(NamedTuple):
    """A panel: gold documents whose WISE depends on two of their three ranks; other  the one along the vertical axis"""

    title: str
    other: str


CLIMBED = Side("R_rev > R_ori", "R_ins")
ROSE = Side("R_rev \u2264 R_ori, R_ins < R_ori", "R_rev")


def applies(model: ReportModel) -> bool:
    """All three modes."""
    return all(map(model.judgments.modes.of, ROLE_NAMES))


@functools.lru_cache(maxsize=1)  # two plots and their tables ask for it
def drawn(model: ReportModel) -> Drawn:
    """Every gold document of every run: its ranks, N, and WISE in each variant."""
    rows: list[tuple] = []
    for name, of_run in followed(model).items():
        for _, found in of_run:
            kept = found.gold & (found.judged_in(REVERSED) & ~found.absent(BASE, CHANGED, REVERSED))[found.queries]
            ranks, n = found.ranks[kept], found.relevant[found.queries[kept]]
            values = [wise_of_ranks(*ranks.T, n, K, variant).tolist() for variant in VARIANTS]
            ids = ((found.query_ids[found.queries[row]], found.doc_ids[row]) for row in np.flatnonzero(kept))
            for both, three, many, *wise in zip(ids, ranks.tolist(), n.tolist(), *values, strict=True):
                rows.append((name, *both, *three, many, *wise))
    return Drawn(COLUMNS, tuple(rows))


def usual_n(rows: Sequence[tuple]) -> int:
    """The N that most gold documents have; the smaller of equally frequent ones."""
    times = Counter(row[6] for row in rows)
    return min(times, key=lambda n: (-times[n], n), default=1)


def draw_surface(model: ReportModel) -> alt.TopLevelMixin:
    """A row a variant, a column a side; shades are the values of the definition, marks the gold documents of runs."""
    rows = drawn(model).rows
    n = usual_n(rows)
    deepest = max([SHOWN, *(rank for row in rows for rank in row[3:6])])
    x, y = np.meshgrid(*[centres(deepest)] * 2)
    panels = []
    for variant in VARIANTS:
        worse = [row[COLUMNS.index(variant)] for row in rows if side_of(*row[3:6]) is None]
        neither = [f"{len(worse):,} did neither, mean {theme.cell(np.mean(worse))}"] if worse else []
        left = wise_of_ranks(x, y, x + 1, n, K, variant)
        right = np.where(y <= x, wise_of_ranks(x, np.ones_like(x), y, n, K, variant), np.nan)
        for side, values, words in ((CLIMBED, left, []), (ROSE, right, ["grey: cannot occur", *neither])):
            layers = _ground(values, side, deepest, words)
            if variant == VARIANTS[0]:  # documents have the same places in each
                layers.append(_points(model, rows, side, deepest))
            panels.append(alt.layer(*layers, title=f"{variant}: {side.title}", width=300, height=230))
    return alt.concat(*panels, columns=2, align="each")


def _ranks(field: str, title: str, deepest: int) -> dict[str, Any]:
    """What both axes are made with."""
    scale = alt.Scale(type="log", domain=[0.5, deepest + 0.5], nice=False)
    return {"shorthand": f"{field}:Q", "title": f"{title} (rank)", "scale": scale, "axis": alt.Axis(values=TICKS, grid=False)}


def _ground(values: np.ndarray, side: Side, deepest: int, words: list[str]) -> list[alt.Chart]:
    """The values of the definition as cells, on the grey of what cannot occur, and words in the upper left corner."""
    colours = alt.Scale(domain=[-1, 1], scheme="purpleorange", reverse=True)
    cells = (
        chart_of(_cells(values, deepest))
        .mark_rect()
        .encode(
            alt.X(**_ranks("_x", "R_ori", deepest)),
            alt.Y(**_ranks("_y", side.other, deepest)),
            x2="_x2:Q",
            y2="_y2:Q",
            color=alt.Color("_value:Q", scale=colours, legend=alt.Legend(title="WISE")),
        )
    )
    grey = chart_of([{}]).mark_rect(color=theme.GREY, opacity=0.35)
    text = chart_of([{"_text": words}]).mark_text(align="left", baseline="top")
    return [grey, cells, *([text.encode(x=alt.value(6), y=alt.value(6), text="_text:N")] if words else [])]


def _points(model: ReportModel, rows: Sequence[tuple], side: Side, deepest: int) -> alt.Chart:
    """The gold documents of one side. As deep ranks share cells, so do their marks: a large benchmark has ten thousand."""
    at = COLUMNS.index(side.other)
    here = np.array([(row[3], row[at]) for row in rows if side_of(*row[3:6]) is side]).reshape(-1, 2)
    middles = centres(deepest)[np.searchsorted(edges(deepest), here) - 1].astype(int).tolist()
    names = [row[0] for row in rows if side_of(*row[3:6]) is side]
    places = Counter((name, *place) for name, place in zip(names, middles, strict=True))
    marks = [{"run": name, "R_ori": x, side.other: y, "documents": times} for (name, x, y), times in places.items()]
    sizes = alt.Scale(type="sqrt", domain=[1, MANY], range=[30, 160], clamp=True)
    points = (
        theme.only_leading(chart_of(theme.lead(marks, model)), model)
        .mark_point(filled=True, stroke=theme.NEAR_BLACK, strokeWidth=0.8)
        .encode(
            alt.X(**_ranks("R_ori", "R_ori", deepest)),
            alt.Y(**_ranks(side.other, side.other, deepest)),
            **theme.run_looks(model, "fill", "shape", legend=True),
            size=alt.Size("documents:Q", scale=sizes, legend=None),
            opacity=theme.focused(0.9),
            tooltip=["run:N", "R_ori:Q", f"{side.other}:Q", "documents:Q"],
        )
    )
    return theme.with_legend_clicks(points) if side is CLIMBED else points


def side_of(r_ori: int, r_ins: int, r_rev: int) -> Side | None:
    """Which panel shows a gold document; None for one that neither fell when reversed nor rose when instructed."""
    if r_rev > r_ori:
        return CLIMBED
    return ROSE if r_ins < r_ori else None


def edges(deepest: int) -> np.ndarray:
    """Where cells of ranks begin and end: one a rank to 20, then ever wider ones."""
    return np.unique([*range(1, SINGLE + 2), *np.geomspace(SINGLE + 1, deepest + 1, 13).round()]) - 0.5


def centres(deepest: int) -> np.ndarray:
    """A rank for each cell."""
    return np.floor(np.sqrt(edges(deepest)[:-1] * edges(deepest)[1:]) + 0.5)


def _cells(values: np.ndarray, deepest: int) -> Iterator[dict[str, float]]:
    """Rectangles of one value, each as wide and then as high as it can be: a thousand cells would be a thousand elements."""
    sides = edges(deepest).tolist()
    steps = np.round(values * STEPS)
    free = ~np.isnan(steps)
    for row, column in zip(*map(np.ndarray.tolist, np.nonzero(free)), strict=True):
        if not free[row, column]:
            continue
        like = free & (steps == steps[row, column])
        end = column + int(np.argmin(np.append(like[row, column:], False)))
        last = row + int(np.argmin(np.append(like[row:, column:end].all(axis=1), False)))
        free[row:last, column:end] = False
        place = {"_x": sides[column], "_x2": sides[end], "_y": sides[row], "_y2": sides[last]}
        yield {**place, "_value": float(steps[row, column]) / STEPS}


def drawn_reward(model: ReportModel) -> Drawn:
    """The reward of each variant by original rank, of a document that comes first when instructed and of one that stays."""
    n = usual_n(drawn(model).rows)
    r_ori = np.arange(1, SHOWN + 1)
    rows = []
    for variant in VARIANTS:
        for way, r_ins in (("rises to rank 1", np.ones_like(r_ori)), ("stays", r_ori)):
            values = wise_of_ranks(r_ori, r_ins, r_ori + 1, np.full_like(r_ori, n), K, variant).tolist()
            rows += [(variant, way, rank, value) for rank, value in zip(r_ori.tolist(), values, strict=True)]
    return Drawn(("variant", "when instructed", "R_ori", "WISE"), tuple(rows))


def draw_reward(model: ReportModel) -> alt.TopLevelMixin:
    """A panel for rising and one for staying, a line a variant."""
    rows = drawn_reward(model).dicts("variant", "way", "rank", "value")
    lowest = min(row["value"] for row in rows)
    # variants lie on each other where they agree: the first are wide
    widths = [4.2 - 1.4 * number for number in range(len(VARIANTS))]
    panels = []
    for way in dict.fromkeys(row["way"] for row in rows):
        base = chart_of(row for row in rows if row["way"] == way).encode(
            x=alt.X("rank:Q", title="R_ori (rank)", scale=alt.Scale(domain=[1, SHOWN], nice=False)),
            y=alt.Y("value:Q", title="WISE (fraction)", scale=alt.Scale(domain=[min(0.0, lowest), 1])),
            color=alt.Color("variant:O", scale=alt.Scale(domain=list(VARIANTS), range=list(theme.COLOURS[1:4]))),
            strokeDash=alt.StrokeDash(
                "variant:O", scale=alt.Scale(domain=list(VARIANTS), range=[list(each) for each in theme.DASHES[:3]])
            ),
            strokeWidth=alt.StrokeWidth("variant:O", scale=alt.Scale(domain=list(VARIANTS), range=widths)),
            tooltip=["variant:O", alt.Tooltip("rank:Q", title="R_ori"), alt.Tooltip("value:Q", title="WISE")],
        )
        limit = chart_of([{}]).mark_rule(color=theme.GREY).encode(x=alt.datum(K))
        panels.append(alt.layer(limit, base.mark_line(), title=f"a gold document that {way}", width=300, height=220))
    return alt.concat(*panels, columns=2, align="each")


WISE_SURFACE = plot("wise-surface", applies, draw_surface, drawn, k=K)
WISE_REWARD = plot("wise-reward", applies, draw_reward, drawn_reward, k=K)
