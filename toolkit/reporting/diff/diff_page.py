"""The page of a comparison: what the terminal shows, above the browser of queries.

Its tables are plain ones: a row a measure and mode, in the order of the benchmark, of which nobody searches or pages through
sixteen. DataTables would make a page of 0.3 MB one of 1 MB.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from toolkit import registry
from toolkit.core.scores import OVERALL, Change, in_mode, shown_measure
from toolkit.core.tables.aligned_table import Cell, Number, shown
from toolkit.evaluation.scores.score_table import is_share
from toolkit.reporting import pages
from toolkit.reporting.diff.diff_output import Pair, rankings_table

FOLDER = Path(__file__).parent
WIDTH = 110  # of the drawing of an interval, in its own units
Place = tuple[str, str]  # measure and mode


def render(
    pairs: Sequence[Pair], browsed: pages.Browsed, *, title: str, notes: Sequence[str] = (), frame: pages.Frame | None = None
) -> str:
    """The page as HTML: means, differences with intervals and p, queries up and down, and how alike the rankings are, for each
    pair, and of several pairs all differences from the first run beside each other; below it the browser of queries.

    pairs  of each other run with the first
    notes  beside those of the pairs
    """
    opening = browsed.columns[browsed.opening]
    changed = [pair for pair in pairs if pair.comparison]
    html = pages.template(FOLDER, "diff_page.html").render(
        pairs=[_pair(pair, opening) for pair in pairs],
        together=_together(changed) if len(pairs) > 1 and changed else None,
        family=next((pair.family for pair in pairs if pair.family), ""),
        notes=list(dict.fromkeys([*notes, *(note for pair in pairs for note in pair.notes)])),
    )
    return pages.render(
        browsed,
        title=title,
        frame=frame,
        above=Markup(html),
        style=(FOLDER / "diff_page.css").read_text(encoding="utf-8"),
        script=(FOLDER / "diff_page.js").read_text(encoding="utf-8"),
    )


def _pair(pair: Pair, opening: Place) -> dict[str, Any]:
    made: dict[str, Any] = {"first": pair.a, "second": pair.b, "identical": pair.identical, "headline": ""}
    if not pair.comparison:
        return made
    changes = pair.comparison.changes
    overall = _overall(changes)
    rankings = rankings_table(pair)
    names = dict.fromkeys([overall[0].group, *(change.group for change in changes)])
    groups = [[change for change in changes if change.group == name] for name in names]
    change = next((each for each in overall if each.number == opening), overall[0])
    share = is_share(change.measure)
    difference, low, high = (text(Number(each, share, signed=True)) for each in (change.difference, change.low, change.high))
    interval = f" (95 % interval {low} to {high})" if change.low == change.low else ""
    p = f"p {text(Number(change.p, p=True))}" if change.p == change.p else f"not tested: {change.untested}"
    ends = " \u2192 ".join(text(Number(each, share)) for each in (change.a, change.b))
    counts = f"{change.core_queries:,} core queries {change.up:,} up, {change.down:,} down, {change.same:,} equal."
    return made | {
        "headline": f"{_name(change)} {ends}: {difference}{interval}; {p}. Of {counts}",
        "groups": [group[0].group for group in groups],
        "rows": [row for group in groups for row in _rows(group)],
        "rankings": [[text(cell) for cell in row] for row in rankings.rows],
        "heads": [column.name for column in rankings.columns],
    }


def _name(change: Change) -> str:
    """As the browser of queries calls it."""
    return in_mode(shown_measure(change.measure), change.mode)


def _overall(changes: Sequence[Change]) -> list[Change]:
    """Those over all groups; of the last group where none are."""
    group = next((change.group for change in changes if change.group in OVERALL), changes[-1].group)
    return [change for change in changes if change.group == group]


def _rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Those of one group."""
    rows = []
    # the largest distance of an interval's end from 0: fractions share one, ranks and counts have their own
    reaches: dict[str, float] = {}
    for change in changes:
        scale = "" if is_share(change.measure) else change.measure
        ends = max(abs(end) for end in (change.low, change.high, change.difference) if end == end)
        reaches[scale] = max(reaches.get(scale, 0.0), ends)
    for change in changes:
        share = is_share(change.measure)
        reach = reaches["" if share else change.measure] or 1.0
        spec = registry.measure(change.measure)
        # without an interval its ends are where the difference is
        ends = (change.difference if math.isnan(end) else end for end in (change.low, change.difference, change.high))
        low, middle, high = (round(WIDTH / 2 + end / reach * (WIDTH / 2 - 4), 1) for end in ends)
        rows.append(
            {
                "group": change.group,
                "name": _name(change),
                "about": spec.text or spec.title,
                "lower": spec.direction == "lower",
                "first": text(Number(change.a, share)),
                "second": text(Number(change.b, share)),
                "change": text(Number(change.difference, share, signed=True)),
                "marked": bool(change.mark),
                "side": "up" if change.low > 0 else "down" if change.high < 0 else "same",
                "between": " to ".join(text(Number(end, share, signed=True)) for end in (change.low, change.high))
                if change.low == change.low
                else change.untested,
                "p": text(Number(change.p, p=True)),
                "d": text(Number(change.effect, signed=True, decimals=2)),
                "moved": (change.up, change.down, change.same),
                "drawing": {"low": low, "middle": middle, "high": high, "zero": WIDTH / 2, "width": WIDTH},
            }
        )
    return rows


def _together(pairs: Sequence[Pair]) -> dict[str, Any]:
    """A row a measure: the first run's mean, then each other run's difference from it."""
    by_run = [{change.number: change for change in _overall(pair.comparison.changes)} for pair in pairs]
    places = dict.fromkeys(place for changes in by_run for place in changes)
    rows = []
    for place in places:
        own = [changes.get(place) for changes in by_run]
        cells = _rows([change for change in own if change])
        filled = iter(cells)
        rows.append({**cells[0], "cells": [next(filled) if change else None for change in own]})
    return {
        "first": pairs[0].a,
        "runs": [pair.b for pair in pairs],
        "rows": rows,
        "group": _overall(pairs[0].comparison.changes)[0].group,
    }


def text(cell: Cell) -> str:
    """What a cell shows in a page: fractions with three decimals, ranks and counts with one, others as in the terminal."""
    number = Number(cell, share=True) if isinstance(cell, float) else cell
    if isinstance(number, Number) and number.decimals == Number.decimals and not number.p:
        number = replace(number, decimals=3 if number.share else 1)
    return shown(number)
