"""Systems that a model encodes for: dense, learned sparse, late interaction; over an index that the system itself has made.

What the searches share:

    spec, encoder  the system, and its model
    hits           documents a query; equal queries are encoded and searched once, those that the model truncates are noted
    candidates     query id -> the only documents that it may find
    opener         opens the index; None for what does, each time

They raise ToolkitError for no topics, two of one id, an index that is none, and one that another system has made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.specs import SystemSpec
from toolkit.core.system.files import home
from toolkit.core.system.progress import say
from toolkit.core.tables.columns import Ids, encode, to_arrow
from toolkit.core.templates import Input, template_digest, topic_input
from toolkit.core.topics import Topic, topics_by_id
from toolkit.datasets import Collection, TopicSet
from toolkit.engine import Executor, LocalExecutor, units_of
from toolkit.files.formats.indexes import check_made_with, read_index_record
from toolkit.files.provenance import command_line
from toolkit.files.texts.documents import corpus_from_docs
from toolkit.models.checkpoints.local_checkpoints import check_usable
from toolkit.models.computing import device_of, pick_precision
from toolkit.models.encoders import load_encoder
from toolkit.models.lucene.jvm import check_installed
from toolkit.models.vectors.centroids import PROBES, Centroids
from toolkit.retrieval.encode import asked_of
from toolkit.retrieval.index import Index, corpus_name, find_index
from toolkit.retrieval.index.encoded_index import build_encoded
from toolkit.retrieval.search import say_unanswered
from toolkit.retrieval.search.candidates import candidate_places
from toolkit.retrieval.search.chosen_system import Chosen
from toolkit.retrieval.search.engines import Candidates, Engine, SearchOptions
from toolkit.retrieval.search.per_query_search import check_per_query, search_per_query

ENCODED = 128  # different queries that are encoded at once

if TYPE_CHECKING:
    from toolkit.models.encoders.base import Encoder
    from toolkit.models.encoders.sentence_transformers_adapter import MultiVectorEncoder, SparseEncoder
    from toolkit.models.lucene.docids import DocIds
    from toolkit.models.vectors.faiss_shards import ShardIds


class Neural(Engine):
    """A system over an index that it has made itself, with queries that it encodes."""

    def __init__(self, chosen: Chosen, topics: TopicSet, index: str, options: SearchOptions):
        check_usable(chosen.spec, device=options.device, trust_remote_code=options.trust_remote_code)
        if chosen.spec.kind == "impact":  # weights lie in Lucene's index
            check_installed()
        where = find_index(index, chosen.spec, self._build_own)
        self.chosen, self._parts, self.options = chosen, topics.parts, options
        self.sources = tuple(where(part.group) for part in topics.parts)
        self.computed: dict[str, Any] | None = None  # by workers: see `encoded_queries.EncodeQueries`
        self._executor: Executor = LocalExecutor()

    OPENED = ("_opener",)
    LEFT = ("encoder", "computed", "_executor")

    @cached_property
    def encoder(self) -> Any:
        """The model, on its device."""
        return load_encoder(self.chosen.spec, **self.options.model())

    @cached_property
    def _opener(self) -> Callable[[Path], Any]:
        """Opens an index; the last one stays open, as several parts and blocks of topics are searched in it."""
        return lru_cache(maxsize=1)(opener_of(self.chosen.spec.kind))

    @property
    def is_served(self) -> bool:
        """Whether a server encodes."""
        return self.chosen.spec.loader == "endpoint"

    def plan(self, topics: TopicSet) -> list[str]:
        """What a server would be asked for the queries; what its index asks for, `tandem index --dry-run` says."""
        if not self.is_served:
            return []
        inputs = [topic_input(self.chosen.spec.templates, topic) for topic in topics.topics]
        return [f"{len(inputs):,} queries: {asked_of(self.encoder, [inputs], 'query')}"]

    def open(self, executor: Executor | None = None) -> list[Index]:
        """Every index; one of the benchmark's own corpora is encoded first where it is not there yet."""
        self.computed, self._executor = None, executor or LocalExecutor()
        if self.is_served:
            self.encoder.check()
        opened = [source.open(self.options.threads) for source in self.sources]
        check_per_query((part.topics, index.folder) for part, index in zip(self._parts, opened, strict=True))
        return opened

    def search(self, topics: Sequence[Topic], index: Index, candidates: Candidates | None = None, encoder: Any = None) -> Run:
        """The run of one part of the topics; queries in another precision than the index's vectors are said."""
        encoder, spec = encoder or self.encoder, self.chosen.spec
        say_precision(index, encoder)
        how = {"hits": self.options.hits, "threads": self.options.threads, "tag": self.chosen.tag}
        how |= {"candidates": candidates, "opener": self._opener}
        ask = partial(SEARCHES[spec.kind], spec=spec, encoder=encoder, **how)
        return search_per_query(topics, index.folder, ask, self.chosen.tag)

    def facts(self) -> dict[str, Any]:
        """What was loaded from the hub, where and with which dtype it encoded the queries, and how many were truncated.

        Of a server: which, and what it was asked.
        """
        if self.is_served:
            return self.encoder.facts()
        if self.computed is not None:
            origin, device, precision, truncated = map(self.computed.get, ("origin", "device", "said", "truncated"))
        else:
            device = device_of(self.chosen.spec, self.options.device)
            precision = pick_precision(self.chosen.spec, self.options.precision, device)
            origin, truncated = self.encoder.origin, self.encoder.truncated["query"]
        where = {"device": device} if device else {}
        return {**origin, **where, "precision": precision, "queries cut": truncated}

    def _build_own(self, collection: Collection, group: str, folder: Path, threads: int) -> None:
        corpus, spec = corpus_from_docs(corpus_name(collection, group), collection.docs(group)), self.chosen.spec
        divided = spec.kind == "dense" and not self.is_served and not isinstance(self._executor, LocalExecutor)
        how = {"executor": self._executor, "loading": self.options.model()} if divided else {}
        encoder = None if divided else self.encoder
        said = pick_precision(spec, self.options.precision, device_of(spec, self.options.device)) if divided else ""
        # what another template or precision began is another folder
        vectors = home() / "vectors" / f"{folder.name}.{template_digest(spec)[:12]}.{getattr(encoder, 'precision', said)}"
        build_encoded(corpus, spec, encoder, folder, vectors, threads=threads, command=command_line(), **how)


