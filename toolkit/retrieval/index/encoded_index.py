"""A corpus, encoded and indexed for the system that encodes it: dense, late interaction or learned sparse."""

from __future__ import annotations

import json
import shutil
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.core.documents import Doc
from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import progress
from toolkit.core.system.yaml_json import decode_json
from toolkit.core.templates import doc_input
from toolkit.engine import Executor, LocalExecutor
from toolkit.files.formats.indexes import system_facts, write_index_record
from toolkit.files.provenance import model_identity, versions
from toolkit.files.store import new_folder
from toolkit.files.texts.documents import Corpus, Counts
from toolkit.models.vectors.centroids import count_for, write_centroids
from toolkit.models.vectors.late import HALF, LateIndex, LateWriter
from toolkit.retrieval.encode import LIBRARIES, EncodeShards, encode_corpus, say_truncated, shards
from toolkit.retrieval.index.build import check_output, refuse_empty
from toolkit.retrieval.index.dense import build_dense_index
from toolkit.retrieval.index.index_types import IMPACT, MULTIVECTOR
from toolkit.retrieval.index.lucene_shards import lucene_libraries
from toolkit.retrieval.index.shard_folder import compute, shard_folder

if TYPE_CHECKING:
    from toolkit.models.encoders.sentence_transformers_adapter import MultiVectorEncoder, SparseEncoder

SHARD = 1024  # documents that are encoded and written together
PRUNED_FROM = 20_000_000  # vectors: an exact search of so many takes seconds a query and core


def build_encoded(
    corpus: Corpus,
    spec: SystemSpec,
    encoder: Any,
    output: Path,
    vectors: Path,
    *,
    factory: str = "Flat",
    tuning: str = "",
    shard_size: int | None = None,
    threads: int = 1,
    keep: bool = False,
    executor: Executor | None = None,
    loading: Mapping[str, Any] | None = None,
    command: str = "",
) -> Counts:
    """Build the index that a system of kind `dense`, `multivector` or `impact` searches into the folder `output`.

    Without an encoder each worker of the executor loads its own, as `loading` says. A dense system's vectors lie in `vectors`
    until the index is there (after that, too, where they are to `keep`): an interrupted encoding is resumed. Factory, tuning
    and shard size are FAISS's, see `build_dense_index`.
    """
    by = {"spec": spec, "executor": executor, "loading": loading or {}}
    if spec.kind == "multivector":
        return build_late_index(corpus, encoder, output, command=command, **by)
    if spec.kind == "impact":
        return build_impact_index(corpus, encoder, output, threads=threads, command=command, **by)
    from toolkit.models.vectors.faiss_index import empty_faiss

    def check(dimension: int) -> None:
        empty_faiss(factory, dimension, tuning)  # what cannot be built is said before anything is encoded

    encode_corpus(corpus, encoder, spec, vectors, executor=executor, check=check, **(loading or {}))
    how = {"shard_size": shard_size, "threads": threads, "executor": executor, "command": command}
    counts = build_dense_index(vectors, output, factory, tuning, **how)
    if not keep:
        shutil.rmtree(vectors)
    return counts


def build_late_index(
    corpus: Corpus,
    encoder: MultiVectorEncoder | None,
    output: Path,
    *,
    centroids: int | None = None,
    command: str = "",
    **by: Any,
) -> Counts:
    """Encode a corpus into an index of token vectors in the folder `output`, which is there when it is complete and not before.

    centroids  how many to find for pruning; 0 for none; by default none below `PRUNED_FROM` vectors
    by         `spec`, the encoder's system, and `executor` and `loading`: who encodes, see `build_encoded`

    Documents without text are left out and counted. Raises ToolkitError for a document that is broken, for an id that comes
    twice, for a corpus without text, and where `output` is something else than an index or an empty folder.
    """
    with _new_index(MULTIVECTOR, corpus, encoder, output, command, **by) as new:
        writer = LateWriter(new.folder)
        for docs, vectors in new.encoded():
            writer.add([doc.doc_id for doc in docs], vectors)
        writer.close()
        refuse_empty(corpus, new.counts)
        index = LateIndex(new.folder)
        total, width = index.vectors.shape
        if centroids is None:
            centroids = count_for(total) if total >= PRUNED_FROM else 0
        if centroids:
            write_centroids(index, centroids)
        new.facts = {"vectors": total, "dimension": width, "centroids": min(centroids, total)}
    return new.counts


