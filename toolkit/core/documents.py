"""Documents: what is indexed, encoded, reranked and judged."""

from typing import NamedTuple


class Doc(NamedTuple):
    """One document of a corpus."""

    doc_id: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """What a system is given: title, one blank, text; the text alone without a title."""
        return f"{self.title} {self.text}" if self.title else self.text