def say_precision(index: Index, encoder: Any) -> None:
    """Note queries in another precision than an index's vectors."""
    theirs = (index.record or {}).get("precision")
    if theirs and encoder.precision and theirs != encoder.precision:
        say(f"note: {index.name} holds vectors in {theirs}, queries are in {encoder.precision}")


def search_dense(
    topics: Sequence[Topic],
    index: Path,
    spec: SystemSpec,
    encoder: Encoder,
    *,
    hits: int = 1000,
    threads: int = 1,
    tag: str = "",
    candidates: Candidates | None = None,
    opener: Callable[[Path], Any] | None = None,
) -> Run:
    """The best `hits` documents of each topic by the inner product of its vector with theirs, all of a smaller index.

    Scores are 32-bit floats as FAISS has them, see `toolkit.models.vectors.faiss_index`. Where passages of an index share
    their document's id, the best one counts. Candidates are all scored, in flat indexes only. Raises ToolkitError for another
    dimension, too.
    """
    record = read_index_record(index)
    if record is not None:
        check_made_by(index, record, spec, encoder)
    opened = (opener or opener_of("dense"))(index)
    queries = encode_queries(topics, spec, encoder, hits=hits, threads=threads)
    vectors = np.stack(list(queries.values()))
    if candidates is None:
        return run_of(topics, spec, queries, opened.search(vectors, hits, threads), opened.ids, tag, index)
    wanted = candidate_places([candidates[topic.query_id] for topic in topics], opened.ids.places, index)
    scores, positions = opened.score(vectors[rows_of(topics, spec, queries)], wanted)
    return _run(topics, scores, positions, opened.ids, tag or spec.name, index).head(hits)


def rows_of(topics: Sequence[Topic], spec: SystemSpec, queries: Iterable[Input]) -> list[int]:
    """Of each topic the place of what was sent for it among all different queries."""
    place = {each: row for row, each in enumerate(queries)}
    return [place[topic_input(spec.templates, topic)] for topic in topics]


