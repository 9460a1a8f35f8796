"""Engines of BM25: Lucene's, and those of the papers' released code, which search documents without an index of ours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.runs import Run
from toolkit.core.system.files import home
from toolkit.core.system.progress import progress, say
from toolkit.core.tables.columns import Ids, to_arrow
from toolkit.core.templates import doc_input, topic_input
from toolkit.core.topics import Topic, topics_by_id
from toolkit.datasets import Benchmark, Collection, TopicSet, find, load, open_collection
from toolkit.files.provenance import comparing
from toolkit.files.store import lock, new_folder
from toolkit.files.store.digests import write_digests
from toolkit.files.texts.documents import ContentDigest, is_empty
from toolkit.models.lucene.jvm import check_installed
from toolkit.retrieval.index import Index, Source, corpus_name, find_index
from toolkit.retrieval.search import check_parameters, search
from toolkit.retrieval.search.chosen_system import Chosen
from toolkit.retrieval.search.engines import Candidates, Engine, SearchOptions
from toolkit.retrieval.search.per_query_search import check_per_query, search_per_query

if TYPE_CHECKING:
    from toolkit.models.lucene.anserini import FieldSearcher
    from toolkit.models.lucene.okapi import Okapi as OkapiScores

CORPUS = "corpus"  # the kind of what is searched without an index
DIGEST = "documents.sha256"  # in the folder of an index with two fields: what it was built from


class Lucene(Engine):
    """BM25 over a Lucene index."""

    def __init__(self, chosen: Chosen, topics: TopicSet, index: str, options: SearchOptions):
        said = {"k1": 0.9, "b": 0.4, **chosen.parameters}  # an entry of the user's may leave them to Anserini
        check_parameters(said["k1"], said["b"], options.hits, options.threads)
        where = find_index(index)
        check_installed()
        self.chosen, self._parts, self.options = chosen, topics.parts, options
        self.sources = tuple(where(part.group) for part in topics.parts)

    def open(self, executor: Any = None) -> list[Index]:
        """Every index; one of the benchmark's own is built where it is not there yet."""
        opened = [source.open(self.options.threads) for source in self.sources]
        check_per_query((part.topics, index.folder) for part, index in zip(self._parts, opened, strict=True))
        return opened

    OPENED = ("_searcher",)

    @cached_property
    def _searcher(self) -> Callable[..., Any]:
        """Opens an index; the last one stays open, as several parts and blocks of topics are searched in it."""
        from toolkit.models.lucene.anserini import Searcher

        return lru_cache(maxsize=1)(Searcher)

    def search(self, topics: Sequence[Topic], index: Index, candidates: Candidates | None = None, encoder: Any = None) -> Run:
        """Anserini's run, with the analyzer of the index's language."""
        options, wanted = self.options, self.options.language
        if wanted and index.language and wanted != index.language:
            raise ToolkitError(f"index {index.name} was made for language {index.language}", "leave --language out")
        how: dict[str, Any] = {"hits": options.hits, "threads": options.threads, "tag": self.chosen.tag}
        how |= {"candidates": candidates, "opener": self._searcher}
        sent = [replace(topic, text=topic_input(self.chosen.spec.templates, topic).whole) for topic in topics]
        ask = partial(search, language=index.language or wanted or "en", **self.chosen.parameters, **how)
        return search_per_query(sent, index.folder, ask, self.chosen.tag)


