"""Jobs that end in a folder with its own record: vectors of a corpus or of topics, and indexes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.specs import ENDPOINT, SystemSpec
from toolkit.core.system.files import is_stream
from toolkit.core.system.progress import say
from toolkit.core.templates import doc_input, topic_input
from toolkit.datasets import TopicSet
from toolkit.engine import Executor, LocalExecutor, refuse_object
from toolkit.files.formats.vectors import read_vectors_record
from toolkit.files.provenance import Output, command_line
from toolkit.files.texts.documents import Corpus, Counts, is_empty, split_corpus
from toolkit.jobs.file_job import Job, engine_of, make
from toolkit.models import choose_system
from toolkit.models.checkpoints.local_checkpoints import check_usable
from toolkit.models.computing import device_of, pick_precision
from toolkit.models.encoders import load_encoder
from toolkit.models.lucene.jvm import check_installed
from toolkit.registry.system_kinds import loaded_by
from toolkit.retrieval.encode import SHARD, asked_of, encode_corpus, estimate, shards, write_topics_vectors
from toolkit.retrieval.index import build_dense_index, build_index, build_per_question, named_corpus
from toolkit.retrieval.index.build import check_output
from toolkit.retrieval.index.dense import holds_vectors
from toolkit.retrieval.index.encoded_index import build_encoded
from toolkit.retrieval.index.index_types import FAISS, IMPACT, LUCENE, chosen_kind
from toolkit.retrieval.index.shard_folder import shards_beside
from toolkit.retrieval.steps import Tools, given_topics

if TYPE_CHECKING:
    from toolkit.datasets.accepted import File, Loader, Precision, Topics
    from toolkit.models.checkpoints.own_systems import TextEncoder


class FolderJob(Job[Any]):
    """A job whose work writes its folder itself, complete or not at all (an index) or shard by shard (vectors)."""

    def write(self, product: Any, started: float) -> None:
        """Nothing is left to write."""

    def resumes(self) -> bool:
        """Whether shards are there: of vectors in the folder itself or, of an index, in DIR.vectors; of an index beside it."""
        folder = self.output.path
        vectors = folder.with_name(f"{folder.name}.vectors")
        return shards_beside(folder).exists() or holds_vectors(folder) or holds_vectors(vectors)


class EncodeJob(FolderJob):
    """Encode a corpus (a file, a folder, a benchmark's, an id of ir_datasets), or topics in its place.

    Options are those of `encode`. Raises ToolkitError for a system that is not dense, and for numbers below 1.
    """

    def __init__(
        self,
        corpus: str | None,
        system: Any,
        output: str | Path,
        *,
        topics: Any = None,
        systems: Sequence[str | Path] = (),
        recipe: str | None = None,
        pooling: str | None = None,
        shard_size: int | None = None,
        **how: Any,
    ):
        if (corpus is None) == (topics is None):
            raise ToolkitError("a corpus and topics" if corpus else "no corpus to encode", "name one of both")
        if topics is not None and shard_size is not None:
            raise ToolkitError("topics have one shard", "leave --shard-size out")
        check_counts(batch_size=how.get("batch_size"), shard_size=shard_size)
        chosen = choose_system(system, files=systems, recipe=recipe, pooling=pooling)
        spec = loaded_by(chosen, how.pop("loader", None), how.pop("instruction_as", None))
        if spec.kind != "dense":
            raise ToolkitError(f"{spec.name} is of kind {spec.kind}, not dense", "`tandem systems list` names the dense ones")
        check_usable(spec, device=how.get("device"), trust_remote_code=bool(how.get("trust_remote_code")))
        check_asked(spec, how)
        self.spec, self.output, self.named = spec, Output(Path(output)), corpus
        self.what = named_corpus(corpus)[0] if corpus is not None else given_topics(topics)
        self.shard_size = SHARD if shard_size is None else shard_size
        self.how = {name: value for name, value in how.items() if value is not None}

    def plan(self) -> list[str]:
        """How much is encoded, and what that takes; nothing is loaded."""
        if self.spec.loader == "endpoint":
            return self._plan_asked()
        if isinstance(self.what, TopicSet):
            count = len(self.what.topics)
            line = f"encode {count:,} topics of {self.what.name}"
        else:
            count = sum(not is_empty(doc) for doc in self.what.documents())
            line = f"encode {count:,} documents of {self.what.name}"
        recipe = f", recipe {self.spec.recipe}" if self.spec.recipe else ""
        precision = pick_precision(self.spec, self.how.get("precision"), device_of(self.spec, self.how.get("device")))
        return [line, f"system {self.spec.name}{recipe}", *estimate(self.spec, count, precision)]

    def _plan_asked(self) -> list[str]:
        """The same of a server: how much it would be asked."""
        encoder = load_encoder(self.spec, **self.how)
        if isinstance(self.what, TopicSet):
            parts, side = [[topic_input(self.spec.templates, topic) for topic in self.what.topics]], "query"
        else:
            docs, side = shards(self.what, SHARD, Counts()), "passage"
            parts = ([doc_input(self.spec.templates, doc) for doc in shard] for shard in docs)
        what = "topics" if side == "query" else "documents"
        return [f"encode the {what} of {self.what.name} with {self.spec.name}", asked_of(encoder, parts, side)]

    def work(self, tools: Tools) -> tuple[Counts, int]:
        """How many were encoded, and the dimension of their vectors."""
        remote = not isinstance(self.executor, LocalExecutor)
        encoder = None if remote else load_encoder(self.spec, **self.how)
        if encoder and self.spec.loader == "endpoint":
            encoder.check()
        if isinstance(self.what, TopicSet):
            queries = write_topics_vectors(self.what.name, self.what.topics, encoder, self.spec, self.output.path)
            return Counts(documents=queries), encoder.dimension
        total = None
        if remote and not is_stream(self.named):
            # they are read once more, and one that is broken is found before a worker starts
            total = sum(not is_empty(doc) for doc in named_corpus(self.named)[0].documents())
        how = {"shard_size": self.shard_size, "executor": tools.executor, "total": total, **self.how}
        counts = encode_corpus(self.what, encoder, self.spec, self.output.path, **how)
        return counts, read_vectors_record(self.output.path)["dimension"]

    def check_divisible(self) -> None:
        """See `Job`."""
        if isinstance(self.what, TopicSet):
            raise ToolkitError("topics are encoded at once, not divided among workers", "leave --engine out")
        refuse_object(self.spec)


class IndexJob(FolderJob):
    """Index a corpus; options are those of `index`. Raises ToolkitError for what does not fit together."""

    def __init__(
        self,
        corpus: str,
        output: str | Path,
        *,
        type: str | None = None,
        system: Any = None,
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
        shard_size: int | None = None,
        threads: int | None = None,
        **how: Any,
    ):
        check_counts(threads=threads, batch_size=how.get("batch_size"), shard_size=shard_size)
        self.output = Output(Path(output))
        check_output(self.output.path)
        self.vectors = Path(corpus) if holds_vectors(Path(corpus)) else None
        loader = how.pop("loader", None)
        spec = choose_system(system, files=systems, recipe=recipe, pooling=pooling) if system else None
        self.spec = loaded_by(spec, loader) if spec else None
        check_asked(self.spec, {**how, **({} if spec else {"loader": loader})})
        vectors = corpus if self.vectors else None
        self.kind = chosen_kind(type, self.spec, of_lucene=bool(language or skip_invalid), vectors=vectors)
        if shard_size is not None and self.kind not in (LUCENE, FAISS):
            raise ToolkitError(f"a shard size for an index of type {self.kind}", "indexes of Lucene and FAISS take one")
        self.threads, self.shard_size, self._given_threads = threads or os.cpu_count() or 1, shard_size, threads
        self.factory, self.tuning, self.keep_vectors = factory, tuning, keep_vectors
        self.split, self.skip_invalid = split, skip_invalid
        self.how = {name: value for name, value in how.items() if value is not None}
        self.corpus: Corpus | None = None  # of vectors
        if self.vectors:
            return
        if self.spec:
            check_usable(self.spec, device=how.get("device"), trust_remote_code=bool(how.get("trust_remote_code")))
        if self.kind in (LUCENE, IMPACT):
            check_installed()
        documents, known = named_corpus(corpus, self.threads)
        self.corpus = documents if split is None else split_corpus(documents, split)
        self.language = language or known
        self.per_question = _per_question(self.corpus, per_question)
        if self.per_question and shard_size is not None:
            raise ToolkitError("a shard size for indexes of questions", "they are small: leave it out")

    def plan(self) -> list[str]:
        """One line, and what a server would be asked."""
        return [self._plan(), *self._plan_asked()]

    def describe(self) -> list[str]:
        """See `Job`."""
        return [f"{self._plan()} into {self.output.path}", *self._plan_asked()]

    def _plan_asked(self) -> list[str]:
        if self.vectors or self.spec is None or self.spec.loader != "endpoint":
            return []
        docs = ([doc_input(self.spec.templates, doc) for doc in shard] for shard in shards(self.corpus, SHARD, Counts()))
        return [asked_of(load_encoder(self.spec, **self.how), docs, "passage")]

    def _plan(self) -> str:
        shards = f", in shards of {self.shard_size:,} documents" if self.shard_size else ""
        if self.vectors:
            return f"index the vectors in {self.vectors} as {self.factory}{shards}"
        if self.spec is None:
            split = f", split into passages of {self.split} words" if self.split else ""
            files = ", ".join(self.corpus.files) or "its documents"
            return f"index {self.corpus.name} ({files}{split}) for language {self.language}{shards}"
        system = f"{self.spec.name}, recipe {self.spec.recipe}" if self.spec.recipe else self.spec.name
        factory = f", {self.factory}" if self.kind == FAISS else ""
        return f"encode {self.corpus.name} with {system}; index it ({self.kind}{factory}){shards}"

    def work(self, tools: Tools) -> Counts:
        """Build it."""
        output, command = self.output.path, command_line()
        if self.vectors:
            how = {"shard_size": self.shard_size, "threads": self._shard_threads, "executor": tools.executor}
            return build_dense_index(self.vectors, output, self.factory, self.tuning, **how, command=command)
        if self.spec is not None:
            return self._encoded(output, command, tools.executor)
        how = {"language": self.language, "threads": self.threads, "command": command}
        if not self.per_question:
            how |= {"skip_invalid": self.skip_invalid, "shard_size": self.shard_size, "executor": tools.executor}
            return build_index(self.corpus, output, **how)
        build = partial(build_index, **how)
        return build_per_question(self.corpus, output, build, skip_invalid=self.skip_invalid, command=command)

    @property
    def _is_divided(self) -> bool:
        """Whether workers compute."""
        return not isinstance(self.executor, LocalExecutor)

    @property
    def _shard_threads(self) -> int:
        """Of FAISS: one where there are shards or workers, unless given, as the bytes of some indexes depend on it."""
        return self._given_threads or 1 if self.shard_size or self._is_divided else self.threads

    def check_divisible(self) -> None:
        """See `Job`."""
        if self.vectors:
            return
        if self.per_question:
            raise ToolkitError("indexes of questions are small: they are not divided among workers", "leave --engine out")
        if self.spec:
            refuse_object(self.spec)

    def _encoded(self, output: Path, command: str, executor: Executor) -> Counts:
        vectors = output.with_name(f"{output.name}.vectors")  # where an interrupted command resumes
        complete = self.kind == FAISS and holds_vectors(vectors) and read_vectors_record(vectors)["complete"]
        encoder = None if self._is_divided else load_encoder(self.spec, **self.how)
        if encoder and self.spec.loader == "endpoint":
            encoder.check()
        how = {"factory": self.factory, "tuning": self.tuning, "command": command}
        how |= {"shard_size": self.shard_size, "threads": self._shard_threads if self.kind == FAISS else self.threads}
        if not self.per_question:
            how |= {"keep": self.keep_vectors or complete, "executor": executor, "loading": self.how}
            return build_encoded(self.corpus, self.spec, encoder, output, vectors, **how)

        def build(corpus: Corpus, folder: Path) -> Counts:
            return build_encoded(corpus, self.spec, encoder, folder, vectors / folder.name, **how, keep=True)

        counts = build_per_question(self.corpus, output, build, command=command)
        if truncated := encoder.truncated["passage"]:
            say(f"note: {truncated:,} passages are longer than the model's limit and were truncated")
        if vectors.exists() and not self.keep_vectors:
            shutil.rmtree(vectors)
        return counts


def check_asked(spec: SystemSpec | None, how: Mapping[str, Any]) -> None:
    """Raise ToolkitError where what only a server has is given for a system that is on none."""
    given = [name for name in ENDPOINT if how.get(name) is not None]
    if given and (spec is None or spec.loader != "endpoint"):
        raise ToolkitError(f"{spec.name if spec else 'an index of words'} has no {', '.join(given)}", "models on a server have")


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


def index(
    corpus: File,
    output: File,
    *,
    system: str | TextEncoder | None = None,
    type: Literal["lucene", "impact", "faiss", "multivector"] | None = None,
    language: str | None = None,
    split: int | None = None,
    per_question: bool | None = None,
    skip_invalid: bool = False,
    pooling: str | None = None,
    factory: str = "Flat",
    tuning: str = "",
    keep_vectors: bool = False,
    shard_size: int | None = None,
    threads: int | None = None,
    systems: Sequence[File] = (),
    recipe: str | None = None,
    device: str | None = None,
    precision: Precision | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    loader: Loader | None = None,
    concurrency: int | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    replay: bool | None = None,
    engine: str | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    gpus_per_worker: float | None = None,
    units: File | None = None,
) -> Path:
    """Build an index of a corpus (a file or folder, a benchmark's, an id of ir_datasets, or vectors); its folder.

    system        what encodes the documents; without one, Lucene indexes their words
    type          what the system searches where none is named, else lucene
    split         passages of so many words
    per_question  an index for each question that the documents name; where they name one, unless said otherwise
    factory, tuning  of FAISS, see `toolkit.models.vectors.faiss_index`
    shard_size    documents a shard: of FAISS a file each, None for one; of Lucene what is built at once and merged
    keep_vectors  leave the encoded vectors in DIR.vectors

    Raises ToolkitError.
    """
    how = dict(locals())
    made_by = engine_of(how)
    make(IndexJob(**how | {"corpus": str(corpus)}), **made_by)
    return Path(output)


def encode(
    corpus: str | None,
    system: str | TextEncoder,
    output: File,
    *,
    topics: Topics | None = None,
    pooling: str | None = None,
    shard_size: int | None = None,
    systems: Sequence[File] = (),
    recipe: str | None = None,
    device: str | None = None,
    precision: Precision | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    loader: Loader | None = None,
    concurrency: int | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    replay: bool | None = None,
    instruction_as: Literal["field", "text"] | None = None,
    engine: str | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    gpus_per_worker: float | None = None,
    units: File | None = None,
) -> Path:
    """Encode a corpus, or topics in its place, into a folder of vectors; an interrupted encoding resumes.

    The options are those of `tandem encode`. Raises ToolkitError.
    """
    how = dict(locals())
    made_by = engine_of(how)
    make(EncodeJob(**how), **made_by)
    return Path(output)