def run_of(
    topics: Sequence[Topic],
    spec: SystemSpec,
    queries: Iterable[Input],
    found: tuple[np.ndarray, np.ndarray],
    ids: DocIds | ShardIds,
    tag: str,
    index: Path,
) -> Run:
    """The run of what was found for each different query, scores and positions (m, k), see `FaissIndex.search`."""
    rows = rows_of(topics, spec, queries)
    scores, positions = (each[rows] for each in found)
    return _run(topics, scores, positions, ids, tag or spec.name, index)


def _run(
    topics: Sequence[Topic], scores: np.ndarray, positions: np.ndarray, ids: DocIds | ShardIds, tag: str, index: Path
) -> Run:
    """(m, k) scores and positions as a run; -1 is no document, and a query without any has no lines, which is said."""
    queries, columns = np.nonzero(positions >= 0)
    scores = scores[queries, columns]
    places, docs = np.unique(positions[queries, columns], return_inverse=True)
    codes, known = encode(ids.take(to_arrow(places)))
    docs = codes[docs]
    if len(known) < len(places):
        # rows are best first, and the first of equals is what unique returns
        _, first = np.unique(queries * len(known) + docs, return_index=True)
        first.sort()
        say(f"note: {index} has several passages of some documents; the best one of each counts")
        queries, docs, scores = queries[first], docs[first], scores[first]
    found, codes = np.unique(queries, return_inverse=True)
    names = tuple(topics[number].query_id for number in found.tolist())
    run = Run(names, codes.astype(np.int32), Ids(known, docs.astype(np.int32)), scores.astype(np.float64), tag=tag)
    say_unanswered(index, topics, run)
    return run


def search_impact(
    topics: Sequence[Topic],
    index: Path,
    spec: SystemSpec,
    encoder: SparseEncoder,
    *,
    hits: int = 1000,
    threads: int = 1,
    tag: str = "",
    candidates: Candidates | None = None,
    opener: Callable[[Path], Any] | None = None,
) -> Run:
    """The best `hits` documents of each topic: the run of Anserini's SimpleImpactSearcher, digit for digit.

    index  ours, or one of Pyserini's prebuilt ones, which does not say what made it
    """
    from toolkit.models.vectors.impact import LEVELS, quantise, repeated

    record = read_index_record(index)
    if record is None:
        say(f"note: {index} does not say what made it: that {spec.name} did is not checked")
    elif record["kind"] != "impact":
        raise ToolkitError(f"{index} is an index of kind {record['kind']}", "`tandem index --type impact` makes another")
    else:
        check_made_by(index, record, spec, encoder)
    searcher, levels = (opener or opener_of("impact"))(index), spec.parameters.get("quantization", LEVELS)
    encoded = encode_queries(topics, spec, encoder, hits=hits, threads=threads)
    texts = {each: repeated(quantise(weights, levels)) for each, weights in encoded.items()}
    sent = [replace(topic, text=texts[topic_input(spec.templates, topic)]) for topic in topics]
    run = searcher.search(sent, hits=hits, threads=threads, tag=tag or spec.name, candidates=candidates)
    say_unanswered(index, topics, run)
    return run


