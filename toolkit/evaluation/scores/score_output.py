"""Scores as text: the table, or the long format for programs."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from toolkit.core.modes import join_mode
from toolkit.core.scores import PAIRED, Score, Scores
from toolkit.core.tables.aligned_table import Table, to_text
from toolkit.core.tables.table_forms import FORMS
from toolkit.core.tables.tabular import to_csv, to_json
from toolkit.evaluation.scores.score_table import lay_out, lay_out_measures

COLUMNS = ("run", "group", "mode", "measure", "value", "queries")
INTERVAL = ("interval_low", "interval_high")  # of the value itself
CHANGES = ("difference", "low", "high", "p", "holm")  # from a baseline


def render(scores: Scores, format: str, *, by_query: bool = False) -> str:
    """The scores as `table`, `json`, `csv`, `tsv`, `latex`, `markdown` or `trec`, all of them.

    `table` and `json` hold the notes too; the other formats have no place for them.
    """
    forms = long_forms(scores, by_query=by_query)
    if format in forms:
        return forms[format]()
    table = lay_out(scores)
    return to_text([table]) if format == "table" else FORMS[format](table)


def long_forms(scores: Scores, *, by_query: bool = False) -> dict[str, Callable[[], str]]:
    """format -> what makes it, of those that have a row a number: `json`, `csv`, `trec`."""
    columns = (*COLUMNS, *(("query_id",) if by_query else ()), *(INTERVAL if scores.intervals else ()))
    columns = (*columns, *(CHANGES if scores.changes else ()))

    def records() -> list[dict[str, Any]]:
        return [{name: value_of(row, name) for name in columns} for row in scores.rows]

    def value_of(row: Score, name: str) -> Any:
        if name in INTERVAL:
            bounds = scores.interval(row)
            return bounds and bounds[INTERVAL.index(name)]
        return getattr(row, name, getattr(scores.change(row), name, None))

    return {
        "json": lambda: to_json(records(), scores.notes),
        "csv": lambda: to_csv(columns, [{**record, "value": float(record["value"])} for record in records()]),
        "trec": lambda: _trec(scores),
    }


Shown = tuple[Sequence[Table], Mapping[str, Callable[[], str]]]  # tables, and format -> its text where that has other rows


def shown(scores: Scores, *, by_query: bool = False) -> Shown:
    """Scores with a row a measure."""
    return [lay_out_measures(scores)], long_forms(scores, by_query=by_query)


def _trec(scores: Scores) -> str:
    """trec_eval's lines, measure, query and value divided by tabs, after a `runid` line for each run.

    A query carries its mode, and so does the group that stands in its place in an aggregate (`all`, `audience-ins`).
    """
    lines = []
    for run, rows in groupby(scores.rows, lambda row: row.run):
        lines.append(f"runid\tall\t{run}")
        for row in rows:
            subject = join_mode(row.query_id or row.group, "" if row.mode == PAIRED else row.mode)
            lines.append(f"{row.measure}\t{subject}\t{row.value:.4f}")
    return "\n".join(lines) + "\n"
