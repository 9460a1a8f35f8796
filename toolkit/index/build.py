"""From a corpus to a Lucene index with metadata, complete or not there."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from toolkit import __version__
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import progress
from toolkit.formats.corpus import Entry, corpus_files, read_corpus
from toolkit.index.ids import SeenIds
from toolkit.index.metadata import ContentDigest, is_empty, write_index_metadata
from toolkit.store import new_folder

BATCH = 4096  # documents checked at once


@dataclass
class Corpus:
    """Documents to index and what to call them.

    name     as messages and metadata have it
    entries  (file, entry) pairs; the file is "" for documents that come from no file
    files    the names of the files
    sha256   of the bytes of all files, decompressed, once they are read
    """

    name: str
    entries: Iterable[tuple[str, Entry]]
    files: list[str] = field(default_factory=list)
    sha256: Any = None


@dataclass
class Counts:
    """How many documents were indexed, were empty (nothing can find them: left out), or left out as invalid."""

    documents: int = 0
    empty: int = 0
    skipped: int = 0


def corpus_from_files(path: str | Path) -> Corpus:
    """The documents of a file, or of all files of a folder."""
    files, sha256 = corpus_files(path), hashlib.sha256()

    def entries() -> Iterator[tuple[str, Entry]]:
        for file in files:
            for entry in read_corpus(file, sha256):
                yield str(file), entry

    return Corpus(str(path), entries(), [file.name for file in files], sha256)


def corpus_from_docs(name: str, docs: Iterable[Doc]) -> Corpus:
    """Documents of a benchmark or of ir_datasets."""
    return Corpus(name, (("", Entry(number, doc)) for number, doc in enumerate(docs, 1)))


def build_index(
    corpus: Corpus, output: Path, *, language: str = "en", threads: int = 2, skip_invalid: bool = False, command: str = ""
) -> Counts:
    """Build a Lucene index into the folder `output`, which is there when it is complete and not before.

    Raises ToolkitError, which names file and line, for a document that is broken, has no id or text, or an id that came
    before; with `skip_invalid` they are left out and counted, and the first of them are said. An older index at `output` is
    replaced, another folder is not.

    command  what rebuilds it, for the metadata
    """
    from toolkit.models.anserini_index import StoredTexts, indexing

    check_output(output)
    started, digest, counts = time.time(), ContentDigest(), Counts()
    with new_folder(output) as part:
        with (
            progress(f"indexing {corpus.name}", unit="documents") as advance,
            indexing(part, language=language, threads=threads) as indexer,
        ):
            for docs in _valid(corpus, skip_invalid, counts):
                for doc in docs:
                    if is_empty(doc):
                        counts.empty += 1
                    else:
                        digest.add(doc)
                        indexer.add(doc)
                advance(len(docs))
            counts.documents = indexer.documents
        if not counts.documents:
            raise ToolkitError(f"{corpus.name} has no documents to index", "see `tandem index --help` for the forms it reads")
        statistics = StoredTexts(part).statistics()
        origin = {**_origin(corpus), "content": digest.hexdigest()}
        write_index_metadata(part, _metadata(origin, counts, language, command, time.time() - started, statistics))
    return counts


def check_output(output: Path) -> None:
    """Raise ToolkitError where `output` is something else than an index or an empty folder."""
    if output.exists() and not (output.is_dir() and (not any(output.iterdir()) or is_index(output))):
        raise ToolkitError(f"{output} exists and is no index", "name another folder, or remove it")


def is_index(folder: Path) -> bool:
    """Whether a folder holds a Lucene index."""
    return folder.is_dir() and any(folder.glob("segments_*"))


def _valid(corpus: Corpus, skip: bool, counts: Counts) -> Iterator[list[Doc]]:
    """Documents some thousand at a time, without what is invalid."""
    from toolkit.core.progress import say

    seen = SeenIds()
    for batch in _batches(corpus.entries):
        problems = {place: entry.problem for place, (_, entry) in enumerate(batch) if entry.doc is None}
        fine = [place for place in range(len(batch)) if place not in problems]
        for again in seen.add([batch[place][1].doc.doc_id for place in fine]):
            problems[fine[again]] = f"id {batch[fine[again]][1].doc.doc_id!r} comes a second time"
        for place in sorted(problems):
            file, entry = batch[place]
            message = f"{file or corpus.name}, {'line' if file else 'document'} {entry.line}: {problems[place]}"
            if not skip:
                raise ToolkitError(message, "mend the corpus, or leave such documents out with --skip-invalid")
            if counts.skipped < 20:
                say(f"left out: {message}")
            counts.skipped += 1
        yield [entry.doc for place, (_, entry) in enumerate(batch) if place not in problems]


def _batches(entries: Iterable[tuple[str, Entry]]) -> Iterator[tuple[tuple[str, Entry], ...]]:
    entries = iter(entries)
    while batch := tuple(itertools.islice(entries, BATCH)):
        yield batch


def _origin(corpus: Corpus) -> dict[str, Any]:
    if not corpus.files:
        return {"name": corpus.name}
    return {"name": corpus.name, "files": corpus.files, "sha256": corpus.sha256.hexdigest()}


def _metadata(
    origin: dict[str, Any], counts: Counts, language: str, command: str, seconds: float, statistics: dict[str, int]
) -> dict[str, Any]:
    from toolkit.models import jvm

    return {
        "kind": "lucene",
        "language": language,
        "corpus": origin,
        **asdict(counts),
        "statistics": statistics,
        "implementation": {
            "command": command,
            "tandem-ir": __version__,
            "pyserini": version("pyserini"),
            "anserini": jvm.anserini_jar().name,
            "java": jvm.java_version(jvm.java_home()),
            "wall time": round(seconds, 1),
        },
    }
