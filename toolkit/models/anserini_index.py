"""Indexing through Anserini's IndexCollection, and what a finished index holds.

IndexCollection reads files, one a thread. It is given named pipes in place of files, so that documents are checked
here and indexed there at the same time, with nothing written twice.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.models import jvm
from toolkit.models.anserini import ENGLISH, LUCENE, analyzer, open_reader
from toolkit.models.jvm import java_class

BATCH = 512  # documents handed over at once
WAITING = 8  # batches that may wait for a thread
PIPE = 1 << 20  # bytes that a pipe holds, where the system lets us: readers and writers wake each other less often
MEMORY = 1024  # MB that Lucene collects before it writes a segment
_quoted = json.encoder.encode_basestring  # a string as JSON has it
ALMOST_FULL = 1 << 20  # bytes: a disk with less free has stopped Lucene


class Indexer:
    """Takes documents while `indexing` is open. Not for several threads at once."""

    def __init__(self, folder: Path, java: threading.Thread, waiting: queue.Queue):
        self._folder = folder
        self._java = java
        self._waiting = waiting
        self._batch: list[str] = []
        self.documents = 0

    def add(self, doc: Doc) -> None:
        """Index one document: its contents are searched, its title and text can be read back."""
        title = f', "title": {_quoted(doc.title)}' if doc.title else ""
        # put together by hand: json.dumps takes ten times as long
        self._batch.append(f'{{"id": {_quoted(doc.doc_id)}, "contents": {_quoted(doc.contents)}{title}}}\n')
        self.documents += 1
        if len(self._batch) == BATCH:
            self.flush()

    def add_lines(self, lines: bytes, documents: int) -> None:
        """Index documents that are JSON lines with `id` and `contents` already."""
        self.put(lines)
        self.documents += documents

    def flush(self) -> None:
        """Hand over what has been taken."""
        if self._batch:
            self.put("".join(self._batch).encode())
            self._batch = []

    def put(self, data: bytes | None) -> None:
        """Wait until there is room; an error where nobody is left to make it."""
        while True:
            try:
                return self._waiting.put(data, timeout=1)
            except queue.Full:
                if not self._java.is_alive():
                    raise _stopped(self._folder, "not all") from None


@contextmanager
def indexing(folder: Path, *, language: str = ENGLISH, threads: int, impact: bool = False) -> Iterator[Indexer]:
    """Index into an empty folder what is added within the block.

    language  picks the analyzer, by Anserini's own map (ToolkitError for a code that it has not)
    impact    documents are JSON lines with the weights of their terms, `vector`, and these are what is searched

    Raises ToolkitError, or OSError for a full disk, where Anserini did not take every document.
    """
    analyzer(language)
    with tempfile.TemporaryDirectory(prefix="tandem-pipes-") as pipes:
        paths = [Path(pipes, f"{number}.jsonl") for number in range(threads)]
        for path in paths:
            os.mkfifo(path)
        settings = _settings(folder, pipes, language, threads)
        if impact:
            settings.collectionClass = "JsonVectorCollection"
            settings.impact = settings.pretokenized = True
        collection = java_class("io.anserini.index.IndexCollection")(settings)
        java = threading.Thread(target=_run, args=(collection,), daemon=True)
        waiting: queue.Queue[bytes | None] = queue.Queue(threads * WAITING)
        feeders = [threading.Thread(target=_feed, args=(path, waiting), daemon=True) for path in paths]
        indexer = Indexer(folder, java, waiting)
        for thread in (java, *feeders):
            thread.start()
        try:
            yield indexer
            indexer.flush()
        finally:
            # after an error too: Anserini ends when its files do, and only then can the folder be removed
            for _ in feeders:
                indexer.put(None)
            java.join()
        indexed = collection.getCounters().indexed.get()
    if indexed != indexer.documents:
        raise _stopped(folder, f"{indexed} of {indexer.documents}")
    (folder / "write.lock").unlink(missing_ok=True)


def _stopped(folder: Path, indexed: str) -> Exception:
    if shutil.disk_usage(folder).free < ALMOST_FULL:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
    return ToolkitError(f"Anserini stopped: {indexed} documents were indexed", "see why with --debug", status=1)


def _settings(folder: Path, pipes: str, language: str, threads: int) -> Any:
    settings = java_class("io.anserini.index.IndexCollection$Args")()
    settings.collectionClass = "JsonCollection"
    settings.input, settings.index = pipes, str(folder.absolute())
    settings.language, settings.threads = language, threads
    settings.memoryBuffer = MEMORY
    settings.storeRaw = True
    settings.quiet = True
    return settings


def _run(collection: Any) -> None:
    import jnius

    try:
        collection.run()
    except jvm.exception():
        pass  # Anserini has logged it; that documents are missing is found by counting
    finally:
        jnius.detach()


def _feed(path: Path, waiting: queue.Queue) -> None:
    """Write batches into one pipe until there are no more, or nobody reads it any longer."""
    with path.open("wb", buffering=0) as pipe:
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)
        try:
            while (data := waiting.get()) is not None:
                _write(pipe.fileno(), data)
        except BrokenPipeError:
            return  # the reader's failure shows in the number of documents indexed


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


class StoredTexts:
    """The documents of an index, read back."""

    def __init__(self, index: Path):
        self._reader = open_reader(index)
        stored = self._reader.storedFields()
        document = jvm.bound(stored, "org.apache.lucene.index.StoredFields", "document", f"(I){LUCENE}/document/Document;")
        raw = jvm.method("org.apache.lucene.document.Document", "get", "(Ljava/lang/String;)Ljava/lang/String;", "raw")
        self._raw = document.then(raw)

    def __iter__(self) -> Iterator[Doc]:
        """All of them, in the index's order, which differs from one building to the next."""
        return (to_doc(self._raw(number)) for number in range(self._reader.maxDoc()))

    def statistics(self) -> dict[str, int]:
        """Documents, postings (documents a term, over all terms) and tokens that the analyzer made of them."""
        return {
            "documents": self._reader.numDocs(),
            "postings": self._reader.getSumDocFreq("contents"),
            "tokens": self._reader.getSumTotalTermFreq("contents"),
        }


def to_doc(raw: str) -> Doc:
    """The document that `Indexer.add` took, from what the index stores of it."""
    row = json.loads(raw)
    title = row.get("title", "")
    return Doc(row["id"], title, row["contents"][len(title) + 1 :] if title else row["contents"])
