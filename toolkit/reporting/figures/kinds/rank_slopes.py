"""Where gold documents and instruction negatives stand, from the base mode to the instructed and the reversed one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from toolkit.core.modes import ROLES as ROLE_NAMES
from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.scores.scoring import AVERAGE
from toolkit.metrics.families.pairs import Pairs
from toolkit.reporting.figures import theme
from toolkit.reporting.figures.charts import Drawn, chart_of, plot
from toolkit.reporting.figures.columns import best_runs, followed, following, shown_column
from toolkit.reporting.figures.kinds.placement import label_opacity, line_opacity, spread
from toolkit.reporting.report.model import ReportModel

GOLD, NEGATIVES = KINDS = ("gold documents", "instruction negatives")
AXIS = "mean rank (geometric; 1 is the top)"
WANTED = {
    (GOLD, False): "should rise",
    (GOLD, True): "should rise, then fall",
    (NEGATIVES, False): "should fall",
    (NEGATIVES, True): "should fall, then rise",
}
OTHERS = "#999"
MANY_MISSING = 0.1  # share of documents from which on a mean rank is drawn hollow
LABELLED = 12  # runs with a label that shows at once
PANELS, LINES = 4, 60  # of the figure query by query
HEIGHT, WIDTH, SMALL = 300, 230, 185  # pixels
TICKS = [each * 10**power for power in range(5) for each in (1, 1.5, 2, 3, 4, 5, 7) if each * 10**power != 1.5]


def applies(model: ReportModel) -> bool:
    """Modes, and documents whose place is to change between them."""
    return following(model) is not None


def roles(model: ReportModel) -> list[int]:
    """The roles of the modes that there are, in the order in which they are drawn."""
    return [role for role, name in enumerate(ROLE_NAMES) if model.judgments.modes.of(name)]


def mode_names(model: ReportModel) -> list[str]:
    """The name of the mode of each of these roles."""
    return [next(iter(model.judgments.modes.of(ROLE_NAMES[role]))) for role in roles(model)]


def query_means(model: ReportModel, found: Pairs, kind: str) -> np.ndarray:
    """(queries, modes) the mean logarithm of the ranks of a query's documents of a kind; NaN where it has none, and in all
    modes where the run has no list in one of them.
    """
    rows = rows_of(model, found, kind)
    logs = np.stack([found.mean(np.log(found.ranks[:, role]), rows) for role in roles(model)], axis=1)
    return np.where(found.absent(*roles(model))[:, None], np.nan, logs)


def rows_of(model: ReportModel, found: Pairs, kind: str) -> np.ndarray:
    """(n,) bool: the documents of a kind, of the queries that are judged in all modes."""
    judged = np.logical_and.reduce([found.judged_in(role) for role in roles(model)])
    return (found.gold if kind == GOLD else ~found.gold) & judged[found.queries]


def means(model: ReportModel, name: str) -> Iterator[tuple[str, str, str, float, int, int]]:
    """Of a run, group by group and, of several, their average: group, kind, mode, rank, documents, how many are in no list.

    The rank is a geometric mean, over the documents of each query, over queries, and over groups: each is a plain mean of
    logarithms. A missing document has the rank behind the end of its list.
    """
    for kind in KINDS:
        of_groups: list[tuple[str, np.ndarray, int, np.ndarray]] = []  # group, means of logarithms, documents, missing ones
        for part, found in followed(model)[name]:
            logs, rows = query_means(model, found, kind), rows_of(model, found, kind)
            if not np.isnan(logs).all():
                missing = found.missing[rows][:, roles(model)].sum(axis=0)
                of_groups.append((part.group, np.nanmean(logs, axis=0), int(rows.sum()), missing))
        if len(model.judgments.parts) > 1 and of_groups:
            _, logs, documents, missing = zip(*of_groups, strict=True)
            of_groups.append((AVERAGE, np.mean(logs, axis=0), sum(documents), sum(missing)))
        for group, logs, documents, missing in of_groups:
            for mode, rank, lacking in zip(mode_names(model), np.exp(logs).tolist(), missing.tolist(), strict=True):
                yield group, kind, mode, rank, documents, lacking


def drawn(model: ReportModel) -> Drawn:
    """The mean rank of each run by group, kind of documents and mode, and how many documents it is over."""
    rows = ((facts.name, *mean) for facts in model.runs for mean in means(model, facts.name))
    return Drawn(("run", "group", "kind", "mode", "rank", "documents", "missing"), tuple(rows))


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A panel a kind of documents, a line a run; labels at the lines' ends."""
    shown = theme.run_labels(model)
    rows = [row for row in drawn(model).rows if row[1] == model.overall]
    modes = mode_names(model)
    labelled = {facts.name for facts in best_runs(model, following(model), LABELLED)}
    ends = max(min(row[4] for row in rows) / 1.15, 1), max(row[4] for row in rows) * 1.15
    panels = []
    for kind in dict.fromkeys(row[2] for row in rows):
        lines = [
            {
                "run": shown[name],
                "_place": modes.index(mode),
                "kind": kind,
                "mode": mode,
                "rank": round(rank, 3),
                "missing": f"{missing:,} of {documents:,}",
                "_share": round(missing / documents, 3),
                "_shown": name in labelled,
            }
            for name, _, of_kind, mode, rank, documents, missing in rows
            if of_kind == kind
        ]
        panels.append(_panel(model, f"{kind}: {WANTED[kind, len(modes) > 2]}", lines, ends))
    return alt.hconcat(*panels, spacing=20)


