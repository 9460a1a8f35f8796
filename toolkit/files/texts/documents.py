"""Documents under one name, whole or divided into passages, with a digest of what was read; ids that come twice."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.files.texts.corpus import Batch, Entry, batches_of, corpus_files, read_corpus

BLANK = "".join(map(chr, range(33)))  # what Java's trim() takes off
SPLIT, DOCUMENTS_SPLIT = "split", "documents cut"


def is_empty(doc: Doc) -> bool:
    """Whether Anserini leaves the document out: nothing could find it."""
    return not (doc.text.strip(BLANK) or doc.title.strip(BLANK))


class ContentDigest:
    """A digest of documents that does not depend on their order: the sum of their SHA-256, modulo 2**256.

    Lucene's files never come out byte-equal and hold documents in any order; this is what a rebuild must meet.
    """

    def __init__(self, docs: Iterable[Doc] = ()):
        self._sum = 0
        for doc in docs:
            if not is_empty(doc):
                self.add(doc)

    def counting(self, docs: Iterable[Doc]) -> Iterator[Doc]:
        """The same documents, each counted in as it passes."""
        for doc in docs:
            if not is_empty(doc):
                self.add(doc)
            yield doc

    def add(self, doc: Doc) -> None:
        """Count one document in; not an empty one."""
        self._sum += int.from_bytes(hashlib.sha256(content(doc)).digest())

    def hexdigest(self) -> str:
        """64 hexadecimal digits; all zero without documents."""
        return f"{self._sum % 2**256:064x}"


def content(doc: Doc) -> bytes:
    """All of a document, so that no two documents give the same."""
    return f"{len(doc.doc_id)} {len(doc.title)} {doc.doc_id}{doc.title}{doc.text}".encode()


@dataclass
class Counts:
    """How many documents were taken, were empty (nothing can find them: left out), or left out as invalid."""

    documents: int = 0
    empty: int = 0
    skipped: int = 0


@dataclass
class Corpus:
    """Documents and what to call them; they can be read once.

    name    as messages and records have it
    parts   (file, batches) pairs; the file is "" for documents that come from no file
    files   the names of the files
    digest  of the bytes of all files, decompressed, or of the documents where they come from no file; once they are read
    about   what was made of the files, such as passages; counts in it are whole once they are read
    """

    name: str
    parts: Iterable[tuple[str, Iterable[Batch]]]
    files: list[str]
    digest: Any
    about: dict[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """What the record of what was made of it says of it, after it was read."""
        if not self.files:
            return {"name": self.name, "content": self.digest.hexdigest(), **self.about}
        return {"name": self.name, "files": self.files, "sha256": self.digest.hexdigest(), **self.about}

    def place(self, file: str, line: int) -> str:
        """Where a document stands, for a message."""
        return f"{file}, line {line}" if file else f"{self.name}, document {line}"

    def names_questions(self) -> bool:
        """Whether the first sound document names the question that it is for; it is read all the same."""
        read_ahead, parts = [], iter(self.parts)
        for file, batches in parts:
            whole = iter(batches)
            for batch in whole:
                entries = batch.entries()
                read_ahead.append((file, [replace(batch, entries=partial(list, entries))]))
                if any(not entry.problem for entry in entries):
                    self.parts = itertools.chain(read_ahead, [(file, whole)], parts)
                    return bool(next(entry.question for entry in entries if not entry.problem))
        self.parts = read_ahead
        return False

    def refuse_questions(self) -> None:
        """Make a problem of every document that names a question, which would be passed over."""

        def refusing(batches: Iterable[Batch]) -> Iterator[Batch]:
            for batch in batches:
                # lines in Anserini's own form name none
                yield batch if batch.ready else Batch(partial(list, map(_without_question, batch.entries())))

        self.parts = ((file, refusing(batches)) for file, batches in self.parts)

    def documents(self) -> Iterator[Doc]:
        """All of them, empty ones too. Raises ToolkitError for one that is broken and for an id that came before."""
        seen = SeenIds()
        for file, batches in self.parts:
            for batch in batches:
                entries = batch.entries()
                for entry in entries:
                    if entry.problem:
                        raise ToolkitError(f"{self.place(file, entry.line)}: {entry.problem}", "mend the corpus")
                for position in seen.add([entry.doc.doc_id for entry in entries]):
                    again = entries[position]
                    message = f"{self.place(file, again.line)}: id {again.doc.doc_id!r} comes a second time"
                    raise ToolkitError(message, "mend the corpus")
                yield from (entry.doc for entry in entries)


def _without_question(entry: Entry) -> Entry:
    if entry.problem or not entry.question:
        return entry
    return Entry(entry.line, None, "it names a question (query_id), and the first document none: --no-per-question ignores it")


def corpus_from_files(path: str | Path, processes: int = 1) -> Corpus:
    """The documents of a file, or of all files of a folder; saved pages as their text, see `toolkit.files.texts.pages`.

    processes  that read pages; more than one import the main module again, as multiprocessing does: a script needs its
               `if __name__ == "__main__"`
    """
    from toolkit.files.texts.pages import page_reader  # a search reads no web pages

    files, digest, about = corpus_files(path), hashlib.sha256(), {}

    def parts() -> Iterator[tuple[str, Iterator[Batch]]]:
        with page_reader(about, processes) as reader:
            for file in files:
                yield str(file), reader.read(read_corpus(file, digest))

    return Corpus(str(path), parts(), [file.name for file in files], digest, about)


def corpus_from_docs(name: str, docs: Iterable[Doc]) -> Corpus:
    """Documents of a benchmark or of ir_datasets."""
    digest = ContentDigest()
    return Corpus(name, [("", batches_of(itertools.starmap(Entry, enumerate(digest.counting(docs), 1))))], [], digest)


def split_corpus(corpus: Corpus, words: int) -> Corpus:
    """The passages of a corpus, of so many words at most, in place of its documents. ToolkitError for less than one.

    What was read is still the digest of the files; `about` gets the number of words, and how many documents there were.
    """
    if words < 1:
        raise ToolkitError(f"passages of {words} words", "--split takes a whole number from 1 on")
    about = corpus.about
    about.update({SPLIT: words, DOCUMENTS_SPLIT: 0})

    def batches(whole: Iterable[Batch]) -> Iterator[Batch]:
        for batch in whole:
            entries = batch.entries()
            about[DOCUMENTS_SPLIT] += sum(not entry.problem for entry in entries)
            parts = ([e] if e.problem else [e._replace(doc=doc) for doc in passages(e.doc, words)] for e in entries)
            yield Batch(partial(list, list(itertools.chain.from_iterable(parts))))

    return replace(corpus, parts=((file, batches(whole)) for file, whole in corpus.parts))


def passages(doc: Doc, words: int) -> Iterator[Doc]:
    """The document in pieces of so many words (what white space divides), the last one shorter, each with its title.

    Ids are `<doc>#<n>`, from 0, as in MS MARCO's segmented documents. A document without words is one piece.
    """
    tokens = doc.text.split()
    for number, start in enumerate(range(0, max(len(tokens), 1), words)):
        yield Doc(f"{doc.doc_id}#{number}", doc.title, " ".join(tokens[start : start + words]))


class SeenIds:
    """The ids that came by, as 64-bit hashes in sorted arrays of which each is at least twice as long as the next.

    Two different ids share a hash once in 10**6 corpora of MS MARCO's size.
    """

    def __init__(self):
        self._levels: list[np.ndarray] = []

    def add(self, ids: Sequence[str]) -> list[int]:
        """Take these ids; the positions of those that came before, in these or in earlier ones."""
        if not ids:
            return []
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
        order = np.argsort(hashes, kind="stable")
        ordered, again = hashes[order], np.zeros(len(ids), bool)
        again[order[1:]] = ordered[1:] == ordered[:-1]
        for level in self._levels:
            again |= level[np.minimum(np.searchsorted(level, hashes), len(level) - 1)] == hashes
        self._levels.append(ordered)
        while len(self._levels) > 1 and len(self._levels[-2]) < 2 * len(self._levels[-1]):
            last = self._levels.pop()
            self._levels[-1] = np.sort(np.concatenate([self._levels[-1], last]), kind="stable")  # merges sorted runs
        return np.flatnonzero(again).tolist()
