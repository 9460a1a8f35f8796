"""What a call returns to a notebook or a script: shown as the tables that its command prints."""

import html
from collections.abc import Sequence

from toolkit.core.tables import tabular
from toolkit.core.tables.aligned_table import PLAIN, Table, cells_of, to_text


class ShownResult:
    """`str` is what the command prints, a notebook shows the same as tables: what is concluded stands above, notes below."""

    def tables(self) -> Sequence[Table]:
        """What is shown."""
        raise NotImplementedError

    def __str__(self) -> str:
        return to_text(list(self.tables()))

    def _repr_html_(self) -> str:
        return "".join(map(as_html, self.tables()))


def as_html(table: Table) -> str:
    """A table with its title above it and its notes below."""
    cells, _ = cells_of(table, PLAIN)
    heads = [column.title for column in table.columns]
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in dict.fromkeys(table.notes))
    title = f"<p>{html.escape(table.title.strip())}</p>" if table.title.strip() else ""
    return title + (tabular.to_html(heads, cells) if table.rows else "") + (f"<ul>{notes}</ul>" if notes else "")