class Collected(Engine):
    """What the two recipes have in common: the documents themselves, of a benchmark's own corpora."""

    def __init__(self, chosen: Chosen, topics: TopicSet, index: str, options: SearchOptions):
        self.chosen, self.options, self._named = chosen, options, (index, tuple(part.group for part in topics.parts))
        where = _corpora(index, chosen)
        if chosen.spec.kind == "bm25-fields":
            check_installed()
        self.sources = tuple(self._source(*where(part.group)) for part in topics.parts)

    def open(self, executor: Any = None) -> list[Index]:
        """Each collection, read once to know what was searched."""
        return [source.open(1) for source in self.sources]

    def searched(self, index: Index) -> str:
        """The digest of the documents."""
        return _as_index(index.name, self._docs[index.name]).record["corpus"]["content"]

    OPENED = ("_docs", "_opened")

    @cached_property
    def _docs(self) -> dict[str, Callable[[], Iterable[Doc]]]:
        """Name of a corpus -> what gives its documents."""
        index, groups = self._named
        corpora = [_corpora(index, self.chosen)(group) for group in groups]
        return {corpus_name(*corpus): partial(corpus[0].docs, corpus[1]) for corpus in corpora}

    @cached_property
    def _opened(self) -> Callable[[str], Any]:
        """What a corpus is searched by; the last one stays, as several parts and blocks of topics are searched in it."""
        return lru_cache(maxsize=1)(self._open)

    def _source(self, collection: Collection, group: str) -> Source:
        name = corpus_name(collection, group)
        if isinstance(collection, Benchmark):
            collection.check_docs(group)
        return Source(name, f"the documents of {name}", lambda threads: _as_index(name, self._docs[name]))


class Okapi(Collected):
    """InfoSearch's recipe: every document of the collection is scored."""

    def search(self, topics: Sequence[Topic], index: Index, candidates: Candidates | None = None, encoder: Any = None) -> Run:
        """rank_bm25's run."""
        how = {"hits": self.options.hits, "templates": self.chosen.spec.templates, "tag": self.chosen.tag}
        return ask_okapi(topics, self._opened(index.name), candidates=candidates, **how)

    def _open(self, name: str) -> tuple[list[str], OkapiScores]:
        return open_okapi(self._docs[name](), templates=self.chosen.spec.templates, **self.chosen.parameters)


class Fields(Collected):
    """InstructIR's recipe: title and text are two fields."""

    def search(self, topics: Sequence[Topic], index: Index, candidates: Candidates | None = None, encoder: Any = None) -> Run:
        """The run of a weighted sum of BM25 in both fields; their index is cached under TANDEM_HOME."""
        searcher, options = self._opened(index.name), self.options
        sent = [replace(topic, text=topic_input(self.chosen.spec.templates, topic).whole) for topic in topics]
        how = {"hits": options.hits, "threads": options.threads, "tag": self.chosen.tag, "candidates": candidates}
        return searcher.search(sent, **how)

    def _open(self, name: str) -> FieldSearcher:
        folder, options = home() / "indexes" / "own" / f"{name}.fields", self.options
        how = {"language": options.language or "en", "threads": options.threads}
        return open_fields(self._docs[name], folder, **self.chosen.parameters, **how)


def _corpora(name: str, chosen: Chosen) -> Callable[[str], tuple[Collection, str]]:
    """The function from a group of topics to the corpus that a name means for it."""
    is_index = Path(name).is_dir() and find(name) is None  # a benchmark stays one beside a folder of its name
    if is_index or name in registry.indexes() or name in registry.index_aliases():
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


def _as_index(name: str, docs: Callable[[], Iterable[Doc]]) -> Index:
    content, documents = ContentDigest(), 0
    for doc in docs():
        if not is_empty(doc):
            content.add(doc)
            documents += 1
    return Index(name, Path(), None, {"documents": documents, "corpus": {"name": name, "content": content.hexdigest()}}, CORPUS)


def search_okapi(
    topics: Sequence[Topic],
    docs: Iterable[Doc],
    *,
    hits: int = 1000,
    templates: Mapping[str, str] | None = None,
    tag: str = "bm25",
    candidates: Mapping[str, Sequence[str]] | None = None,
    **parameters: float,
) -> Run:
    """The best `hits` documents of each topic; documents without a word of the query follow with score 0.

    The whole collection is held in memory. Scores are rank_bm25's float64 values: write them without rounding. Raises
    ToolkitError as `search` does, and for a collection without documents.
    """
    check_counts(hits=hits)
    opened = open_okapi(docs, templates=templates, **parameters)
    return ask_okapi(topics, opened, hits=hits, templates=templates, tag=tag, candidates=candidates)


