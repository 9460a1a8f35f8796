"""Indexing through Anserini's IndexCollection.

IndexCollection reads files, one a thread. It is given named pipes in place of files, so that documents are checked
here and indexed there at the same time, with nothing written twice.
"""

import errno
import fcntl
import json
import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import PIPES, temporary_folder
from toolkit.core.system.lazy_names import jnius
from toolkit.core.system.progress import progress
from toolkit.models.lucene import jvm
from toolkit.models.lucene.anserini import ENGLISH, analyzer, open_directory, reason
from toolkit.models.lucene.jvm import java_class

BATCH = 512  # documents handed over at once
WAITING = 8  # batches that may wait for a thread
PIPE = 1 << 20  # bytes that a pipe holds, where the system lets us: readers and writers wake each other less often
MEMORY = 1024  # MB that Lucene collects before it writes a segment
_quoted = json.encoder.encode_basestring_ascii  # a string as JSON has it; beyond ASCII Java might take it for another encoding
MARKS = {"\\": "\x01", '"': "\x02", "\n": "\x03", "\t": "\x04", "\r": "\x05"}
ALMOST_FULL = 1 << 20  # bytes: a disk with less free has stopped Lucene


class Indexer:
    """Takes documents while `indexing` is open. Not for several threads at once."""

    def __init__(self, folder: Path, java: threading.Thread, waiting: queue.Queue):
        self._folder, self._java, self._waiting = folder, java, waiting
        self._batch: list[str] = []
        self.documents = 0

    def add(self, doc: Doc) -> None:
        """Index one document: its contents are searched, its title and text can be read back."""
        self.add_line(json_line(doc))

    def add_line(self, line: str) -> None:
        """Index one document that is a JSON line with `id` and `contents` already."""
        self._batch.append(line)
        self.documents += 1
        if len(self._batch) == BATCH:
            self.flush()

    def add_lines(self, lines: bytes, documents: int) -> None:
        """Index documents that are JSON lines with `id` and `contents` already."""
        self.put(ascii_lines(lines))
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
def indexing(
    folder: Path, *, language: str = ENGLISH, threads: int, impact: bool = False, fields: Sequence[str] = ()
) -> Iterator[Indexer]:
    """Index into an empty folder what is added within the block, `fields` of JSON lines each as a field of its own.

    Documents of an `impact` index are JSON lines with the weights of their terms, `vector`, and these are what is searched.
    Raises ToolkitError for a language without analyzer, and that or OSError (a full disk) where Anserini did not take every
    document.
    """
    analyzer(language)
    with temporary_folder(Path(tempfile.gettempdir()), PIPES) as pipes:
        paths = [Path(pipes, f"{number}.jsonl") for number in range(threads)]
        for path in paths:
            os.mkfifo(path)
        options = ["-collection", "JsonVectorCollection" if impact else "JsonCollection", "-input", str(pipes)]
        options += ["-index", str(folder.absolute()), "-language", language, "-threads", str(threads)]
        options += ["-memoryBuffer", str(MEMORY), "-storeRaw", *(["-impact", "-pretokenized"] if impact else [])]
        settings = _settings([*options, *(["-fields", *fields] if fields else [])])
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


def merge_indexes(folders: Sequence[Path], output: Path) -> None:
    """Merge Lucene indexes into an empty folder, by Lucene's own `addIndexes`; their documents stay in their order.

    All that BM25 and RM3 score with is of the whole index: documents, postings, lengths as they were stored.

    Raises ToolkitError, or OSError for a full disk, where Lucene could not.
    """
    config = java_class("org.apache.lucene.index.IndexWriterConfig")()
    config.setMergePolicy(java_class("org.apache.lucene.index.LogByteSizeMergePolicy")())  # merges neighbours alone
    try:
        with ExitStack() as stack:
            target, *shards = (stack.enter_context(closing(open_directory(folder))) for folder in (output, *folders))
            writer = java_class("org.apache.lucene.index.IndexWriter")(target, config)
            stack.callback(writer.rollback)  # does nothing once it is closed
            with progress("merging", len(folders), "shards") as advance:
                for directory in shards:
                    writer.addIndexes(directory)
                    advance(1)
            writer.close()  # which commits
    except jvm.exception() as error:
        if is_almost_full(output):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(output)) from error
        message = f"Lucene could not merge into {output} ({reason(error)})"
        raise ToolkitError(message, "see more with --debug", status=1) from error
    (output / "write.lock").unlink(missing_ok=True)


def json_line(doc: Doc) -> str:
    """A document as `Indexer.add_line` takes it."""
    title = f', "title": {_quoted(doc.title)}' if doc.title else ""
    # put together by hand: json.dumps takes ten times as long
    return f'{{"id": {_quoted(doc.doc_id)}, "contents": {_quoted(doc.contents)}{title}}}\n'


def ascii_lines(lines: bytes) -> bytes:
    """The same JSON lines in ASCII. JSON's own signs are hidden behind control characters, which it does not allow."""
    if lines.isascii():
        return lines
    text = lines.decode(errors="replace")
    for sign, mark in MARKS.items():
        text = text.replace(sign, mark)
    text = _quoted(text)[1:-1]
    for sign, mark in reversed(MARKS.items()):  # the backslash last: what follows one is no mark
        text = text.replace(_quoted(mark)[1:-1], sign)
    return text.encode()


def is_almost_full(folder: Path) -> bool:
    """Whether the disk of a folder has stopped Lucene."""
    return shutil.disk_usage(folder).free < ALMOST_FULL


def _stopped(folder: Path, indexed: str) -> Exception:
    if is_almost_full(folder):
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
    hint = "see why with --debug; one without text cannot be indexed"
    return ToolkitError(f"Anserini stopped: {indexed} documents were indexed", hint, status=1)


def _settings(options: Sequence[str]) -> Any:
    """IndexCollection's settings, read from a command line as Anserini does: pyjnius cannot assign to its array of fields."""
    settings, words = java_class("io.anserini.index.IndexCollection$Args")(), java_class("java.util.ArrayList")()
    for option in options:
        words.add(java_class("java.lang.String")(option))
    java_class("org.kohsuke.args4j.CmdLineParser")(settings).parseArgument(words)
    settings.quiet = True
    return settings


def _run(collection: Any) -> None:
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


def index_fields(docs: Iterable[Doc], folder: Path, *, language: str = "en", threads: int = 1) -> int:
    """Index title and text (as `contents`) of documents into an empty folder, and return how many there are.

    Raises ToolkitError where Anserini did not take every document (one without a word in its text among them).
    """
    with indexing(folder, language=language, threads=threads, fields=["title"]) as indexer:
        for doc in docs:
            indexer.add_line(json.dumps({"id": doc.doc_id, "contents": doc.text, "title": doc.title}) + "\n")
    return indexer.documents
