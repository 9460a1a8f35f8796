"""Late interaction: token vectors on disk, and MaxSim over them or over vectors in memory.

The score of a document is the sum, over the query's vectors, of the largest dot product with any of the document's
(Khattab and Zaharia 2020, equation 3). All vectors are rounded to half precision: a product of two such numbers has at most
22 bits, and for vectors of unit length all partial sums of a dot product fit the 53 bits of a double. So scores are computed
without any rounding until they become 32-bit floats: they depend neither on threads, blocks or batches nor on the machine.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError, library
from toolkit.core.system.progress import progress
from toolkit.core.tables.columns import text_order, to_arrow
from toolkit.files.formats.vectors import NPY_DAMAGE, whole_numbers
from toolkit.models.lucene.docids import DOCID, DocIds
from toolkit.models.vectors.batches import within_budget
from toolkit.models.vectors.centroids import Centroids

VECTORS, OFFSETS = "vectors.f16", "offsets.npy"
HALF = np.dtype("<f2")
BLOCK = 4096  # vectors of documents that are multiplied at once
WIDTH = 1024  # vectors of queries that go over the documents together


class Ranked(NamedTuple):
    """The documents of one query, best first: their numbers in the index (n,) int64, and scores (n,) float32."""

    documents: np.ndarray
    scores: np.ndarray


def maxsim(query: np.ndarray, documents: Sequence[np.ndarray]) -> np.ndarray:
    """The score of each document for one query: (n,) float32, as an index of these documents gives them.

    query      (q, dim) floats
    documents  each (t, dim) floats, t from 1 on
    """
    offsets = np.append(0, np.cumsum([len(vectors) for vectors in documents], dtype=np.int64))
    query, scores = _half(query), np.empty(len(documents), np.float32)
    for block in _blocks(offsets):
        scores[block] = _exact(query, _half(np.concatenate(documents[block])), offsets[block.start : block.stop + 1])
    return scores


class LateWriter:
    """Writes an index into an empty folder, batch by batch; `close` completes it."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._lengths: list[int] = []
        self._vectors: BinaryIO = (folder / VECTORS).open("wb")
        self._ids: BinaryIO = (folder / DOCID).open("wb")

    def add(self, doc_ids: Sequence[str], vectors: Sequence[np.ndarray]) -> None:
        """Append documents: their ids, and of each the vectors (t, dim), t from 1 on and dim the same for all."""
        for doc_id, rows in zip(doc_ids, vectors, strict=True):
            assert len(rows), f"{doc_id} has no vectors"
            self._lengths.append(len(rows))
            self._ids.write(f"{doc_id}\n".encode())
            self._vectors.write(_half(rows).tobytes())

    def close(self) -> None:
        """Complete the files."""
        self._vectors.close()
        self._ids.close()
        np.save(self._folder / OFFSETS, np.append(0, np.cumsum(self._lengths, dtype=np.int64)))


