"""Scores as text: the table, or the long format for programs."""

from __future__ import annotations

import csv
import io
import json
from itertools import groupby
from typing import Any

from toolkit.core.modes import join_mode
from toolkit.core.scores import Score, Scores
from toolkit.evaluate.score_table import PAIRED, lay_out, to_latex, to_text

SCHEMA = 1
COLUMNS = ("run", "group", "mode", "measure", "value", "queries")
CHANGES = ("difference", "low", "high", "p", "holm")  # from a baseline
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


def _records(scores: Scores, by_query: bool) -> list[dict[str, Any]]:
    """A row's fields by name; None for no value, and for differences from a baseline where there is none."""
    columns = (*COLUMNS, "query_id") if by_query else COLUMNS
    records = []
    for row in scores.rows:
        record = {name: getattr(row, name) for name in columns}
        if scores.changes:
            change = scores.change(row)
            record |= {name: getattr(change, name, None) for name in CHANGES}
        records.append({name: None if value != value else value for name, value in record.items()})
    return records


def _json(scores: Scores, by_query: bool) -> str:
    # one row a line: readable, and line tools see a changed number
    lines = ",\n".join("  " + json.dumps(record, ensure_ascii=False) for record in _records(scores, by_query))
    notes = json.dumps(list(scores.notes), ensure_ascii=False)
    return f'{{"schema": {SCHEMA}, "rows": [\n{lines}\n], "notes": {notes}}}\n'


def _csv(scores: Scores, by_query: bool) -> str:
    text = io.StringIO()
    columns = (*COLUMNS, *(("query_id",) if by_query else ()), *(CHANGES if scores.changes else ()))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for record in _records(scores, by_query):
        value = record["value"]
        writer.writerow({**record, "value": value if value is None else float(value)})
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
