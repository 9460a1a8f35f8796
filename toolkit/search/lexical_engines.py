"""Engines of BM25: Lucene's, and those of the papers' released code, which search documents without an index of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.benchmarks import Benchmark, Collection, TopicSet, find, load, open_collection
from toolkit.core.errors import ToolkitError
from toolkit.core.home import home
from toolkit.core.runs import Run
from toolkit.core.templates import topic_input
from toolkit.core.topics import Topic
from toolkit.formats.documents import ContentDigest, is_empty
from toolkit.index import Index, Source, find_index, own_name
from toolkit.models.jvm import check_installed
from toolkit.search import check_parameters, search
from toolkit.search.chosen_system import Chosen
from toolkit.search.per_query_search import check_per_query, search_per_query
from toolkit.search.search_options import SearchOptions

CORPUS = "corpus"  # the kind of what is searched without an index


class Lexical:
    """What all engines of BM25 have in common: nothing about them is known only after they have searched."""

    def facts(self) -> dict[str, Any]:
        """Nothing."""
        return {}


class Lucene(Lexical):
    """BM25 over a Lucene index."""

    def __init__(self, chosen: Chosen, topics: TopicSet, index: str, options: SearchOptions):
        said = {"k1": 0.9, "b": 0.4, **chosen.parameters}  # an entry of the user's may leave them to Anserini
        check_parameters(said["k1"], said["b"], options.hits, options.threads)
        where = find_index(index)
        check_installed()
        self.chosen, self._parts, self._options = chosen, topics.parts, options
        self.sources = tuple(where(part.group) for part in topics.parts)

    def open(self) -> list[Index]:
        """Every index; one of the benchmark's own is built where it is not there yet."""
        opened = [source.open(self._options.threads) for source in self.sources]
        check_per_query((part.topics, index.folder) for part, index in zip(self._parts, opened, strict=True))
        return opened

    def search(self, topics: Sequence[Topic], index: Index) -> Run:
        """Anserini's run, with the analyzer of the index's language."""
        options, wanted = self._options, self._options.language
        if wanted and index.language and wanted != index.language:
            raise ToolkitError(f"index {index.name} was made for language {index.language}", "leave --language out")
        how: dict[str, Any] = {**options.search(), "threads": options.threads, "tag": self.chosen.tag}
        sent = [replace(topic, text=topic_input(self.chosen.spec.templates, topic).whole) for topic in topics]
        ask = partial(search, language=index.language or wanted or "en", **self.chosen.parameters, **how)
        return search_per_query(sent, index.folder, ask, self.chosen.tag)


class Collected(Lexical):
    """What the two recipes have in common: the documents themselves, of a benchmark's own corpora."""

    def __init__(self, chosen: Chosen, topics: TopicSet, index: str, options: SearchOptions):
        self.chosen, self._options = chosen, options
        self._docs: dict[str, Callable] = {}
        where = _corpora(index, chosen)
        if chosen.spec.kind == "bm25-fields":
            check_installed()
        self.sources = tuple(self._source(*where(part.group)) for part in topics.parts)

    def open(self) -> list[Index]:
        """Each collection, read once to know what was searched."""
        return [source.open(1) for source in self.sources]

    def _source(self, collection: Collection, group: str) -> Source:
        name = own_name(collection, group)
        if isinstance(collection, Benchmark):
            collection.check_docs(group)
        self._docs[name] = lambda: collection.docs(group)
        return Source(name, f"the documents of {name}", lambda threads: _as_index(name, collection, group))


class Okapi(Collected):
    """InfoSearch's recipe: every document of the collection is scored."""

    def search(self, topics: Sequence[Topic], index: Index) -> Run:
        """rank_bm25's run."""
        from toolkit.search.okapi import search_okapi

        how = {**self._options.search(), "templates": self.chosen.spec.templates, "tag": self.chosen.tag}
        return search_okapi(topics, self._docs[index.name](), **self.chosen.parameters, **how)


class Fields(Collected):
    """InstructIR's recipe: title and text are two fields."""

    def search(self, topics: Sequence[Topic], index: Index) -> Run:
        """The run of a weighted sum of BM25 in both fields; their index is cached under TANDEM_HOME."""
        from toolkit.search.fields import search_fields

        folder, options = home() / "indexes" / "own" / f"{index.name}.fields", self._options
        how = {**options.search(), "threads": options.threads, "language": options.language or "en", "tag": self.chosen.tag}
        templates = self.chosen.spec.templates
        return search_fields(topics, self._docs[index.name], folder, templates=templates, **self.chosen.parameters, **how)


def _corpora(name: str, chosen: Chosen) -> Callable[[str], tuple[Collection, str]]:
    """The function from a group of topics to the corpus that a name means for it."""
    if Path(name).is_dir() or name in registry.indexes() or name in registry.index_aliases():
        hint = "name a benchmark, or leave --index out"
        raise ToolkitError(f"{chosen.name} searches the documents themselves, not an index", hint)
    selection = find(name)
    collection = load(selection.benchmark) if selection else open_collection(name)
    groups = selection.groups if selection else collection.groups

    def of(group: str) -> tuple[Collection, str]:
        if len(groups) > 1 and group not in groups:
            raise ToolkitError(f"{name} has several corpora", f"name one of them: {name}-{f', {name}-'.join(groups)}")
        return collection, group if group in groups else groups[0]

    return of


def _as_index(name: str, collection: Collection, group: str) -> Index:
    content, documents = ContentDigest(), 0
    for doc in collection.docs(group):
        if not is_empty(doc):
            content.add(doc)
            documents += 1
    return Index(name, Path(), None, {"documents": documents, "corpus": {"name": name, "content": content.hexdigest()}}, CORPUS)
