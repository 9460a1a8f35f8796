"""What each kind of system needs to search: its index, opened or made first, and the stage that searches it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from toolkit.benchmarks import TopicSet
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.index import Index, Source, find_index
from toolkit.pipeline.method import Chosen
from toolkit.pipeline.neural import Dense, Impact, Late
from toolkit.pipeline.options import Options
from toolkit.search import check_parameters, search


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


class Lexical:
    """BM25 over Lucene."""

    def __init__(self, chosen: Chosen, topics: TopicSet, index: str, options: Options):
        check_parameters(chosen.parameters["k1"], chosen.parameters["b"], options.hits, options.threads)
        where = find_index(index)
        self.chosen, self._options = chosen, options
        self.sources = tuple(where(part.group) for part in topics.parts)

    def open(self) -> list[Index]:
        """Every index; one of the benchmark's own is built where it is not there yet."""
        return [source.open(self._options.threads) for source in self.sources]

    def search(self, topics: Sequence[Topic], index: Index) -> Run:
        """Anserini's run, with the analyzer of the index's language."""
        options, wanted = self._options, self._options.language
        if wanted and index.language and wanted != index.language:
            raise ToolkitError(f"index {index.name} was made for language {index.language}", "leave --language out")
        how: dict[str, Any] = {"hits": options.hits, "threads": options.threads, "tag": self.chosen.tag}
        return search(topics, index.folder, language=index.language or wanted or "en", **self.chosen.parameters, **how)


ENGINES: dict[str, type[Engine]] = {"bm25": Lexical, "dense": Dense, "multivector": Late, "impact": Impact}


def engine(chosen: Chosen, topics: TopicSet, index: str, options: Options) -> Engine:
    """The engine of a system's kind; ToolkitError for a kind that searches nothing."""
    kind = chosen.spec.kind
    if kind not in ENGINES:
        kinds = ", ".join(ENGINES)
        raise ToolkitError(
            f"system {chosen.spec.name} is of kind {kind}, which cannot search an index", f"kinds that can: {kinds}"
        )
    return ENGINES[kind](chosen, topics, index, options)
