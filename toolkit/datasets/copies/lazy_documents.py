"""Local copies: documents that are read when they are asked for, and what is said of a copy that has changed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.home import home
from toolkit.datasets.copies.row_values import documents


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Within it, what cannot be read of a copy was sound when it was stored: the ToolkitError says how to get it again."""
    try:
        yield
    except ToolkitError as error:
        hint = f"the copy has changed: tandem cache remove {folder.relative_to(home())}, and fetch it again"
        raise ToolkitError(error.message, hint, problems=error.problems, status=1) from error


@dataclass(frozen=True)
class StoredDocs(Sequence[Doc]):
    """The documents of a local copy, read when they are asked for: topics and judgments need not wait for a corpus."""

    folder: Path
    table: str

    @cached_property
    def _docs(self) -> list[Doc]:
        with unchanged(self.folder):
            return list(documents(self.folder, self.table, []).values())

    def __len__(self) -> int:
        return len(self._docs)

    def __getitem__(self, place: int | slice) -> Doc | list[Doc]:
        return self._docs[place]
