"""Analyses as text: a table with a row for each run and measure, or `evaluate`'s long format for programs."""

from __future__ import annotations

from toolkit.core.scores import Score, Scores
from toolkit.core.tabular import aligned
from toolkit.evaluate.score_output import render as long_table
from toolkit.evaluate.score_table import number

HEADS = ("run", "group", "query", "measure")


def render(scores: Scores, format: str, *, by_query: bool = False) -> str:
    """Scores as `table`, `json` or `csv`; counts, which are whole numbers in them, are shown without decimals."""
    if format != "table":
        return long_table(scores, format, by_query=by_query)
    notes = "".join(f"{note}\n" for note in scores.notes)
    return "\n".join(_table(scores.rows)) + "\n" + (f"\n{notes}" if notes else "")


def _table(rows: tuple[Score, ...]) -> list[str]:
    """A line for each run, group, query and measure (what varies of them), a column for each mode."""
    modes = list(dict.fromkeys(row.mode for row in rows))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        cell = f"{row.value:,}" if isinstance(row.value, int) else number(row.value)
        lines.setdefault((row.run, row.group, row.query_id or "all", row.measure), {})[row.mode] = cell
    shown = [column for column in range(4) if column == 3 or len({key[column] for key in lines}) > 1 or column == 0]
    table = [[HEADS[column] for column in shown] + modes]
    table += [[key[column] for column in shown] + [cells.get(mode, "") for mode in modes] for key, cells in lines.items()]
    return aligned(table, len(shown))
