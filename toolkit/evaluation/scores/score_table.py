"""Scores as tables: the paper's, with a row per group and a column per measure and mode; and with a row per measure."""

import math
from collections.abc import Iterator, Sequence

from toolkit import registry
from toolkit.core.scores import PAIRED, Change, Scores
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.evaluation.comparison.references import reference_of

HEADS = ("run", "group", "query")
LABELS = "labels"  # the mode of what `analyze dimensions` counts: labels that an instruction has on average
COUNTS = ("CoveringPrefix", "NumRel", "NumRelRet", "NumRet", "NumQ")  # beside our own measures of ranks

Key = tuple[str, str, str]  # run, group, query
Place = tuple[str, str]  # measure, mode


def lay_out(scores: Scores) -> Table:
    """The scores as a table: a run's rows, below them its references (the last group alone, the average), how it differs
    from the baseline, and its controls. Where not all columns fit, the first measure and those over pairs of modes come first.
    """
    values: dict[Key, dict[Place, Number]] = {}
    changes: dict[Key, dict[Place, Change]] = {}
    bounds: dict[Key, dict[Place, tuple[float, float]]] = {}
    for row in scores.rows:
        key, place = (row.run, row.group, row.query_id), (row.measure, row.mode)
        change = scores.change(row)
        values.setdefault(key, {})[place] = Number(row.value, share=is_share(row.measure), mark=change.mark if change else "")
        if change:
            changes.setdefault(key, {})[place] = change
        if interval := scores.interval(row):
            bounds.setdefault(key, {})[place] = interval
    measures = list(dict.fromkeys(row.measure for row in scores.rows))  # the modes of one stand beside each other
    places = sorted(dict.fromkeys((row.measure, row.mode) for row in scores.rows), key=lambda place: measures.index(place[0]))
    last = {run: group for run, group, query_id in values if not query_id}
    keys = [key for key in values if not reference_of(key[0]) or key[1] == last[key[0]]]
    # references and controls, which stand below their run, are called by what they are
    controls = {run: what for run, (what, _) in scores.controls.items()}
    labels = [(controls.get(run) or reference_of(run) or run, group, query_id or "all") for run, group, query_id in keys]
    parts = [part for part in range(3) if len({label[part] for label in labels}) > 1] or [0]
    if changes or bounds:
        parts = sorted({0, *parts})  # differences and intervals are named there
    rows: list[Sequence[Cell]] = []
    below, details = set(), set()
    for key, label in zip(keys, labels, strict=True):
        if reference_of(key[0]) or key[0] in scores.controls:
            below.add(len(rows))
        rows.append([*(label[part] for part in parts), *(values[key].get(place) for place in places)])
        for name, cells in _below(bounds.get(key), changes.get(key), places):
            below.add(len(rows))
            if key[1] != last[key[0]]:
                details.add(len(rows))
            rows.append([name, *("" for _ in parts[1:]), *cells])
    columns = [Column(HEADS[part], label=True) for part in parts] + _columns(places)
    names = {"differences": changes, "intervals": bounds}
    hidden = f"{' and '.join(name for name, there in names.items() if there)} within groups" if details else ""
    return Table(columns, rows, scores.notes, below=frozenset(below), details=frozenset(details), details_name=hidden)


def lay_out_measures(scores: Scores) -> Table:
    """A row for each run, group, query and measure (what varies of them), a column for each mode; whole numbers are counts."""
    modes = list(dict.fromkeys(row.mode for row in scores.rows))
    lines: dict[tuple[str, ...], dict[str, Cell]] = {}
    for row in scores.rows:
        share = is_share(row.measure) and row.mode != LABELS
        cell = row.value if isinstance(row.value, int) else Number(row.value, share=share)
        lines.setdefault((row.run, row.group, row.query_id or "all", row.measure), {})[row.mode] = cell
    heads = (*HEADS, "measure")
    shown = [part for part in range(4) if part in (0, 3) or len({key[part] for key in lines}) > 1]
    columns = [Column(heads[part], label=True) for part in shown] + [Column(mode) for mode in modes]
    rows = [[*(key[part] for part in shown), *(cells.get(mode) for mode in modes)] for key, cells in lines.items()]
    return Table(columns, rows, scores.notes)


def _columns(places: Sequence[Place]) -> list[Column]:
    first, ours = places[0][0] if places else "", list(registry.measures())
    columns = []
    for measure, mode in places:
        spec = registry.measure(measure)
        headline = spec.over == "paired" and spec.direction != "none"
        priority = 0 if measure == first else 1 + ours.index(spec.name) if headline else 1 + len(ours)
        order = {"priority": priority, "lower": spec.direction == "lower"}
        columns.append(Column(measure, **order) if mode in ("", PAIRED) else Column(mode, above=measure, **order))
    return columns


def _below(
    bounds: dict[Place, tuple[float, float]] | None, changes: dict[Place, Change] | None, places: Sequence[Place]
) -> Iterator[tuple[str, list[Cell]]]:
    """The rows below a run's own: from where to where each value may lie; the difference from the baseline, its interval, p."""
    for end, name in enumerate(("interval from", "interval to")) if bounds else ():
        yield name, [Number(bounds[place][end], share=is_share(place[0])) if place in bounds else None for place in places]
    if changes:
        for name, field in (("difference", "difference"), ("95 % from", "low"), ("95 % to", "high")):
            found = {place: getattr(change, field) for place, change in changes.items()}
            yield name, [Number(found[at], share=is_share(at[0]), signed=True) if at in found else None for at in places]
        yield "p", [Number(changes[place].p, p=True) if place in changes else None for place in places]


def is_share(measure: str) -> bool:
    """Whether values of a measure are fractions: neither ranks nor counts."""
    spec = registry.measure(measure)
    return spec.unit == "fraction" and spec.name not in COUNTS


def number(value: float) -> str:
    """Four decimals; `-` where there is no value."""
    return "-" if math.isnan(value) else f"{value:.4f}"
