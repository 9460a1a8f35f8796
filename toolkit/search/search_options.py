"""How to search, whatever is searched for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError

if TYPE_CHECKING:
    from toolkit.search.candidate_sets import CandidateSets


@dataclass(frozen=True)
class SearchOptions:
    """What every engine takes.

    hits                documents a query
    threads             of the search; models take all cores
    language            for an index that does not record its own
    device, precision, batch_size
                        of models; None where they are to choose
    trust_remote_code   whether a checkpoint may bring code that is run
    candidates          the only documents that each query may find; None where all may be found

    Raises ToolkitError for a number below 1.
    """

    hits: int
    threads: int
    language: str | None = None
    device: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    trust_remote_code: bool = False
    candidates: CandidateSets | None = None

    def __post_init__(self):
        for name in ("hits", "threads", "batch_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ToolkitError(f"{name.replace('_', ' ')} is {value}", "a whole number from 1 on")

    def search(self) -> dict[str, Any]:
        """What every search takes."""
        return {"hits": self.hits, "candidates": self.candidates.docs if self.candidates else None}

    def model(self) -> dict[str, Any]:
        """What the loaders of models take."""
        how = {"device": self.device, "precision": self.precision, "trust_remote_code": self.trust_remote_code}
        return how | ({"batch_size": self.batch_size} if self.batch_size else {})
