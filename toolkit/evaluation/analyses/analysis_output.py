"""Analyses as a table with a row for each run and measure; `evaluate`'s long format is for programs."""

from toolkit.core.scores import Score, Scores
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.evaluation.scores.score_table import is_share

HEADS = ("run", "group", "query", "measure")
LABELS = "labels"  # of `analyze dimensions`: how many an instruction has on average


def lay_out(scores: Scores) -> Table:
    """A row for each run, group, query and measure (what varies of them), a column for each mode."""
    modes = list(dict.fromkeys(row.mode for row in scores.rows))
    lines: dict[tuple[str, ...], dict[str, Cell]] = {}
    for row in scores.rows:
        lines.setdefault((row.run, row.group, row.query_id or "all", row.measure), {})[row.mode] = _cell(row)
    shown = [part for part in range(4) if part == 3 or len({key[part] for key in lines}) > 1 or part == 0]
    columns = [Column(HEADS[part], label=True) for part in shown] + [Column(mode) for mode in modes]
    rows = [[*(key[part] for part in shown), *(cells.get(mode) for mode in modes)] for key, cells in lines.items()]
    return Table(columns, rows, scores.notes)


def _cell(row: Score) -> Cell:
    """Counts are whole numbers."""
    return row.value if isinstance(row.value, int) else Number(row.value, share=is_share(row.measure) and row.mode != LABELS)
