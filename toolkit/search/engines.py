"""What each kind of system needs to search: its index, opened or made first, and the stage that searches it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from toolkit.benchmarks import TopicSet
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.index import Index, Source
from toolkit.search.chosen_system import Chosen

if TYPE_CHECKING:
    from toolkit.search.candidates import CandidateSets


@dataclass(frozen=True)
class SearchOptions:
    """What every engine takes.

    hits                documents a query
    threads             of the search; models take all cores
    language            for an index that does not record its own
    device, precision, batch_size
                        of models; None where they are to choose
    trust_remote_code   whether a checkpoint may bring code that is run
    asking              how a model on a server is asked: `concurrency`, `retries`, `timeout`, `replay`
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
    asking: Mapping[str, Any] = field(default_factory=dict)
    candidates: CandidateSets | None = None

    def __post_init__(self):
        check_counts(hits=self.hits, threads=self.threads, batch_size=self.batch_size)

    def search(self) -> dict[str, Any]:
        """What every search takes."""
        return {"hits": self.hits, "candidates": self.candidates.docs if self.candidates else None}

    def model(self) -> dict[str, Any]:
        """What the loaders of models take."""
        how = {"device": self.device, "precision": self.precision, "trust_remote_code": self.trust_remote_code}
        return how | ({"batch_size": self.batch_size} if self.batch_size else {}) | dict(self.asking)


class Engine(Protocol):
    """One system over the corpora of some topics.

    sources  where the index of each part of the topics comes from, parallel to `topics.parts`
    """

    chosen: Chosen
    sources: tuple[Source, ...]

    def open(self) -> list[Index]:
        """Open every index, make it first where it is not there; parallel to `sources`."""

    def search(self, topics: Sequence[Topic], index: Index) -> Run:
        """The run of one part of the topics."""

    def facts(self) -> dict[str, Any]:
        """What a run's record says of how it was searched, known since it was."""

    def plan(self, topics: TopicSet) -> list[str]:
        """What of it a dry run should say beside its sources: what would be asked of a server."""


NEURAL = ("dense", "multivector", "impact")
# kind -> module and class, loaded with the first system of the kind
ENGINES = {
    "bm25": ("lexical_engines", "Lucene"),
    "okapi": ("lexical_engines", "Okapi"),
    "bm25-fields": ("lexical_engines", "Fields"),
    **dict.fromkeys(NEURAL, ("neural_engine", "Neural")),
}


def engine(chosen: Chosen, topics: TopicSet, index: str, options: SearchOptions) -> Engine:
    """The engine of a system's kind; ToolkitError for a kind that searches nothing."""
    kind = chosen.spec.kind
    if kind not in ENGINES:
        hint = f"kinds that can: {', '.join(ENGINES)}; `tandem rerank` takes rerankers"
        raise ToolkitError(f"system {chosen.spec.name} is of kind {kind}, which cannot search an index", hint)
    module, name = ENGINES[kind]
    return getattr(import_module(f"toolkit.search.{module}"), name)(chosen, topics, index, options)
