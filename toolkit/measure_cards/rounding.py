"""How far a measure depends on digits of scores: the same runs with scores rounded, as some tools write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from toolkit.core.aligned_table import Column, Number, Table
from toolkit.core.runs import Run
from toolkit.core.scores import OVERALL, Score, Scores
from toolkit.evaluate.evaluation import prepare

TOLERANCE = 1e-9


def rounded(run: Run, digits: int) -> Run:
    """The run with its scores rounded to so many digits after the point."""
    return replace(run, scores=np.round(run.scores, digits))


def rounding(
    runs: Sequence[Any],
    *,
    benchmark: str | None = None,
    qrels: Sequence[Any] | None = None,
    modes: Mapping[str, str] | None = None,
    measures: Sequence[str] | None = None,
    digits: int = 3,
) -> Table:
    """For each run, measure and mode: its value, that of rounded scores, and the share of queries whose value changes.

    runs ... measures  as `toolkit.evaluate.evaluate` takes them
    digits             after the point

    Raises ToolkitError as `evaluate` does.
    """
    given = prepare(runs, benchmark, qrels, None, "tandem", modes=modes, measures=measures)
    before = given.scores(measures, by_query=True)
    shorter = tuple(rounded(run, digits) for run in given.runs)
    after = replace(given, runs=shorter).scores(measures, by_query=True)
    labels = (Column("run", label=True), Column("measure", label=True), Column("mode"))
    columns = (*labels, Column("value"), Column("rounded"), Column("changed"), Column("queries"))
    note = f"changed: the share of queries whose value is another one where scores have {digits} digits after the point"
    return Table(columns, list(_rows(before, after)), [note])


def _rows(before: Scores, after: Scores) -> Iterator[tuple[str | int | Number, ...]]:
    values, others = _by_query(before), _by_query(after)
    overall = {_place(row): row.value for row in _overall(after)}
    for row in _overall(before):
        own, other = values.get(_place(row), {}), others.get(_place(row), {})
        if own:
            changed = sum(abs(own[query] - other[query]) > TOLERANCE for query in own) / len(own)
            shares = Number(row.value), Number(overall[_place(row)]), Number(changed, share=True)
            yield row.run, row.measure, row.mode, *shares, len(own)


def _place(row: Score) -> tuple[str, str, str]:
    return row.run, row.measure, row.mode


def _overall(scores: Scores) -> list[Score]:
    """The values over all groups; where there is one group alone, its own."""
    rows = [row for row in scores.rows if not row.query_id]
    return [row for row in rows if row.group in OVERALL] or rows


def _by_query(scores: Scores) -> dict[tuple[str, str, str], dict[str, float]]:
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in scores.rows:
        if row.query_id:
            found.setdefault(_place(row), {})[f"{row.group} {row.query_id}"] = row.value
    return found
