"""What a call returns to a notebook or a script: shown as the tables that its command prints."""

from collections.abc import Sequence

from toolkit.core.tables.aligned_table import Table, to_text


class ShownResult:
    """`str` is what the command prints, a notebook shows the same as tables: what is concluded stands above, notes below."""

    def tables(self) -> Sequence[Table]:
        """What is shown."""
        raise NotImplementedError

    def __str__(self) -> str:
        return to_text(list(self.tables()))

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables())
