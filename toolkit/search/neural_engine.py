"""The engine of systems that a model encodes for: dense, late interaction, learned sparse. The model is loaded when needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from toolkit.benchmarks import Collection, TopicSet
from toolkit.core.home import home
from toolkit.core.progress import say
from toolkit.core.runs import Run
from toolkit.core.templates import template_digest
from toolkit.core.topics import Topic
from toolkit.formats.documents import corpus_from_docs
from toolkit.index import Index, find_index, own_name
from toolkit.index.encoded_index import build_encoded
from toolkit.models.checkpoints import check_usable, pick_device, pick_precision
from toolkit.models.encoders import load_encoder
from toolkit.models.jvm import check_installed
from toolkit.provenance import command_line
from toolkit.search.chosen_system import Chosen
from toolkit.search.dense import search_dense
from toolkit.search.impact import search_impact
from toolkit.search.late import search_late
from toolkit.search.per_query_search import check_per_query, search_per_query
from toolkit.search.search_options import SearchOptions

SEARCHES = {"dense": search_dense, "multivector": search_late, "impact": search_impact}


class Neural:
    """A system over an index that it has made itself, with queries that it encodes."""

    def __init__(self, chosen: Chosen, topics: TopicSet, index: str, options: SearchOptions):
        check_usable(chosen.spec, device=options.device, trust_remote_code=options.trust_remote_code)
        if chosen.spec.kind == "impact":  # weights lie in Lucene's index
            check_installed()
        where = find_index(index, chosen.spec, self._build_own)
        self.chosen, self._parts, self.options = chosen, topics.parts, options
        self.sources = tuple(where(part.group) for part in topics.parts)

    @cached_property
    def encoder(self) -> Any:
        """The model, on its device."""
        return load_encoder(self.chosen.spec, **self.options.model())

    def open(self) -> list[Index]:
        """Every index; one of the benchmark's own corpora is encoded first where it is not there yet."""
        opened = [source.open(self.options.threads) for source in self.sources]
        check_per_query((part.topics, index.folder) for part, index in zip(self._parts, opened, strict=True))
        return opened

    def search(self, topics: Sequence[Topic], index: Index) -> Run:
        """The run of one part of the topics; queries in another precision than the index's vectors are said."""
        spec, theirs = self.chosen.spec, (index.record or {}).get("precision")
        if theirs and theirs != self.encoder.precision:
            say(f"note: {index.name} holds vectors in {theirs}, queries are in {self.encoder.precision}")
        how = {**self.options.search(), "threads": self.options.threads, "tag": self.chosen.tag}
        ask = partial(SEARCHES[spec.kind], spec=spec, encoder=self.encoder, **how)
        return search_per_query(topics, index.folder, ask, self.chosen.tag)

    def facts(self) -> dict[str, Any]:
        """What was loaded from the hub, where and with which dtype it encoded the queries, and how many were truncated."""
        device = pick_device(self.options.device)
        precision = pick_precision(self.chosen.spec, self.options.precision, device)
        commits = {"commits": self.encoder.commits} if self.encoder.commits else {}
        return {**commits, "device": device, "precision": precision, "queries cut": self.encoder.truncated["query"]}

    def _build_own(self, collection: Collection, group: str, folder: Path, threads: int) -> None:
        corpus, spec = corpus_from_docs(own_name(collection, group), collection.docs(group)), self.chosen.spec
        # what another template or precision began is another folder
        precision = getattr(self.encoder, "precision", "")
        vectors = home() / "vectors" / f"{folder.name}.{template_digest(spec)[:12]}.{precision}"
        build_encoded(corpus, spec, self.encoder, folder, vectors, threads=threads, command=command_line())
