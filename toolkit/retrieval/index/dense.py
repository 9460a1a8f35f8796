"""From encoded vectors to a FAISS index with its record, complete or not there: one file, or shards that workers make."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import progress, say
from toolkit.engine import Executor, LocalExecutor, Work
from toolkit.files.formats.indexes import read_index_record, write_index_record
from toolkit.files.formats.vectors import KIND, open_vectors, read_complete_record, read_vectors_shard
from toolkit.files.provenance import comparing
from toolkit.files.store import new_folder
from toolkit.files.store.digests import file_sha256
from toolkit.files.texts.documents import Counts, SeenIds
from toolkit.models.lucene.docids import DOCID
from toolkit.models.vectors.faiss_index import (
    INDEX,
    SEED,
    empty_faiss,
    faiss_module,
    fill_faiss,
    is_exact,
    take_rows,
    threads_of_faiss,
    train_faiss,
    write_faiss,
)
from toolkit.models.vectors.faiss_shards import shard_paths
from toolkit.retrieval.index.build import check_output
from toolkit.retrieval.index.index_types import FAISS
from toolkit.retrieval.index.shard_folder import compute, shard_folder

TRAINED, SAMPLE = "trained", "sample.npy"
CUTOFF = 10  # recall at
QUERIES = 100  # documents whose neighbours are searched to measure it
BLOCK = 1 << 14  # vectors compared with the queries at once


@dataclass
class Build:
    """What the shards of an index have in common.

    vectors  the folder of encoded passages, which all who compute see; its digest is `digest`
    threads  of FAISS, on every machine the same
    """

    vectors: Path
    digest: str
    factory: str
    tuning: str
    threads: int

    def facts(self) -> dict[str, Any]:
        """What the shards depend on."""
        named = {"factory": self.factory, "tuning": self.tuning, "threads": self.threads, "faiss": faiss_module().__version__}
        return {"vectors": self.digest, **named}


@dataclass
class TrainIndex(Work[int, str]):
    """An approximate index is trained, with a seeded sample, and its queries are chosen; the one unit is a seed."""

    name: str
    build: Build
    folder: Path

    def identity(self) -> dict[str, Any]:
        """See `Work`."""
        return self.build.facts()

    def size(self, unit: int) -> int:
        """See `Work`: it moves nothing, as no vector is in the index yet."""
        return 0

    def unit_name(self, unit: int) -> str:
        """See `Work`."""
        return f"training {self.build.factory}"

    def compute(self, packed: int) -> str:
        """Write the trained index and the queries; the digest of the index, which shards depend on."""
        build, record = self.build, read_complete_record(self.build.vectors)
        arrays = [read_vectors_shard(build.vectors, number, record)[1] for number in range(len(record["shards"]))]
        write_faiss(train_faiss(arrays, build.factory, build.tuning, threads=build.threads, seed=packed), self.folder / TRAINED)
        np.save(self.folder / SAMPLE, take_rows(arrays, sample_of(record["rows"], packed)))
        return file_sha256(self.folder / TRAINED)


@dataclass
class FillShards(Work[tuple[int, int, int], dict[str, Any]]):
    """Rows of encoded vectors become the files of a shard; a unit is its number, its first row and the row after its last.

    source   the folder, seen by all who compute, of the trained index that shards are copies of, and of its queries
    trained  the digest of that index; None where each shard is made from its name (`Flat`)
    largest  vectors of a shard
    """

    name: str
    build: Build
    folder: Path
    source: Path
    dimension: int
    largest: int
    trained: str | None = None

    def identity(self) -> dict[str, Any]:
        """See `Work`."""
        return {**self.build.facts(), "trained": self.trained}

    def size(self, unit: tuple[int, int, int]) -> int:
        """Vectors."""
        return unit[2] - unit[1]

    def unit_name(self, unit: tuple[int, int, int]) -> str:
        """`shard 7 (vectors 700,001 to 800,000)`."""
        return f"shard {unit[0]} (vectors {unit[1] + 1:,} to {unit[2]:,})"

    def compute(self, packed: list[int]) -> dict[str, Any]:
        """Write the shard. What is known of it, and of an approximate one what it finds for the sample, see `neighbours`."""
        build, (number, first, last) = self.build, packed
        vectors, paths = open_vectors(build.vectors, first, last), shard_paths(self.folder, number)
        if self.trained is None:
            index = empty_faiss(build.factory, self.dimension, build.tuning)
        else:
            index = faiss_module().read_index(str(self.source / TRAINED))
        fill_faiss(index, vectors.arrays, build.tuning, threads=build.threads, advance=self.moved)
        write_faiss(index, paths[0])
        paths[1].write_bytes("".join(f"{doc_id}\n" for doc_id in vectors.ids).encode())
        known: dict[str, Any] = {"documents": len(vectors)}
        if self.trained is not None:
            queries = np.load(self.source / SAMPLE, allow_pickle=False)
            with threads_of_faiss(build.threads):
                known["neighbours"] = neighbours(index, vectors.arrays, queries, first)
        return known

    def memory(self, device: str) -> int:
        """Its vectors as they are and once more, as blocks of them are added."""
        return (1 << 28) + 2 * 4 * self.largest * self.dimension


def sample_of(total: int, seed: int = SEED) -> np.ndarray:
    """The documents whose vectors are queries: their positions, ascending."""
    return np.sort(np.random.default_rng([seed, 1]).choice(total, min(QUERIES, total), replace=False))


def neighbours(index: Any, arrays: Sequence[np.ndarray], queries: np.ndarray, start: int) -> dict[str, list]:
    """What a shard has near each query, some more than CUTOFF: by the index, and by comparing with every vector.

    start  the position of its first vector among those of all shards

    found  of each query rows of the index's score, the position, and the exact score
    exact  of each query positions and exact scores
    """
    count = min(CUTOFF + 1, index.ntotal)
    scores, positions = index.search(np.ascontiguousarray(queries), count)
    best = _nearest(arrays, queries, count)
    found = zip(scores.tolist(), (positions + start).tolist(), _exact_scores(arrays, queries, positions).tolist(), strict=True)
    exact = zip((best + start).tolist(), _exact_scores(arrays, queries, best).tolist(), strict=True)
    return {
        "found": [[row for row in zip(*rows, strict=True) if row[1] >= start] for rows in found],
        "exact": [list(zip(*rows, strict=True)) for rows in exact],
    }


def recall(shards: Sequence[dict[str, list]], sample: np.ndarray) -> float:
    """The share of each query's CUTOFF nearest documents that the shards find together, averaged; the query's own is left out.

    A document as near as the last of them counts as one of them.
    """
    shares = []
    for number, own in enumerate(sample.tolist()):
        found = [row for shard in shards for row in shard["found"][number] if row[1] != own]
        found.sort(key=lambda row: (-row[0], row[1]))
        exact = sorted((true for shard in shards for place, true in shard["exact"][number] if place != own), reverse=True)
        exact = exact[:CUTOFF]
        shares.append(sum(true >= exact[-1] for *_, true in found[: len(exact)]) / len(exact))
    return float(np.mean(shares))


def _nearest(arrays: Sequence[np.ndarray], queries: np.ndarray, count: int) -> np.ndarray:
    """(m, count) positions of the largest inner products, in any order."""
    scores, places, start = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64), 0
    for array in arrays:
        for first in range(0, len(array), BLOCK):
            block = array[first : first + BLOCK]
            numbers = np.broadcast_to(np.arange(start, start + len(block)), (len(queries), len(block)))
            scores, places = np.hstack([scores, queries @ block.T]), np.hstack([places, numbers])
            best = np.argsort(-scores, axis=1, kind="stable")[:, :count]
            scores, places = (np.take_along_axis(values, best, axis=1) for values in (scores, places))
            start += len(block)
    return places


def _exact_scores(arrays: Sequence[np.ndarray], queries: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """(m, k) inner products, in double precision; of the position -1 any number."""
    known, places = np.unique(np.maximum(positions, 0), return_inverse=True)
    rows = take_rows(arrays, known).astype(np.float64)[places.reshape(positions.shape)]
    return np.einsum("qd,qkd->qk", queries.astype(np.float64), rows)


# what the record of a folder of vectors says, and not of the vectors themselves
OF_THE_FOLDER = ("format", "kind", "complete", "side", "rows", "digest", "shards", "shard_size")


def build_dense_index(
    vectors: Path,
    output: Path,
    factory: str = "Flat",
    tuning: str = "",
    *,
    shard_size: int | None = None,
    threads: int = 1,
    executor: Executor | None = None,
    command: str = "",
) -> Counts:
    """Build a FAISS index into the folder `output`, which is there when it is complete and not before.

    vectors     a folder of encoded passages, see `toolkit.files.formats.vectors`
    factory, tuning   see `toolkit.models.vectors.faiss_index.train_faiss`
    shard_size  documents a shard, see `toolkit.models.vectors.faiss_shards`; None for one file, with Pyserini's names:
                `index`, and `docid` with an id a line
    threads     of FAISS; with one, the files are the same on every machine of a kind, whoever computes

    An interrupted build resumes at the shards that are not there. An approximate index is trained once, with a seeded sample,
    and its recall is measured, printed and recorded. Raises ToolkitError for vectors of queries, an id that comes twice, and
    what `open_vectors`, `train_faiss`, `fill_faiss` and `check_output` refuse.
    """
    check_output(output)
    started, record = time.time(), read_complete_record(vectors)
    with comparing([vectors]):  # all of it before a shard is made, which would be resumed from
        _check(vectors, record)
    rows, dimension = record["rows"], record["dimension"]
    if executor and not executor.sees_files:
        say("note: workers do not see the vectors of this machine: its one process fills the index")
        executor = None
    executor = executor or LocalExecutor()
    size = shard_size or rows
    units = [(number, first, min(first + size, rows)) for number, first in enumerate(range(0, rows, size))]
    with shard_folder(output) as folder:
        build = Build(vectors.absolute(), record["digest"], factory, tuning, threads)
        trained = None
        if not is_exact(empty_faiss(factory, dimension, tuning)):  # shards are copies of one index
            [trained] = compute(executor, TrainIndex("training", build, folder), [SEED], folder)
        work = FillShards("indexing", build, folder, folder, dimension, min(size, rows), trained)
        with progress("indexing", rows, "vectors") as work.advance:
            shards = list(compute(executor, work, units, folder))
        made: dict[str, Any] = {"factory": factory, "tuning": tuning}
        if trained is not None and rows > 1:
            made["recall"] = _measured([shard["neighbours"] for shard in shards], rows)
        with new_folder(output) as part:
            names = [(part / INDEX, part / DOCID)] if shard_size is None else [shard_paths(part, unit[0]) for unit in units]
            for unit, places in zip(units, names, strict=True):
                for path, place in zip(shard_paths(folder, unit[0]), places, strict=True):
                    _link(path, place)
            if shard_size is not None:
                made["shards"] = [shard["documents"] for shard in shards]
            facts = {name: value for name, value in record.items() if name not in OF_THE_FOLDER}
            counts = Counts(rows, facts.pop("empty", 0))
            whole = {"kind": FAISS, **facts, "documents": rows, "empty": counts.empty, **made, "vectors": record["digest"]}
            write_index_record(part, whole, command, started, faiss=faiss_module().__version__)
    return counts


def _link(path: Path, place: Path) -> None:
    """Give a file another name; the first one stays too, from which an interrupted build resumes."""
    try:
        os.link(path, place)
    except OSError:  # a file system without links
        path.rename(place)


def _measured(shards: list[dict[str, list]], rows: int) -> dict[str, Any]:
    """The recall of an approximate index for the record; it is printed."""
    sample = sample_of(rows)
    share = round(recall(shards, sample), 4)
    say(f"note: recall@{CUTOFF} is {share:.4f} against exact search, {len(sample)} documents as queries")
    return {"cutoff": CUTOFF, "queries": len(sample), "of": "documents", "recall": share}


def holds_vectors(folder: Path) -> bool:
    """Whether `tandem encode` made what a folder holds."""
    return (read_index_record(folder) or {}).get("kind") == KIND


def _check(vectors: Path, record: dict[str, Any]) -> None:
    """Refuse vectors that no index is made of, by their ids and shapes; only the ids of one shard are in memory at a time."""
    if record["side"] != "passage":
        raise ToolkitError(f"{vectors} holds vectors of topics", "an index is built from those of documents")
    if not record["rows"]:
        raise ToolkitError(f"{vectors} holds no vectors to index", "encode a corpus that has documents")
    seen = SeenIds()
    for number in range(len(record["shards"])):
        ids, _ = read_vectors_shard(vectors, number, record)
        if again := seen.add(ids):
            raise ToolkitError(f"{vectors}: id {ids[again[0]]!r} comes a second time", "encode the corpus again")
