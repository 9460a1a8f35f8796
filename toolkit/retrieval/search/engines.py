"""What each kind of system needs to search: its index, opened or made first, and the stage that searches it."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.datasets import TopicSet
from toolkit.files.formats.indexes import NAME
from toolkit.retrieval.index import Index, Source
from toolkit.retrieval.search.chosen_system import Chosen

if TYPE_CHECKING:
    from toolkit.engine import Executor
    from toolkit.models.encoders.base import Encoder
    from toolkit.retrieval.steps import Tools

Candidates = Mapping[str, Sequence[str]]  # query id -> the only documents that it may find


@dataclass(frozen=True)
class SearchOptions:
    """What every engine takes: documents a query, threads of the search (models take all cores), and how a model is loaded.

    language  for an index that does not record its own
    asking    how a model on a server is asked: `concurrency`, `retries`, `timeout`, `replay`

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

    def __post_init__(self):
        check_counts(hits=self.hits, threads=self.threads, batch_size=self.batch_size)

    def model(self) -> dict[str, Any]:
        """What the loaders of models take."""
        how = {"device": self.device, "precision": self.precision, "trust_remote_code": self.trust_remote_code}
        return how | ({"batch_size": self.batch_size} if self.batch_size else {}) | dict(self.asking)


class Engine(ABC):
    """One system over the corpora of some topics. A copy of it in another process can `search` and nothing else.

    sources  where the index of each part of the topics comes from, parallel to `topics.parts`
    """

    OPENED: tuple[str, ...] = ()  # properties that open an index, or read documents: they stay in this process
    LEFT: tuple[str, ...] = ()  # others that stay here

    chosen: Chosen
    options: SearchOptions
    sources: tuple[Source, ...]

    def __getstate__(self) -> dict[str, Any]:
        left = (*self.OPENED, *self.LEFT, "sources", "_parts")
        return {name: value for name, value in self.__dict__.items() if name not in left}

    @abstractmethod
    def open(self, executor: Executor | None = None) -> list[Index]:
        """Open every index, make it first where it is not there; parallel to `sources`.

        executor  who encodes documents of an index that is made
        """

    @abstractmethod
    def search(
        self, topics: Sequence[Topic], index: Index, candidates: Candidates | None = None, encoder: Encoder | None = None
    ) -> Run:
        """The run of one part of the topics; `encoder` has what the model has made of them where that was done before."""

    def use(self, tools: Tools) -> None:
        """What it may use beside: a place for partial results."""
        return

    def facts(self) -> dict[str, Any]:
        """What a run's record says of how it was searched, known since it was."""
        return {}

    def plan(self, topics: TopicSet) -> list[str]:
        """What of it a dry run should say beside its sources: what would be asked of a server."""
        return []

    def close(self) -> None:
        """Close what is open of indexes and documents: it would take memory, and others may lie there later."""
        for name in self.OPENED:
            self.__dict__.pop(name, None)

    def searched(self, index: Index) -> str:
        """What tells an index, as this process sees it, from others, wherever its files are.

        The digest of its record, compared with its files; without one, of its files' names and sizes.
        """
        from toolkit.files.provenance import comparing, file_digest

        folder = index.folder
        with comparing([folder]):
            if index.record is not None and (record := folder / NAME).exists():
                return file_digest(record)
        files = [(str(path.relative_to(folder)), path.stat().st_size) for path in folder.rglob("*") if path.is_file()]
        return hashlib.sha256(repr(sorted(files)).encode()).hexdigest()


NEURAL = ("dense", "multivector", "impact")
RETRIEVER = "retriever"  # it needs no index
# kind -> module and class, loaded with the first system of the kind
ENGINES = {
    "bm25": ("lexical_engines", "Lucene"),
    "okapi": ("lexical_engines", "Okapi"),
    "bm25-fields": ("lexical_engines", "Fields"),
    **dict.fromkeys(NEURAL, ("neural_engine", "Neural")),
    RETRIEVER: ("retriever_objects", "Objects"),
}


def engine(chosen: Chosen, topics: TopicSet, index: str, options: SearchOptions) -> Engine:
    """The engine of a system's kind; ToolkitError for a kind that searches nothing."""
    kind = chosen.spec.kind
    if kind not in ENGINES:
        hint = f"kinds that can: {', '.join(ENGINES)}; `tandem rerank` takes rerankers"
        raise ToolkitError(f"system {chosen.spec.name} is of kind {kind}, which cannot search an index", hint)
    module, name = ENGINES[kind]
    return getattr(import_module(f"toolkit.retrieval.search.{module}"), name)(chosen, topics, index, options)


class Search(NamedTuple):
    """Topics over one folder: of an index by its number, or of a question that has its own in there."""

    index: int
    folder: Path
    topics: Sequence[Topic]


def check_same(engine: Engine, indexes: Sequence[Index], facts: Mapping[str, Any]) -> None:
    """Raise ToolkitError where workers, whose facts these are, see another index than this process."""
    for index, theirs in zip(indexes, facts["indexes"], strict=True):
        if engine.searched(index) != theirs:
            hint = "give every node the same files in the same place"
            raise ToolkitError(f"workers do not see {index.name} as it is here ({index.folder})", hint)
