"""Scores as text: the table, or the long format for programs."""

from __future__ import annotations

from itertools import groupby

from toolkit.core.modes import join_mode
from toolkit.core.scores import Score, Scores
from toolkit.core.tabular import to_csv, to_json
from toolkit.evaluate.score_table import PAIRED, lay_out, to_latex, to_text

COLUMNS = ("run", "group", "mode", "measure", "value", "queries")
CHANGES = ("difference", "low", "high", "detectable", "p", "holm")  # from a baseline


def render(scores: Scores, format: str, *, by_query: bool = False, width: int | None = None) -> str:
    """The scores as `table`, `json`, `csv`, `latex` or `trec`; width is a terminal's, in characters, for the table alone.

    `table` and `json` hold the notes too; the other formats have no place for them.
    """
    if format == "table":
        notes = "".join(f"{note}\n" for note in scores.notes)
        return to_text(lay_out(scores), width) + (f"\n{notes}" if notes else "")
    if format == "latex":
        return to_latex(lay_out(scores))
    if format == "trec":
        return _trec(scores)
    columns = (*COLUMNS, *(("query_id",) if by_query else ()), *(CHANGES if scores.changes else ()))
    records = [{name: getattr(row, name, getattr(scores.change(row), name, None)) for name in columns} for row in scores.rows]
    if format == "json":
        return to_json(records, scores.notes)
    return to_csv(columns, [{**record, "value": float(record["value"])} for record in records])


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