def open_okapi(
    docs: Iterable[Doc], *, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25, templates: Mapping[str, str] | None = None
) -> tuple[list[str], OkapiScores]:
    """The ids of a collection, and what scores its documents, parallel to them; see `search_okapi`."""
    from toolkit.models.lucene.okapi import Okapi as OkapiScores
    from toolkit.models.lucene.okapi import words

    check_parameters(k1, b, hits=1, threads=1)
    ids, contents = [], []
    for doc in docs:
        ids.append(doc.doc_id)
        contents.append(words(doc_input(templates or {}, doc).whole))
    if not ids:
        raise ToolkitError("there are no documents to search", "name a corpus that has some")
    return ids, OkapiScores(contents, k1=k1, b=b, epsilon=epsilon)


def ask_okapi(
    topics: Sequence[Topic],
    opened: tuple[list[str], OkapiScores],
    *,
    hits: int,
    templates: Mapping[str, str] | None,
    tag: str,
    candidates: Candidates | None,
) -> Run:
    """The run over what `open_okapi` opened; see `search_okapi`."""
    from toolkit.models.lucene.okapi import words

    topics_by_id(topics)
    (ids, okapi), templates = opened, templates or {}
    queries = [topic_input(templates, topic).whole for topic in topics]
    answers: dict[str, np.ndarray] = {}
    with progress("searching", len(queries), "queries") as advance:
        for query in queries:
            if query not in answers:
                answers[query] = okapi.scores(words(query))
            advance(1)
    run = Run(
        tuple(topic.query_id for topic in topics),
        np.repeat(np.arange(len(topics), dtype=np.int32), len(ids)),
        Ids(to_arrow(ids), np.tile(np.arange(len(ids), dtype=np.int32), len(topics))),
        np.concatenate([*(answers[query] for query in queries), np.empty(0)]),
        tag=tag,
    )
    if candidates is not None:
        from toolkit.retrieval.search.candidates import among

        run = among(run, candidates)
    return run.head(hits)


def open_fields(
    docs: Callable[[], Iterable[Doc]],
    folder: Path,
    *,
    k1: float = 0.9,
    b: float = 0.4,
    title: float = 1.0,
    contents: float = 1.0,
    language: str = "en",
    threads: int = 1,
) -> FieldSearcher:
    """What searches an index by the weighted sum of BM25 in title and text; scores are rounded as Anserini's runs have them.

    `folder` is built where it is not there or is another collection's. Raises ToolkitError for parameters without meaning and a
    collection without documents.
    """
    from toolkit.models.lucene.anserini import FieldSearcher
    from toolkit.models.lucene.anserini_index import index_fields

    check_parameters(k1, b, hits=1, threads=threads)
    if min(title, contents) < 0:
        raise ToolkitError(f"the weights of title and contents are {title} and {contents}", "both are numbers from 0 on")
    hashed = hashlib.sha256(language.encode())
    for doc in docs():
        for text in doc:
            hashed.update(f"{len(text)} {text}".encode())
    digest, built_from = hashed.hexdigest(), folder / DIGEST
    with lock(f"fields {folder}"):
        if not built_from.exists() or built_from.read_text(encoding="ascii") != digest:
            say(f"indexing title and text as two fields in {folder}")
            with new_folder(folder) as part:
                if not index_fields(docs(), part, language=language, threads=threads):
                    raise ToolkitError("there are no documents to search", "name a corpus that has some")
                (part / DIGEST).write_text(digest, encoding="ascii")
                write_digests(part)
    with comparing([folder]):
        return FieldSearcher(folder, weights={"title": title, "contents": contents}, k1=k1, b=b, language=language)
