"""What WISE rewards and what it punishes, and where the gold documents of the runs stand (InfoSearch, eq. 3 to 6)."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from toolkit.core.modes import ROLES as ROLE_NAMES
from toolkit.evaluate.scoring import own_queries
from toolkit.measures.paired import VARIANTS, wise_of_ranks
from toolkit.measures.pairs import BASE, CHANGED, REVERSED, pairs
from toolkit.report.model import ReportModel
from toolkit.report.plots.plot import Drawn, Plot
from toolkit.report.plots.style import GREY, legend, look, looks, panels, run_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SURFACE, REWARD = "The rewards and penalties of WISE", "The reward of WISE in its three variants"
K = 20
SHOWN = 40  # the rank to which axes go at least
STEPS = 10  # shades between 0 and 1
SINGLE = 20  # ranks with cells of their own; deeper ones share cells
COLUMNS = ("run", "query", "document", "R_ori", "R_ins", "R_rev", "N", *VARIANTS)


class Side(NamedTuple):
    """A panel: gold documents whose WISE depends on two of their three ranks.

    title  what they have in common
    other  the rank along the vertical axis
    """

    title: str
    other: str


CLIMBED = Side("fell when reversed (R_rev > R_ori)", "R_ins")
ROSE = Side("did not fall when reversed, rose when instructed", "R_rev")


def applies(model: ReportModel) -> bool:
    """All three modes."""
    return all(map(model.judgments.modes.of, ROLE_NAMES))


@functools.lru_cache(maxsize=1)  # two plots and their tables ask for it
def drawn(model: ReportModel) -> Drawn:
    """Every gold document of every run: its ranks, N, and WISE in each variant."""
    rows: list[tuple] = []
    for facts in model.runs:
        for part in model.judgments.parts:
            followed = pairs(own_queries(facts.run, part), part.qrels)
            kept = followed.gold & (followed.judged_in(REVERSED) & ~followed.absent(BASE, CHANGED, REVERSED))[followed.queries]
            ranks, n = followed.ranks[kept], followed.relevant[followed.queries[kept]]
            values = [wise_of_ranks(*ranks.T, n, K, variant).tolist() for variant in VARIANTS]
            ids = ((followed.query_ids[followed.queries[row]], followed.doc_ids[row]) for row in np.flatnonzero(kept))
            for both, three, many, *wise in zip(ids, ranks.tolist(), n.tolist(), *values, strict=True):
                rows.append((facts.name, *both, *three, many, *wise))
    return Drawn(COLUMNS, tuple(rows))


def usual_n(rows: Sequence[tuple]) -> int:
    """The N that most gold documents have; the smaller of equally frequent ones."""
    times = Counter(row[6] for row in rows)
    return min(times, key=lambda n: (-times[n], n), default=1)


def draw_surface(model: ReportModel) -> Figure:
    """A row a variant, a column a side; shades are the values of the definition, marks the gold documents of runs."""
    rows = drawn(model).rows
    n = usual_n(rows)
    deepest = max([SHOWN, *(rank for row in rows for rank in row[3:6])])
    figure, axes = panels(model, SURFACE, len(VARIANTS), 2, (4.6, 3.6))
    for variant, (left, right) in zip(VARIANTS, axes, strict=True):
        x, y = np.meshgrid(*[centres(deepest)] * 2)
        _shades(left, wise_of_ranks(x, y, x + 1, n, K, variant), deepest)
        _shades(right, np.where(y <= x, wise_of_ranks(x, np.ones_like(x), y, n, K, variant), np.nan), deepest)
        for each, side in ((left, CLIMBED), (right, ROSE)):
            _points(each, model, [row for row in rows if side_of(*row[3:6]) is side], side)
            _rank_axes(each, side, deepest)
            each.set_title(f"{variant}: {side.title}", fontsize="small")
        worse = [row[COLUMNS.index(variant)] for row in rows if side_of(*row[3:6]) is None]
        if worse:
            text = f"{len(worse):,} did neither,\nmean {np.mean(worse):.2f}"
            right.text(0.03, 0.97, text, transform=right.transAxes, va="top", fontsize="small")
    _shade_bar(figure, axes)
    run_legend(figure, model, "marks")
    return figure


def side_of(r_ori: int, r_ins: int, r_rev: int) -> Side | None:
    """Which panel shows a gold document; None for one that neither fell when reversed nor rose when instructed."""
    if r_rev > r_ori:
        return CLIMBED
    return ROSE if r_ins < r_ori else None


def edges(deepest: int) -> np.ndarray:
    """Where cells of ranks begin and end: one a rank to 20, then ever wider ones."""
    wider = np.geomspace(SINGLE + 1, deepest + 1, 13).round()
    return np.unique([*range(1, SINGLE + 2), *wider]) - 0.5


def centres(deepest: int) -> np.ndarray:
    """A rank for each cell."""
    return np.floor(np.sqrt(edges(deepest)[:-1] * edges(deepest)[1:]) + 0.5)


def _shades(axes: Axes, values: np.ndarray, deepest: int) -> None:
    """One path a shade, made of rectangles: a page shows no images, and a thousand cells would be a thousand elements."""
    from matplotlib import colormaps
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    sides = edges(deepest)
    steps = np.round(values * STEPS)
    for step in np.unique(steps[~np.isnan(steps)]):
        boxes = []
        for row, cells in enumerate(steps == step):
            # neighbours in a row are one rectangle
            changes = np.flatnonzero(np.diff(np.concatenate([[False], cells, [False]])))
            for start, end in changes.reshape(-1, 2):
                (x0, x1), (y0, y1) = sides[[start, end]], sides[[row, row + 1]]
                boxes.append(Path([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], closed=True))
        shade = colormaps["PuOr"]((step / STEPS + 1) / 2)
        axes.add_artist(PathPatch(Path.make_compound_path(*boxes), facecolor=shade, linewidth=0, antialiased=False, zorder=0))


def _points(axes: Axes, model: ReportModel, rows: Sequence[tuple], side: Side) -> None:
    """Gold documents at one place are one mark, the larger the more there are."""
    at = COLUMNS.index(side.other)
    for name, run_look in looks(model).items():
        places = Counter((row[3], row[at]) for row in rows if row[0] == name)
        for size, few, many in ((4, 1, 1), (6, 2, 4), (8, 5, 15), (10, 16, np.inf)):
            here = [place for place, times in places.items() if few <= times <= many]
            if here:
                axes.plot(*zip(*here, strict=True), **{**run_look.marks, "markersize": size})


def _rank_axes(axes: Axes, side: Side, deepest: int) -> None:
    for axis, name in ((axes.xaxis, "R_ori"), (axes.yaxis, side.other)):
        axis.set_label_text(f"{name} (rank)", fontsize="small")
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = [rank for rank in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if rank <= deepest]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, [str(rank) for rank in ticks])
        axis.set_ticks([], minor=True)
    axes.set_xlim(0.5, deepest + 0.5)
    axes.set_ylim(0.5, deepest + 0.5)


def _shade_bar(figure: Figure, axes: np.ndarray) -> None:
    """What shades mean."""
    from matplotlib import colormaps
    from matplotlib.patches import Patch

    entries = [Patch(facecolor=colormaps["PuOr"]((value + 1) / 2), label=f"{value:+.2f}") for value in np.linspace(1, -1, 9)]
    axes[0, 1].legend(
        handles=entries, title="WISE", loc="upper left", bbox_to_anchor=(1.02, 1), fontsize="small", frameon=False
    )


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


def draw_reward(model: ReportModel) -> Figure:
    """A panel for rising and one for staying, a line a variant."""
    rows = drawn_reward(model).rows
    ways = list(dict.fromkeys(row[1] for row in rows))
    figure, axes = panels(model, f"{REWARD} (N = {usual_n(drawn(model).rows)})", 1, len(ways), (4.2, 3.2), sharey=True)
    handles: dict[str, object] = {}
    for each, way in zip(axes.flat, ways, strict=True):
        for number, variant in enumerate(VARIANTS):
            curve = [row[2:] for row in rows if row[:2] == (variant, way)]
            # variants lie on each other where they agree: the first are wide, and marks stand apart
            style = {**look(number + 1).lines, "linewidth": 4 - 1.3 * number, "markevery": (number, len(VARIANTS))}
            (handles[variant],) = each.plot(*zip(*curve, strict=True), **style)
        each.axvline(K, color=GREY, linewidth=1)
        each.set_title(f"a gold document that {way}", fontsize="small")
        each.set_xlabel("R_ori (rank)", fontsize="small")
    axes[0, 0].set_ylabel("WISE (fraction)", fontsize="small")
    legend(figure, handles)
    return figure


WISE_SURFACE = Plot(
    "wise-surface",
    SURFACE,
    f"WISE@{K} of a gold document by its ranks, in the three variants (docs/measures.md), N being the one that most documents "
    "have. Left: it fell when reversed; on and below the diagonal (R_ins <= R_ori) it is rewarded, above it punished. Right: "
    "it did not fall when reversed, but rose when instructed; how far it rose when reversed is punished. Marks are the gold "
    "documents of the runs, larger where several share a place; those that did neither have no place on the right and are "
    "counted there. Queries that a run lacks are left out.",
    applies,
    draw_surface,
    drawn,
    place="appendix",
)
WISE_REWARD = Plot(
    "wise-reward",
    REWARD,
    f"The reward (WISE@{K}, fraction) of a gold document that falls when reversed, by its rank in the original mode: left "
    "where it comes first when instructed, right where it stays. N, the number of relevant documents, is the one that most "
    f"gold documents of these runs have. The grey line is K = {K}.",
    applies,
    draw_reward,
    drawn_reward,
    place="appendix",
)
