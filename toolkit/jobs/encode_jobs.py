"""Jobs that end in a folder with its own record: vectors of a corpus or of topics, and indexes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicSet
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.specs import SystemSpec
from toolkit.encode import SHARD, encode_corpus, write_topics_vectors
from toolkit.encode import Counts as Encoded
from toolkit.encode.estimate import estimate
from toolkit.formats.documents import Corpus, is_empty
from toolkit.formats.passages import split_corpus
from toolkit.formats.vectors import read_vectors_record
from toolkit.index import Counts, build_dense_index, build_index, build_per_question, kind_for, named_corpus
from toolkit.index.build import check_output
from toolkit.index.dense import holds_vectors
from toolkit.index.encoded_index import build_encoded
from toolkit.index.index_types import FAISS, IMPACT, KINDS, LUCENE
from toolkit.jobs.file_job import Job, Output
from toolkit.jobs.given import given_topics
from toolkit.models.checkpoints import check_usable
from toolkit.models.encoders import load_encoder, load_for
from toolkit.models.jvm import check_installed
from toolkit.provenance import command_line
from toolkit.registry import choose_system
from toolkit.steps import Tools

MODEL = ("device", "precision", "batch_size", "trust_remote_code")


class FolderJob(Job[Any]):
    """A job whose work writes its folder itself, complete or not at all (an index) or shard by shard (vectors)."""

    def write(self, product: Any, started: float) -> None:
        """Nothing is left to write."""


@dataclass
class EncodeJob(FolderJob):
    """A corpus or topics to vectors. how: of the encoder, see `toolkit.models.encoders.load_encoder`."""

    what: Corpus | TopicSet
    spec: SystemSpec
    output: Output
    shard_size: int = SHARD
    how: dict[str, Any] = field(default_factory=dict)

    def plan(self) -> list[str]:
        """How much is encoded, and what that takes; nothing is loaded."""
        from toolkit.models.checkpoints import pick_device, pick_precision

        if isinstance(self.what, TopicSet):
            count = len(self.what.topics)
            line = f"encode {count:,} topics of {self.what.name}"
        else:
            count = sum(not is_empty(doc) for doc in self.what.documents())
            line = f"encode {count:,} documents of {self.what.name}"
        recipe = f", recipe {self.spec.recipe}" if self.spec.recipe else ""
        precision = pick_precision(self.spec, self.how.get("precision"), pick_device(self.how.get("device")))
        return [line, f"system {self.spec.name}{recipe}", *estimate(self.spec, count, precision)]

    def work(self, tools: Tools) -> tuple[Encoded, int]:
        """How many were encoded, and the dimension of their vectors."""
        encoder = load_encoder(self.spec, **self.how)
        if isinstance(self.what, TopicSet):
            queries = write_topics_vectors(self.what.name, self.what.topics, encoder, self.spec, self.output.path)
            return Encoded(documents=queries), encoder.dimension
        how = {"shard_size": self.shard_size, "executor": tools.executor}
        return encode_corpus(self.what, encoder, self.spec, self.output.path, **how), encoder.dimension


def encode_job(
    corpus: str | None,
    system: str,
    output: str | Path,
    *,
    topics: Any = None,
    systems: Sequence[str | Path] = (),
    recipe: str | None = None,
    shard_size: int | None = None,
    **how: Any,
) -> EncodeJob:
    """Encode a corpus (a file, a folder, a benchmark's, an id of ir_datasets), or topics in its place.

    how  of the encoder: `device`, `precision`, `batch_size`, `trust_remote_code`

    Raises ToolkitError for a system that is not dense, and for numbers below 1.
    """
    if (corpus is None) == (topics is None):
        raise ToolkitError("a corpus and topics" if corpus else "no corpus to encode", "name one of both")
    if topics is not None and shard_size is not None:
        raise ToolkitError("topics have one shard", "leave --shard-size out")
    for name, value in (("batch size", how.get("batch_size")), ("shard size", shard_size)):
        if value is not None and value < 1:
            raise ToolkitError(f"{name} is {value}", "a whole number from 1 on")
    spec = choose_system(system, files=systems, recipe=recipe)
    if spec.kind != "dense":
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}, not dense", "`tandem systems list` names the dense ones")
    check_usable(spec, device=how.get("device"), trust_remote_code=bool(how.get("trust_remote_code")))
    what = named_corpus(corpus)[0] if corpus is not None else given_topics(topics)
    given = {name: value for name, value in how.items() if value is not None}
    return EncodeJob(what, spec, Output(Path(output)), SHARD if shard_size is None else shard_size, given)


@dataclass
class IndexJob(FolderJob):
    """A corpus, or vectors, to an index.

    corpus    None where `vectors`, a folder of `tandem encode`, is indexed
    kind      one of `toolkit.index.index_types.KINDS`
    spec      what encodes the documents; None for Lucene and for vectors
    per_question  an index for each question that the documents name
    how       of the encoder
    """

    corpus: Corpus | None
    output: Output
    kind: str = LUCENE
    spec: SystemSpec | None = None
    vectors: Path | None = None
    language: str = ""
    split: int | None = None
    per_question: bool = False
    skip_invalid: bool = False
    factory: str = "Flat"
    tuning: str = ""
    keep_vectors: bool = False
    threads: int = 1
    how: dict[str, Any] = field(default_factory=dict)

    def plan(self) -> list[str]:
        """One line."""
        return [self._plan()]

    def describe(self) -> list[str]:
        """See `Job`."""
        return [f"{self._plan()} into {self.output.path}"]

    def _plan(self) -> str:
        if self.vectors:
            return f"index the vectors in {self.vectors} as {self.factory}"
        if self.spec is None:
            split = f", split into passages of {self.split} words" if self.split else ""
            files = ", ".join(self.corpus.files) or "its documents"
            return f"index {self.corpus.name} ({files}{split}) for language {self.language}"
        system = f"{self.spec.name}, recipe {self.spec.recipe}" if self.spec.recipe else self.spec.name
        factory = f", {self.factory}" if self.kind == FAISS else ""
        return f"encode {self.corpus.name} with {system}; index it ({self.kind}{factory})"

    def work(self, tools: Tools) -> Counts:
        """Build it."""
        output, command = self.output.path, command_line()
        if self.vectors:
            how = {"threads": self.threads, "command": command}
            return build_dense_index(self.vectors, output, self.factory, self.tuning, **how)
        if self.spec is not None:
            return self._encoded(output, command)
        how = {"language": self.language, "threads": self.threads, "command": command}
        if not self.per_question:
            return build_index(self.corpus, output, **how, skip_invalid=self.skip_invalid)

        def build(corpus: Corpus, folder: Path) -> Counts:
            return build_index(corpus, folder, **how)

        return build_per_question(self.corpus, output, build, skip_invalid=self.skip_invalid, command=command)

    def _encoded(self, output: Path, command: str) -> Counts:
        vectors = output.with_name(f"{output.name}.vectors")  # where an interrupted command resumes
        complete = self.kind == FAISS and holds_vectors(vectors) and read_vectors_record(vectors)["complete"]
        encoder = load_for(self.spec, **self.how)
        how = {"factory": self.factory, "tuning": self.tuning, "threads": self.threads, "command": command}
        if not self.per_question:
            keep = self.keep_vectors or complete
            return build_encoded(self.corpus, self.spec, encoder, output, vectors, **how, keep=keep)

        def build(corpus: Corpus, folder: Path) -> Counts:
            return build_encoded(corpus, self.spec, encoder, folder, vectors / folder.name, **how, keep=True)

        counts = build_per_question(self.corpus, output, build, command=command)
        if truncated := encoder.truncated["passage"]:
            say(f"note: {truncated:,} passages are longer than the model's limit and were truncated")
        if vectors.exists() and not self.keep_vectors:
            shutil.rmtree(vectors)
        return counts


def index_job(
    corpus: str,
    output: str | Path,
    *,
    type: str | None = None,
    system: str | None = None,
    systems: Sequence[str | Path] = (),
    recipe: str | None = None,
    pooling: str | None = None,
    language: str | None = None,
    split: int | None = None,
    per_question: bool | None = None,
    skip_invalid: bool = False,
    factory: str = "Flat",
    tuning: str = "",
    keep_vectors: bool = False,
    threads: int | None = None,
    **how: Any,
) -> IndexJob:
    """Index a corpus: a file or folder, a benchmark's, an id of ir_datasets, or a folder of vectors.

    type          lucene, impact, faiss, multivector; what the system searches where none is named, else lucene
    split         passages of so many words
    per_question  an index for each question that the documents name; where they name one, unless said otherwise
    factory, tuning  of FAISS, see `toolkit.models.vectors`
    keep_vectors  leave the encoded vectors in DIR.vectors
    how           of the encoder: `device`, `precision`, `batch_size`, `trust_remote_code`

    Raises ToolkitError for what does not fit together.
    """
    threads = (os.cpu_count() or 1) if threads is None else threads
    batch_size = 1 if how.get("batch_size") is None else how["batch_size"]
    if threads < 1 or batch_size < 1:
        numbers = f"threads is {threads}, batch size is {batch_size}"
        raise ToolkitError(numbers, "both are whole numbers from 1 on")
    place = Output(Path(output))
    check_output(place.path)
    spec = choose_system(system, files=systems, recipe=recipe, pooling=pooling) if system else None
    kind = _kind(type, spec, of_lucene=bool(language or skip_invalid), vectors=corpus if holds_vectors(Path(corpus)) else None)
    built = {"factory": factory, "tuning": tuning, "threads": threads, "kind": kind}
    if holds_vectors(Path(corpus)):
        return IndexJob(None, place, vectors=Path(corpus), **built)
    if spec:
        check_usable(spec, device=how.get("device"), trust_remote_code=bool(how.get("trust_remote_code")))
    if kind in (LUCENE, IMPACT):
        check_installed()
    documents, known = named_corpus(corpus, threads)
    documents = documents if split is None else split_corpus(documents, split)
    given = {name: value for name, value in how.items() if value is not None}
    return IndexJob(
        documents,
        place,
        spec=spec,
        language=language or known,
        split=split,
        per_question=_per_question(documents, per_question),
        skip_invalid=skip_invalid,
        keep_vectors=keep_vectors,
        how=given,
        **built,
    )


def _kind(given: str | None, spec: SystemSpec | None, *, of_lucene: bool, vectors: str | None) -> str:
    """The type of index; ToolkitError where system, vectors or options are of another one."""
    if given and given not in KINDS:
        raise ToolkitError(f"no type of index {given!r}", f"known: {', '.join(KINDS)}")
    kind = given or kind_for(spec)
    if spec and kind != kind_for(spec):
        raise ToolkitError(f"system {spec.name} searches indexes of type {kind_for(spec)}, not {kind}", "leave --type out")
    if vectors:
        if kind != FAISS or spec:
            raise ToolkitError(f"{vectors} holds vectors, which say what made them", "name --type faiss, and no --system")
        return kind
    if kind != LUCENE and spec is None:
        raise ToolkitError(f"no system for an index of type {kind}", "name one with --system, such as all-minilm-l6-v2")
    if kind != LUCENE and of_lucene:
        raise ToolkitError("--language and --skip-invalid are Lucene's", f"leave them out of an index of type {kind}")
    return kind


def _per_question(corpus: Corpus, given: bool | None) -> bool:
    """Whether each question gets an index: as given, else where the documents name their questions, which is said."""
    if given is not None:
        return given
    named = corpus.names_questions()
    if named:
        say("the documents name their questions: each question gets a corpus of its own (--no-per-question for one of all)")
    else:
        corpus.refuse_questions()
    return named
