"""A Lucene index in shards: documents are indexed some at a time, by whoever computes, and Lucene merges the shards.

Documents are read, checked and counted in one process, as without shards: an id that comes twice is refused wherever it comes.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import progress
from toolkit.engine import Executor, Work
from toolkit.files.store import new_folder
from toolkit.models.lucene.anserini import analyzer
from toolkit.models.lucene.anserini_index import BATCH, Indexer, ascii_lines, indexing, json_line, merge_indexes
from toolkit.retrieval.index.shard_folder import compute, shard_folder

SHARD = 65536  # documents
LARGEST = 1 << 26  # bytes of lines from which on a shard takes no more documents: its unit is read into memory as one


class Unit(NamedTuple):
    """The documents of a shard: JSON lines in ASCII, some hundred documents together, and how many each has."""

    number: int
    lines: list[str]
    counts: list[int]


@dataclass
class IndexShards(Work[Unit, tuple[str, int]]):
    """Documents become a Lucene index, in a folder of its own; the result is its name and the number of its documents.

    threads  of Lucene: they change the order of documents in an index, and neither statistics nor runs
    """

    name: str
    folder: Path
    language: str
    threads: int

    def identity(self) -> dict[str, Any]:
        """See `Work`."""
        return {"language": self.language}

    def facts(self) -> dict[str, Any]:
        """What writes the index, with versions."""
        return lucene_libraries()

    def size(self, unit: Unit) -> int:
        """Documents."""
        return sum(unit.counts)

    def unit_name(self, unit: Unit) -> str:
        """`shard 7 (65,536 documents)`."""
        return f"shard {unit.number} ({self.size(unit):,} documents)"

    def compute(self, packed: Any) -> list[Any]:
        """Index the documents."""
        unit = Unit(*packed)
        folder = self.folder / f"shard-{unit.number:05d}"
        folder.mkdir()
        with indexing(folder, language=self.language, threads=self.threads) as indexer:
            for lines, count in zip(unit.lines, unit.counts, strict=True):
                indexer.add_lines(lines.encode(), count)
                self.moved(count)
        return [folder.name, indexer.documents]

    def memory(self, device: str) -> int:
        """Of the JVM, with the texts of a shard and what Lucene makes of them."""
        return 1 << 30


@dataclass
class Lines:
    """Takes documents as `Indexer` does, and gives them back as units of shards.

    size  documents of each shard but the last; fewer where they have more than LARGEST bytes
    """

    size: int
    _waiting: list[tuple[str, int]] = field(default_factory=list)
    _shards: int = 0

    def add(self, doc: Doc) -> None:
        """One document."""
        self._waiting.append((json_line(doc), 1))

    def add_lines(self, lines: bytes, documents: int) -> None:
        """JSON lines in Anserini's own form: line by line, where that is how they are written."""
        text = ascii_lines(lines).decode()
        single = [line for line in text.split("\n") if line.strip()]
        self._waiting += [(f"{line}\n", 1) for line in single] if len(single) == documents else [(text, documents)]

    def units(self, reading: Iterator[int]) -> Iterator[Unit]:
        """The shards, as documents are read."""
        documents = length = place = 0
        for _ in reading:
            while place < len(self._waiting):
                line, count = self._waiting[place]
                place, documents, length = place + 1, documents + count, length + len(line)
                if documents >= self.size or length >= LARGEST:
                    yield self._unit(place)
                    documents = length = place = 0
        if self._waiting:
            yield self._unit(len(self._waiting))

    def _unit(self, count: int) -> Unit:
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        parts = [taken[start : start + BATCH] for start in range(0, count, BATCH)]
        self._shards += 1
        lines = ["".join(line for line, _ in part) for part in parts]
        return Unit(self._shards - 1, lines, [sum(documents for _, documents in part) for part in parts])


Taker = Indexer | Lines  # what documents are handed to


def _shown(libraries: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in libraries.items())


@contextmanager
def merged_shards(
    output: Path,
    read: Callable[[Taker], Iterator[int]],
    name: str,
    executor: Executor,
    *,
    language: str,
    threads: int,
    size: int,
) -> Iterator[tuple[Path, int]]:
    """A folder that gets the name `output` when the block ends well, with the index of all shards, and its documents.

    `read` hands all documents to a `Taker`, and yields after each batch. Raises ToolkitError for a language without an
    analyzer, and what `read`, `indexing` and `merge_indexes` raise.
    """
    analyzer(language)
    with shard_folder(output) as folder:
        lines, work = Lines(size), IndexShards(name, folder, language, threads)
        if (theirs := executor.facts(work)) != (ours := work.facts()):
            message = f"workers have {_shown(theirs)}, this process {_shown(ours)}"
            raise ToolkitError(message, "give every node the same versions: one Lucene merges what the others write", status=1)
        with progress(name, unit="documents") as work.advance:
            shards = list(compute(executor, work, lines.units(read(lines)), folder))
        with new_folder(output) as part:
            merge_indexes([folder / shard for shard, _ in shards], part)
            yield part, sum(documents for _, documents in shards)


def lucene_libraries() -> dict[str, Any]:
    """What writes a Lucene index, with versions."""
    from toolkit.models.lucene import jvm

    jar, java = jvm.anserini_jar().name, jvm.java_version(jvm.java_home())
    return {"pyserini": version("pyserini"), "anserini": jar, "java": java}
