"""What each kind of system needs to search: its index, opened or made first, and the stage that searches it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from toolkit.benchmarks import TopicSet
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.index import Index, Source
from toolkit.search.chosen_system import Chosen
from toolkit.search.search_options import SearchOptions


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
