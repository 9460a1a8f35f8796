"""Scores as text: the table, or the long format for programs."""

from __future__ import annotations

import csv
import io
import json
import math
from itertools import groupby

from toolkit.core.modes import join_mode
from toolkit.core.scores import Score, Scores
from toolkit.evaluate.table import PAIRED, lay_out, to_latex, to_text

SCHEMA = 1
COLUMNS = ("run", "group", "mode", "measure", "value", "queries")
FORMATS = ("table", "json", "csv", "latex", "trec")


def render(scores: Scores, format: str, *, by_query: bool = False, width: int | None = None) -> str:
    """The scores in one of `FORMATS`; width is a terminal's, in characters, for the table alone.

    `table` and `json` hold the notes too; the other formats have no place for them.
    """
    if format == "table":
        notes = "".join(f"{note}\n" for note in scores.notes)
        return to_text(lay_out(scores), width) + (f"\n{notes}" if notes else "")
    if format == "latex":
        return to_latex(lay_out(scores))
    if format == "json":
        return _json(scores, by_query)
    return _csv(scores, by_query) if format == "csv" else _trec(scores)


def _columns(by_query: bool) -> tuple[str, ...]:
    return (*COLUMNS, "query_id") if by_query else COLUMNS


def _json(scores: Scores, by_query: bool) -> str:
    rows = [{name: getattr(row, name) for name in _columns(by_query)} for row in scores.rows]
    for row in rows:
        if math.isnan(row["value"]):  # JSON has no NaN
            row["value"] = None
    # one row a line: readable, and line tools see a changed number
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
    notes = json.dumps(list(scores.notes), ensure_ascii=False)
    return f'{{"schema": {SCHEMA}, "rows": [\n{lines}\n], "notes": {notes}}}\n'


def _csv(scores: Scores, by_query: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_columns(by_query))
    for row in scores.rows:
        value = "" if math.isnan(row.value) else repr(float(row.value))
        writer.writerow([value if name == "value" else getattr(row, name) for name in _columns(by_query)])
    return text.getvalue()


def _trec(scores: Scores) -> str:
    """trec_eval's lines, measure, query and value divided by tabs, after a `runid` line for each run.

    A query carries its mode, and so does the group that stands in its place in an aggregate (`all`, `audience-ins`).
    """
    lines = []
    for run, rows in groupby(scores.rows, lambda row: row.run):
        lines.append(f"runid\tall\t{run}")
        lines += [f"{row.measure}\t{_subject(row)}\t{row.value:.4f}" for row in rows]
    return "\n".join(lines) + "\n"


def _subject(row: Score) -> str:
    return join_mode(row.query_id or row.group, "" if row.mode == PAIRED else row.mode)