def build_impact_index(
    corpus: Corpus, encoder: SparseEncoder | None, output: Path, *, threads: int = 1, command: str = "", **by: Any
) -> Counts:
    """Encode a corpus into a Lucene index of learned weights in the folder `output`, there when it is complete and not before.

    Documents without text or without any term are left out and counted as empty. Raises ToolkitError as `build_late_index`.
    """
    from toolkit.models.lucene.anserini_index import indexing
    from toolkit.models.lucene.stored_texts import StoredTexts
    from toolkit.models.vectors.impact import LEVELS, json_line, quantise

    with _new_index(IMPACT, corpus, encoder, output, command, **by) as new:
        levels = new.work.spec.parameters.get("quantization", LEVELS)
        with indexing(new.folder, threads=threads, impact=True) as indexer:
            for docs, encoded in new.encoded():
                rows = [(doc, quantise(weights, levels)) for doc, weights in zip(docs, encoded, strict=True)]
                lines = [json_line(doc, weights) for doc, weights in rows if weights]
                indexer.add_lines(b"".join(lines), len(lines))
        new.counts.empty += new.counts.documents - indexer.documents
        new.counts.documents = indexer.documents
        refuse_empty(corpus, new.counts)
        new.facts, new.libraries = {"statistics": StoredTexts(new.folder).statistics()}, lucene_libraries()
    return new.counts


@dataclass
class _NewIndex:
    """An index while it is made. facts, libraries: what its record says beside what all of them have."""

    corpus: Corpus
    work: EncodeDocuments
    executor: Executor
    folder: Path
    counts: Counts = field(default_factory=Counts)
    facts: dict[str, Any] = field(default_factory=dict)
    libraries: dict[str, Any] = field(default_factory=dict)

    def encoded(self) -> Iterator[tuple[list[Doc], list]]:
        """The documents that have text, some at a time, with what the encoder makes of them; all are counted."""
        waiting: deque[list[Doc]] = deque()

        def units() -> Iterator[tuple[int, list[Doc]]]:
            for number, docs in enumerate(shards(self.corpus, SHARD, self.counts)):
                waiting.append(docs)
                yield number, docs

        with progress(self.work.name, unit="documents") as self.work.advance:
            for encoded in compute(self.executor, self.work, units(), self.work.folder):
                yield waiting.popleft(), encoded


@contextmanager
def _new_index(
    kind: str,
    corpus: Corpus,
    encoder: Any,
    output: Path,
    command: str,
    spec: SystemSpec | None = None,
    executor: Executor | None = None,
    loading: Mapping[str, Any] | None = None,
) -> Iterator[_NewIndex]:
    """An index in an empty folder; when the block ends well it gets its record, and then its name."""
    check_output(output)
    started, spec, executor = time.time(), spec or encoder.spec, executor or LocalExecutor()
    # what is encoded lies in the one until it is in the other
    with shard_folder(output) as folder, new_folder(output) as part:
        work = EncodeDocuments(f"encoding {corpus.name}", spec, folder, loading or {}, encoder)
        new = _NewIndex(corpus, work, executor, part)
        yield new
        origin = encoder.origin if encoder else executor.facts(work)["origin"]
        record = {"kind": kind, **system_facts(spec), "checkpoint": spec.checkpoint, **origin}
        record |= {"corpus": corpus.facts(), **asdict(new.counts), "cut": work.truncated, **new.facts}
        write_index_record(part, record, command, started, **new.libraries)
    say_truncated(work.truncated, new.counts.documents)


@dataclass
class EncodeDocuments(EncodeShards):
    """Some documents at a time become what a late interaction or learned sparse encoder makes of them, in the same order.

    It is a file for each unit, which an interrupted build finds again.

    truncated  documents so far that are longer than the model's limit
    """

    truncated: int = 0

    def facts(self) -> dict[str, Any]:
        """`origin` of the weights and `libraries` for the record; and all that the encoding depends on."""
        encoder = self._load()
        identity = model_identity(self.spec, commits=encoder.origin.get("commits"), precision=encoder.precision, template=False)
        return {**identity, **system_facts(self.spec), "origin": dict(encoder.origin), "libraries": versions(LIBRARIES)}

    def compute(self, packed: Any) -> list[Any]:
        """Encode the documents into a file; its name, and how many are truncated."""
        number, rows = packed
        encoder, docs = self._load(), [Doc(*row) for row in rows]
        before = encoder.truncated["passage"]
        encoded = encoder.encode([doc_input(self.spec.templates, doc) for doc in docs], "passage")
        self.moved(len(docs))
        name = f"encoded-{number:06d}.{'json' if self.spec.kind == 'impact' else 'npz'}"
        if self.spec.kind == "impact":  # the weights of each document's terms
            (self.folder / name).write_text(json.dumps(encoded), encoding="utf-8")
        else:  # its vectors (t, dimension) in half precision, as in indexes
            vectors = np.concatenate(encoded).astype(HALF)
            np.savez(self.folder / name, lengths=[len(vectors) for vectors in encoded], vectors=vectors)
        return [name, encoder.truncated["passage"] - before]

    def result(self, packed: Any) -> list:
        """See `Work`; the file stays until the index is there."""
        path, truncated = self.folder / packed[0], packed[1]
        self.truncated += truncated
        if path.suffix == ".json":  # weights are the same, bit by bit
            return decode_json(path.read_text(encoding="utf-8"))
        with np.load(path, allow_pickle=False) as file:
            return np.split(file["vectors"], np.cumsum(file["lengths"])[:-1])