def _panel(model: ReportModel, title: str, lines: list[dict], ends: tuple[float, float]) -> alt.LayerChart:
    last = [row for row in lines if row["_place"] == len(mode_names(model)) - 1]
    shown, scale = [row for row in last if row["_shown"]], HEIGHT / np.log(ends[1] / ends[0])
    pixels = spread([scale * np.log(row["rank"] / ends[0]) for row in shown], HEIGHT)
    ranks = [round(float(ends[0] * np.exp(pixel / scale)), 3) for pixel in pixels]
    labels = [{**row, "_at": rank} for row, rank in zip(shown, ranks, strict=True)]
    labels += [{**row, "_at": row["rank"]} for row in last if not row["_shown"]]  # shown when its run is chosen
    axes = {"x": _modes_axis(model), "y": _rank_axis(ends, AXIS)}
    base = chart_of(lines).encode(**axes, opacity=line_opacity())
    beside = chart_of(labels).encode(x="_place:Q", opacity=label_opacity())
    return alt.layer(
        base.mark_line(strokeWidth=2).encode(detail="run:N", **theme.run_looks(model, "color")),
        base.mark_point(size=55, strokeWidth=1.8).encode(
            **theme.run_looks(model, "stroke", "fill", "shape"),
            fillOpacity=alt.when(f"datum._share >= {MANY_MISSING}").then(alt.value(0)).otherwise(alt.value(1)),
            tooltip=["run:N", "mode:N", alt.Tooltip("rank:Q", title="mean rank", format=".2f"), "missing:N"],
        ),
        beside.mark_rule(xOffset=6, x2Offset=16, strokeWidth=0.8).encode(
            x2="_place:Q", y="rank:Q", y2="_at:Q", **theme.run_looks(model, "color")
        ),
        beside.mark_text(align="left", dx=18, fontSize=11).encode(y="_at:Q", text="run:N"),
        width=WIDTH,
        height=HEIGHT,
        title=alt.Title(title, fontSize=12, fontWeight="bold", anchor="start"),
    )


def _modes_axis(model: ReportModel) -> alt.X:
    """A mode and its role at each place from 0 on."""
    modes = mode_names(model)
    names, places = [[mode, model.judgments.modes[mode]] for mode in modes], list(range(len(modes)))
    axis = alt.Axis(values=places, labelExpr=f"{json.dumps(names)}[datum.value]", labelFlush=False)
    return alt.X("_place:Q", title=None, scale=alt.Scale(domain=[0, places[-1]], nice=False), axis=axis)


