"""Engines of systems that a model encodes for: dense, late interaction, learned sparse. A model is loaded when it is needed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from toolkit.benchmarks import Collection, TopicSet
from toolkit.core.home import home
from toolkit.core.progress import say
from toolkit.core.runs import Run
from toolkit.core.templates import template_digest
from toolkit.core.topics import Topic
from toolkit.formats.documents import Corpus, corpus_from_docs
from toolkit.formats.provenance import command_line
from toolkit.index import Index, find_index, own_name
from toolkit.pipeline.method import Chosen
from toolkit.pipeline.options import Options


class Neural:
    """What the three have in common: an index that the system itself has made, and queries that it encodes."""

    load: Callable[..., Any]
    find: Callable[..., Run]
    build: Callable[..., None]

    def __init__(self, chosen: Chosen, topics: TopicSet, index: str, options: Options):
        where = find_index(index, chosen.spec, self._build_own)
        self.chosen, self.options = chosen, options
        self.sources = tuple(where(part.group) for part in topics.parts)

    @cached_property
    def encoder(self) -> Any:
        """The model, on its device."""
        return self.load(self.chosen.spec, **self.options.model())

    def open(self) -> list[Index]:
        """Every index; one of the benchmark's own corpora is encoded first where it is not there yet."""
        return [source.open(self.options.threads) for source in self.sources]

    def search(self, topics: Sequence[Topic], index: Index) -> Run:
        """The run of one part of the topics."""
        how = {"hits": self.options.hits, "threads": self.options.threads, "tag": self.chosen.tag}
        return self.find(topics, index.folder, self.chosen.spec, self.encoder, **how)

    def facts(self) -> dict[str, Any]:
        """What was loaded from the hub, where and how exactly it encoded the queries, and how many its limit cut."""
        from toolkit.models.checkpoints import pick_device, pick_precision

        device = pick_device(self.options.device)
        precision = pick_precision(self.chosen.spec, self.options.precision, device)
        commits = {"commits": self.encoder.commits} if self.encoder.commits else {}
        return {**commits, "device": device, "precision": precision, "queries cut": self.encoder.cut["query"]}

    def _build_own(self, collection: Collection, group: str, folder: Path, threads: int) -> None:
        corpus = corpus_from_docs(own_name(collection, group), collection.docs(group))
        self.build(corpus, folder, threads)


class Dense(Neural):
    """Bi-encoders over FAISS."""

    def search(self, topics: Sequence[Topic], index: Index) -> Run:
        """The run of one part of the topics; queries in another precision than the index's vectors are said."""
        theirs, ours = (index.metadata or {}).get("precision"), self.encoder.precision
        if theirs and theirs != ours:
            say(f"note: {index.name} holds vectors in {theirs}, queries are in {ours}")
        return super().search(topics, index)

    def load(self, *arguments: Any, **how: Any) -> Any:
        """An encoder."""
        from toolkit.models.encoders import load_encoder

        return load_encoder(*arguments, **how)

    def find(self, *arguments: Any, **how: Any) -> Run:
        """The run."""
        from toolkit.search.dense import search_dense

        return search_dense(*arguments, **how)

    def build(self, corpus: Corpus, folder: Path, threads: int) -> None:
        """Vectors are kept under TANDEM_HOME until the index is there: an interrupted encoding goes on."""
        from toolkit.encode import encode_corpus
        from toolkit.index.dense import build_dense_index

        # what another template or precision began is another folder
        vectors = home() / "vectors" / f"{folder.name}.{template_digest(self.chosen.spec)[:12]}.{self.encoder.precision}"
        encode_corpus(corpus, self.encoder, self.chosen.spec, vectors)
        build_dense_index(vectors, folder, threads=threads, command=command_line())
        shutil.rmtree(vectors)


class Late(Neural):
    """Late interaction over an index of token vectors."""

    def load(self, *arguments: Any, **how: Any) -> Any:
        """An encoder."""
        from toolkit.models.encoders.multivector import load_multivector

        return load_multivector(*arguments, **how)

    def find(self, *arguments: Any, **how: Any) -> Run:
        """The run."""
        from toolkit.search.late import search_late

        return search_late(*arguments, **how)

    def build(self, corpus: Corpus, folder: Path, threads: int) -> None:
        """The index, from the documents at once."""
        from toolkit.index.late import build_late_index

        build_late_index(corpus, self.encoder, folder, command=command_line())


class Impact(Neural):
    """Learned sparse vectors over Lucene."""

    def load(self, *arguments: Any, **how: Any) -> Any:
        """An encoder."""
        from toolkit.models.encoders.sparse import load_sparse

        return load_sparse(*arguments, **how)

    def find(self, *arguments: Any, **how: Any) -> Run:
        """The run."""
        from toolkit.search.impact import search_impact

        return search_impact(*arguments, **how)

    def build(self, corpus: Corpus, folder: Path, threads: int) -> None:
        """The index, from the documents at once."""
        from toolkit.index.impact import build_impact_index

        build_impact_index(corpus, self.encoder, folder, threads=threads, command=command_line())