def search_late(
    topics: Sequence[Topic],
    index: Path,
    spec: SystemSpec,
    encoder: MultiVectorEncoder,
    *,
    hits: int = 1000,
    threads: int = 1,
    tag: str = "",
    probes: int | None = None,
    candidates: Candidates | None = None,
    opener: Callable[[Path], Any] | None = None,
) -> Run:
    """The best `hits` documents of each topic by MaxSim, computed exactly over the index's half-precision vectors.

    probes  of an index that has centroids, how many cells to look into for each vector of a query; 0 scores all documents, as
            all candidates are; None is the default of `toolkit.models.vectors.centroids`
    """
    record = read_index_record(index)
    if record is None or record["kind"] != "multivector":
        raise ToolkitError(f"{index} is no index of token vectors", "`tandem index --type multivector` makes one")
    check_made_by(index, record, spec, encoder)
    probes = PROBES if probes is None else probes
    centroids = Centroids(index, probes) if record["centroids"] and probes else None
    opened = (opener or opener_of("multivector"))(index)
    queries = encode_queries(topics, spec, encoder, hits=hits, threads=threads)
    inputs = [topic_input(spec.templates, topic) for topic in topics]
    if candidates is None:
        found = opened.search(list(queries.values()), hits=hits, threads=threads, centroids=centroids)
        found = dict(zip(queries, found, strict=True))
        answers = [found[each] for each in inputs]
    else:
        wanted = candidate_places([candidates[topic.query_id] for topic in topics], opened.ids.places, index)
        answers = opened.score([queries[each] for each in inputs], wanted, hits=hits, threads=threads)
    rows: list[ScoredDoc] = []
    for topic, answer in zip(topics, answers, strict=True):
        found = zip(opened.names(answer.documents), answer.scores.tolist(), strict=True)
        rows += [ScoredDoc(topic.query_id, doc_id, score) for doc_id, score in found]
    return Run.from_rows(rows, tag=tag or spec.name)


def check_made_by(index: Path, record: Mapping[str, Any], spec: SystemSpec, encoder: Encoder) -> None:
    """Raise ToolkitError where an index was made with another system (`check_made_with`), or another commit or weights.

    A revision that is not pinned is whatever is newest on the day.
    """
    check_made_with(index, record, spec)
    ours = encoder.origin.get("commits", {})
    for repository, commit in record.get("commits", {}).items():
        if ours.get(repository, commit) != commit:
            message = f"index {index} was made with {repository} at {commit[:12]}, not {ours[repository][:12]}"
            raise ToolkitError(message, "index the documents again; an entry that pins its `revision` keeps to one commit")
    weights, theirs = encoder.origin.get("weights"), record.get("weights")
    if weights and theirs and weights != theirs:
        message = f"index {index} was made with other weights of {spec.name} (SHA-256 {theirs[:12]}, not {weights[:12]})"
        raise ToolkitError(message, "index the documents again, or see which of the checkpoint's files was changed")


def encode_queries(topics: Sequence[Topic], spec: SystemSpec, encoder: Encoder, *, hits: int, threads: int) -> dict[Input, Any]:
    """What the model makes of each different query, by what it was sent; truncated queries are noted.

    They are encoded `ENCODED` at a time, whoever encodes: how a batch is padded may show in the last bits of its vectors.
    Raises ToolkitError for no topics, two of one id, and a search without hits or threads.
    """
    if not topics:
        raise ToolkitError("there are no topics to search for", "check the file")
    topics_by_id(topics)
    check_counts(hits=hits, threads=threads)
    truncated, lost = encoder.truncated["query"], encoder.lost
    inputs = different_inputs(topics, spec)
    queries = {}
    for block in units_of(inputs, ENCODED):
        queries |= zip(block, encoder.encode(block, "query"), strict=True)
    say_truncated(encoder.truncated["query"] - truncated, encoder.lost - lost, len(inputs))
    return queries


def different_inputs(topics: Sequence[Topic], spec: SystemSpec) -> list[Input]:
    """What the model is sent for some topics, each once."""
    return list(dict.fromkeys(topic_input(spec.templates, topic) for topic in topics))


def say_truncated(truncated: int, lost: int, total: int) -> None:
    """Note how many queries were truncated, and how many of these lost their core query."""
    if truncated:
        say(f"note: {truncated} of {total} different queries are longer than the model's limit and were truncated")
    if lost:
        say(f"note: {lost} of {total} different queries have a core query that is fully truncated")


# kind of system -> module of `models.vectors`, and what in it opens an index
OPENERS = {
    "dense": ("faiss_shards", "open_faiss"),
    "impact": ("impact", "ImpactSearcher"),
    "multivector": ("late", "LateIndex"),
}


def opener_of(kind: str) -> Callable[[Path], Any]:
    """What opens an index that a system of this kind searches; loaded when it is asked for."""
    module, name = OPENERS[kind]
    return getattr(import_module(f"toolkit.models.vectors.{module}"), name)


SEARCHES = {"dense": search_dense, "multivector": search_late, "impact": search_impact}