def _rank_axis(ends: tuple[float, float], title: str) -> alt.Y:
    """Ranks, the first on top."""
    scale = alt.Scale(type="log", domain=[ends[1], ends[0]], nice=False)
    values = [tick for tick in TICKS if ends[0] <= tick <= ends[1]]
    return alt.Y("rank:Q", title=title, scale=scale, axis=alt.Axis(values=values, format="d", labelOverlap=True))


RANK_SLOPES = plot("rank-slopes", applies, draw, drawn, labelled=LABELLED)


def drawn_by_query(model: ReportModel) -> Drawn:
    """The mean rank of each query's documents of each kind, by run and mode, for the runs that are drawn."""
    rows: list[tuple] = []
    for facts in best_runs(model, following(model), PANELS):
        for part, found in followed(model)[facts.name]:
            for kind in KINDS:
                logs = query_means(model, found, kind)
                for code in np.flatnonzero(~np.isnan(logs).any(axis=1)).tolist():
                    rows.append((facts.name, part.group, kind, found.query_ids[code], *np.exp(logs[code]).tolist()))
    return Drawn(("run", "group", "kind", "query", *(f"rank in {mode}" for mode in mode_names(model))), tuple(rows))


def draw_by_query(model: ReportModel) -> alt.TopLevelMixin:
    """A column a run, a row a kind of documents, a line a query; those that move as the instruction wants are in colour."""
    shown = theme.run_labels(model)
    by_panel: dict[tuple[str, str], list[tuple]] = {}
    for row in drawn_by_query(model).rows:
        by_panel.setdefault((row[2], row[0]), []).append(row)
    deepest = max(max(row[4:]) for rows in by_panel.values() for row in rows)
    names = list(dict.fromkeys(name for _, name in by_panel))
    panels = []
    for kind in dict.fromkeys(kind for kind, _ in by_panel):
        for name in names:
            axis = _rank_axis((1, deepest * 1.1), "mean rank")
            panels.append(_queries_panel(model, shown[name], kind, by_panel[kind, name], axis))
    return alt.concat(*panels, columns=len(names), spacing=16)


def _queries_panel(model: ReportModel, run: str, kind: str, rows: list[tuple], axis: alt.Y) -> alt.LayerChart:
    by_change = sorted(rows, key=lambda row: (row[5] / row[4], row[3]))
    wanted = [row[5] < row[4] if kind == GOLD else row[5] > row[4] for row in by_change]
    step = -(-len(by_change) // LINES)
    modes = mode_names(model)
    ranks = [{f"rank in {mode}": round(rank, 2) for mode, rank in zip(modes, row[4:], strict=True)} for row in by_change]
    lines = [
        {"run": run, "kind": kind, "query": row[3], "wanted": good, **of_modes}
        for row, good, of_modes in zip(by_change[::step], wanted[::step], ranks[::step], strict=True)
    ]
    base = (
        chart_of(lines)
        .transform_calculate(
            mode=json.dumps(modes),
            _place=json.dumps(list(range(len(modes)))),
            rank=f"[{', '.join(f'datum[{json.dumps(name)}]' for name in ranks[0])}]",
            measure=json.dumps(shown_column(following(model))),
        )
        .transform_flatten(["mode", "_place", "rank"])
        .encode(
            x=_modes_axis(model),
            y=axis,
            detail="query:N",
            color=alt.when("datum.wanted").then(theme.run_looks(model, "color")["color"]).otherwise(alt.value(OTHERS)),
            tooltip=["run:N", "query:N", "mode:N", alt.Tooltip("rank:Q", title="mean rank", format=".2f")],
        )
    )
    text = f"{kind.removeprefix('instruction ')}: {sum(wanted)} of {len(rows)} {'rise' if kind == GOLD else 'fall'}"
    place = {"anchor": "start", "frame": "group", "offset": 8, "limit": SMALL + 40}
    title = alt.Title(run, subtitle=text, fontSize=12, fontWeight="bold", **place)
    return alt.layer(
        base.mark_line(strokeWidth=1.2, opacity=0.55),
        base.mark_point(size=18, filled=True, opacity=0.7),
        width=SMALL,
        height=SMALL - 15,
        title=title,
    )


QUERY_SLOPES = plot("query-slopes", applies, draw_by_query, drawn_by_query, panels=PANELS, lines=LINES)