class LateIndex:
    """An index on disk; its vectors are mapped into memory, not read.

    ids      of the documents, by number
    offsets  (n + 1,) int64: the vectors of document i are rows offsets[i] to offsets[i + 1]
    vectors  (all of them, dim) float16

    Raises ToolkitError where the folder holds no such index.
    """

    def __init__(self, folder: Path):
        try:
            self.offsets = whole_numbers(folder / OFFSETS)
            self.vectors = np.memmap(folder / VECTORS, HALF, "r").reshape(self.offsets[-1], -1)
        except (OSError, IndexError, *NPY_DAMAGE) as error:
            hint = "`tandem index --type multivector` makes one"
            raise ToolkitError(f"{folder} is no index of token vectors", hint) from error
        self.folder, self.ids = folder, DocIds(folder)
        if len(self.ids) != len(self.offsets) - 1:
            raise ToolkitError(f"{folder} has {len(self.offsets) - 1} documents and {len(self.ids)} ids", "rebuild the index")

    def search(
        self, queries: Sequence[np.ndarray], *, hits: int, threads: int = 1, centroids: Centroids | None = None
    ) -> list[Ranked]:
        """The best `hits` documents of each query; equal scores come by document id, descending, as in `Run.order`.

        queries    each (q, dim) floats, q from 1 on
        centroids  look only at the documents that these propose

        Nothing but the time depends on the number of threads.
        """
        self._check(queries)
        halves = [_half(query) for query in queries]
        rankings = []
        with _threads("searching", len(queries), threads) as (pool, advance):
            for group in within_budget(map(len, halves), WIDTH):
                batch = halves[group]
                if centroids:
                    rankings += pool.map(lambda query: self._best(query, centroids.documents(query, hits), hits), batch)
                else:
                    rankings += self._all(batch, hits, pool)
                advance(len(batch))
        return rankings

    def score(
        self, queries: Sequence[np.ndarray], candidates: Sequence[np.ndarray], *, hits: int, threads: int = 1
    ) -> list[Ranked]:
        """The best `hits` of the candidates of each query, given by number: their scores are those that `search` gives."""
        self._check(queries)
        with _threads("scoring", len(queries), threads) as (pool, advance):
            rankings = []
            for answer in pool.map(lambda query, documents: self._best(_half(query), documents, hits), queries, candidates):
                rankings.append(answer)
                advance(1)
        return rankings

    def names(self, documents: np.ndarray) -> list[str]:
        """The ids of documents given by number."""
        return self.ids.take(to_arrow(documents)).to_pylist()

    def _check(self, queries: Sequence[np.ndarray]) -> None:
        for query in queries:
            if query.shape[1] != self.vectors.shape[1]:
                width, given = self.vectors.shape[1], query.shape[1]
                hint = "name its system"
                raise ToolkitError(f"{self.folder} holds vectors of {width} numbers, the query's have {given}", hint)

    def _all(self, queries: list[np.ndarray], hits: int, pool: ThreadPoolExecutor) -> list[Ranked]:
        """Every document is scored in single precision; those that may be among the best, exactly."""
        starts = np.cumsum([0] + [len(query) for query in queries[:-1]])
        rows = np.concatenate(queries).astype(np.float32)
        rough = np.empty((len(queries), len(self.ids)), np.float32)
        longest = [0.0]

        def score(block: slice) -> None:
            vectors = self.vectors[self.offsets[block.start] : self.offsets[block.stop]].astype(np.float32)
            best = _best_products(rows, vectors, self.offsets[block] - self.offsets[block.start])
            rough[:, block] = np.add.reduceat(best, starts, axis=0)
            longest.append(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max()))

        for _ in pool.map(score, _blocks(self.offsets)):
            pass

        def finish(number: int) -> Ranked:
            # how far a score in single precision may be from the exact one (the usual bound of a sum of products), twice
            query = queries[number]
            lengths = np.linalg.norm(query.astype(np.float64), axis=1).sum()
            margin = 2 * (query.shape[0] + query.shape[1]) * 2.0**-24 * lengths * max(longest)
            return self._best(queries[number], _may_be_best(rough[number], hits, margin), hits)

        return list(pool.map(finish, range(len(queries))))

    def _best(self, query: np.ndarray, documents: np.ndarray, hits: int) -> Ranked:
        """The best of some documents (m,), by their exact scores."""
        scores = np.empty(len(documents), np.float32)
        lengths = self.offsets[documents + 1] - self.offsets[documents]
        ends = np.append(0, np.cumsum(lengths))
        for block in _blocks(ends):
            rows = np.arange(ends[block.start], ends[block.stop])
            rows += np.repeat(self.offsets[documents[block]] - ends[block], lengths[block])
            scores[block] = _exact(query, self.vectors[rows], ends[block.start : block.stop + 1])
        order = np.lexsort((-self._by_id[documents], -scores))[:hits]
        return Ranked(documents[order], scores[order])

    @cached_property
    def _by_id(self) -> np.ndarray:
        """Numbers that compare as the ids do: (n,) int64."""
        return text_order(self.ids.take(to_arrow(np.arange(len(self.ids)))))


@contextmanager
def _threads(what: str, queries: int, threads: int) -> Iterator[tuple[ThreadPoolExecutor, Callable[[int], None]]]:
    """So many threads, and what counts the queries that are done. Matrix products stay in their thread: several documents'
    blocks are multiplied at once instead."""
    limits = library("threadpoolctl", "late interaction", "dense").threadpool_limits(1, "blas")
    with limits, ThreadPoolExecutor(max(1, threads)) as pool, progress(what, queries, "queries") as advance:
        yield pool, advance


def _half(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors).astype(HALF)


def _exact(query: np.ndarray, vectors: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Scores (n,) float32 of documents whose vectors lie one below the other; query and vectors are float16.

    offsets  (n + 1,): the vectors are those from the first to the last
    """
    best = _best_products(query.astype(np.float64), vectors.astype(np.float64), offsets[:-1] - offsets[0])
    # a document's numbers side by side: numpy then adds them in one order, however many documents there are
    return np.ascontiguousarray(best.T).sum(axis=1).astype(np.float32)


def _best_products(query: np.ndarray, vectors: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(q, n): the largest dot product of each of the query's vectors with those of each document (from `starts` on)."""
    # this way round the maximum runs along memory: along the other axis `reduceat` takes ten times as long
    return np.maximum.reduceat(query @ vectors.T, starts, axis=1)


def _blocks(offsets: np.ndarray) -> Iterator[slice]:
    """Slices of documents that have `BLOCK` vectors together, or one document that has more."""
    start, count = 0, len(offsets) - 1
    while start < count:
        stop = max(int(np.searchsorted(offsets, offsets[start] + BLOCK, side="right")) - 1, start + 1)
        yield slice(start, stop)
        start = stop


def _may_be_best(rough: np.ndarray, hits: int, margin: float) -> np.ndarray:
    """The documents that may be among the best `hits`, or be as good as the last of them."""
    if len(rough) <= hits:
        return np.arange(len(rough))
    last = np.partition(rough, len(rough) - hits)[len(rough) - hits]
    return np.flatnonzero(rough >= np.float64(last) - margin)
