"""Nearest neighbours by inner product: FAISS indexes, built, opened and searched.

FAISS computes inner products by two paths, and how a sum is rounded depends on the path, on the block a vector stands in
and on the number of threads. Flat indexes are therefore searched for some more candidates than are asked for, and the score
of each is computed again, pair by pair, by FAISS's kernel for one pair: the same bits whatever stands beside it. How far the
two scores can be apart is bounded, and candidates are added until no other document can reach the last one that is returned.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.core.errors import ToolkitError, library
from toolkit.core.runs import Run
from toolkit.core.system.memory import memory_bound
from toolkit.core.system.progress import progress
from toolkit.core.tables.columns import Ids
from toolkit.models.lucene.docids import DocIds

if TYPE_CHECKING:
    import faiss

    from toolkit.models.vectors.faiss_shards import ShardIds

INDEX = "index"  # Pyserini's name
FILES = (INDEX, "index.faiss")
TUNING = "such as nprobe=32 for IVF, efSearch=256 for HNSW"
ROOM = 1 << 30  # bytes beside a file that is read
MAPPED = 1 << 30  # bytes from which on an index is mapped into memory, not read
MOST_THREADS = os.cpu_count() or 1  # with a million of them OpenMP ends the process
SEED = 42
SAMPLE = 1 << 18  # vectors to train with
A_LIST = 64  # vectors to train with for each inverted list; FAISS warns below 39
BLOCK = 1 << 16  # vectors added at once
QUERIES = 2048  # searched at once
TOGETHER = 128  # the same in an index that is not flat: what it finds may depend on the queries beside one
CELLS = 1 << 22  # candidates in memory at once, some 100 bytes each while they are put in order
SPARE = 16  # candidates beyond those asked for, and another one for each 32 of them
NOT_FINITE = "encode again, in another --precision"
UNIT = 2.0**-24  # rounding of 32-bit floats
NAME = 200  # characters of a factory string: FAISS's regular expressions overflow the stack with long ones
CRASHES = re.compile(r"(?<!\d)0+(?!\d)|(HNSW|NSG)1(?!\d)")  # numbers that end FAISS in a signal, not in an exception
PLACE = re.compile(r"^Error in .*? at \S+:\d+: (Error: '.*' failed: ?(?=.))?")


def faiss_module() -> Any:
    """The library; MissingExtra where it is not installed."""
    return library("faiss", "a FAISS index", "dense")


@contextmanager
def threads_of_faiss(number: int) -> Iterator[None]:
    """So many threads within the block: torch shares FAISS's OpenMP, and how a model rounds depends on their number."""
    faiss = faiss_module()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(min(number, MOST_THREADS))
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def train_faiss(
    arrays: Sequence[np.ndarray], factory: str = "Flat", tuning: str = "", *, threads: int = 1, seed: int = SEED
) -> faiss.Index:
    """The index that `fill_faiss` puts vectors into: trained with a seeded sample of them, and empty.

    arrays   each (n, d) float32, one below the other, may be mapped from a file; finite; one row at least
    factory  as FAISS's index_factory reads it (`Flat`, `HNSW32`, `IVF1024,SQ8`); the metric is the inner product
    tuning   as FAISS's ParameterSpace reads it (`nprobe=32`, `efSearch=256`): how it is searched, stored in it
    seed     of the sample that trains it; with one thread the same vectors give the same index

    Raises ToolkitError for what FAISS does not know, and an index that it cannot train with so few vectors.
    """
    total, dimension = sum(map(len, arrays)), arrays[0].shape[1]
    index = empty_faiss(factory, dimension, tuning)
    cannot = f"cannot build a FAISS index {factory!r} of {total} vectors"
    with threads_of_faiss(threads), said(cannot, "name another one with --factory"):
        if not index.is_trained:
            # what the index is trained with: all vectors, or a seeded choice of them in their order
            lists = faiss_module().try_extract_index_ivf(index)
            wanted = min(total, max(SAMPLE, A_LIST * lists.nlist if lists else 0))
            index.train(take_rows(arrays, np.sort(np.random.default_rng(seed).choice(total, wanted, replace=False))))
    return index


def fill_faiss(
    index: faiss.Index,
    arrays: Sequence[np.ndarray],
    tuning: str = "",
    *,
    threads: int = 1,
    advance: Callable[[int], None] = lambda done: None,
) -> faiss.Index:
    """The trained index with the rows of these arrays. ToolkitError where it cannot hold them, or be searched as tuned."""
    first = next(array for array in arrays if len(array))[:1]
    with threads_of_faiss(threads), said(f"cannot add {sum(map(len, arrays))} vectors", "name another one with --factory"):
        for array in arrays:
            for start in range(0, len(array), BLOCK):
                block = np.ascontiguousarray(array[start : start + BLOCK], np.float32)
                index.add(block)
                advance(len(block))
    with said(f"the FAISS index cannot be searched with tuning {tuning!r}", TUNING):
        index.search(np.ascontiguousarray(first, np.float32), 1)
    return index


def is_exact(index: faiss.Index) -> bool:
    """Whether an index compares queries with every vector as it is."""
    return type(index) in (faiss_module().IndexFlat, faiss_module().IndexFlatIP)


def empty_faiss(factory: str, dimension: int, tuning: str = "") -> faiss.Index:
    """The index that a factory string names, without vectors. ToolkitError where FAISS does not know it or its tuning."""
    faiss, hint = faiss_module(), "see FAISS's page on its index factory"
    for name in (factory, tuning):
        if len(name) > NAME or not (name.isascii() and name.isprintable()):
            raise ToolkitError(f"no name of a FAISS index, nor of a tuning: {name[:NAME]!r}", hint)
    if CRASHES.search(factory):
        raise ToolkitError(f"no FAISS index {factory!r}: a number in it is too small", hint)
    with said(f"no FAISS index {factory!r} for vectors of dimension {dimension}", hint):
        index = faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)
    with said(f"a FAISS index {factory!r} cannot be tuned by {tuning!r}", TUNING):
        faiss.ParameterSpace().set_index_parameters(index, tuning)
    return index


def take_rows(arrays: Sequence[np.ndarray], chosen: np.ndarray) -> np.ndarray:
    """The rows (n, d) of these arrays, one below the other, at ascending positions (n,)."""
    starts = np.cumsum([0, *map(len, arrays)])
    places = np.searchsorted(chosen, starts)
    parts = zip(arrays, starts, places, places[1:], strict=False)
    return np.concatenate([array[chosen[first:last] - start] for array, start, first, last in parts])


def write_faiss(index: faiss.Index, path: Path) -> None:
    """Write an index into a file. OSError for a full disk."""
    try:
        faiss_module().write_index(index, str(path))
    except RuntimeError as error:
        if os.strerror(errno.ENOSPC) in str(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise


class FaissIndex:
    """An index in a folder and the ids of its documents.

    ids        of the documents, by position
    dimension  of its vectors
    """

    def __init__(self, index: faiss.Index, ids: DocIds, name: str):
        self.ids, self.name = ids, name
        self._faiss, self._index = faiss_module(), index
        self._distances = index.metric_type == self._faiss.METRIC_L2
        if not self._distances and index.metric_type != self._faiss.METRIC_INNER_PRODUCT:
            raise ToolkitError(f"index {name} compares vectors by FAISS's metric {index.metric_type}", "0 and 1 are known")
        self.dimension = index.d
        self._flat = not self._distances and is_exact(index)
        ids.fit(index.ntotal)
        if len(ids) != index.ntotal:
            raise ToolkitError(f"index {name} has {index.ntotal} vectors, {ids.path} {len(ids)} ids", "rebuild the index")

    @classmethod
    def open(cls, folder: Path, *, mmap: bool | None = None) -> FaissIndex:
        """The index `index` (or `index.faiss`) of a folder, with its ids (see `DocIds`); one in shards `open_faiss` opens.

        It is mapped into memory, not read, where it has more than 1 GB, or `mmap` says so. ToolkitError for none, or a damaged
        one.
        """
        path = index_file(folder)
        if path is None:
            raise ToolkitError(f"{folder} holds no FAISS index", "`tandem index CORPUS --type faiss` makes one")
        return cls.read(path, DocIds(folder), str(folder), mmap=mmap)

    @classmethod
    def read(cls, path: Path, ids: DocIds, name: str, *, mmap: bool | None = None) -> FaissIndex:
        """The index in a file, see `open`. name: what messages call it."""
        faiss = faiss_module()
        mapped = path.stat().st_size > MAPPED if mmap is None else mmap
        room = 2 * path.stat().st_size + ROOM  # FAISS takes a file's word for how long its lists are
        hint = "`tandem index verify` compares it with its record"
        with said(f"{path} is no FAISS index, or damaged", hint), memory_bound(room):
            index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC if mapped else 0)
        return cls(index, ids, name)

    def __len__(self) -> int:
        return self._index.ntotal

    def search(self, queries: np.ndarray, hits: int, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """The nearest documents: scores (m, k) float32 and positions (m, k) int64, best first, k at most `hits`.

        queries  (m, dimension) float32; one dimension less for the inner product by L2 distances

        Equal scores come in the order of `core.runs.Run.order`, at the end too. Where an approximate index finds fewer, a
        row ends with the position -1. A score is the inner product; for an index of L2 distances it is the negative square
        of the distance. On flat indexes nothing depends on the other queries or the number of threads.
        """
        with progress("searching", len(queries), "queries") as advance:
            return self.nearest(queries, hits, threads, advance)

    def nearest(
        self, queries: np.ndarray, hits: int, threads: int, advance: Callable[[int], None]
    ) -> tuple[np.ndarray, np.ndarray]:
        """`search`, which calls `advance` with the number of queries that are done."""
        queries, width = self._prepared(queries), min(hits, len(self))
        scores, positions = np.empty((len(queries), width), np.float32), np.empty((len(queries), width), np.int64)
        with threads_of_faiss(threads):
            at_once = QUERIES if self._flat else TOGETHER
            for start in range(0, len(queries), at_once):
                part = slice(start, start + at_once)
                scores[part], positions[part] = self._batch(queries[part], width)
                advance(len(queries[part]))
        return scores, positions

    def score(self, queries: np.ndarray, candidates: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The score of each candidate, best first: scores (m, k) float32 and positions (m, k) int64, -1 where a row has fewer.

        queries     (m, dimension) float32
        candidates  of each query the positions, in any order

        Scores and order are those that `search` gives these documents. ToolkitError for an index that is not flat.
        """
        if not self._flat:
            hint = "make a flat one of the vectors (`tandem index --type faiss`), or search all documents"
            raise ToolkitError(f"index {self.name} is not flat: single documents cannot be scored exactly", hint)
        queries, width = self._prepared(queries), max(map(len, candidates), default=0)
        positions = np.full((len(queries), width), -1, np.int64)
        for row, documents in zip(positions, candidates, strict=True):
            row[: len(documents)] = documents
        scores, rows = np.empty((len(queries), width), np.float32), max(1, CELLS // max(1, width))
        with progress("scoring", len(queries), "queries") as advance:
            for start in range(0, len(queries) if width else 0, rows):
                part = slice(start, start + rows)
                scores[part], positions[part] = self._scored(queries[part], positions[part])
                advance(len(queries[part]))
        return scores, positions

    def _scored(self, queries: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        known, scores = np.ascontiguousarray(np.maximum(positions, 0)), np.empty(positions.shape, np.float32)
        pointers = map(self._faiss.swig_ptr, (scores, known))
        self._index.compute_distance_subset(len(queries), self._faiss.swig_ptr(queries), positions.shape[1], *pointers)
        scores[positions < 0] = -np.inf
        return ranked(self.ids, scores, positions)

    def _prepared(self, queries: np.ndarray) -> np.ndarray:
        lacking = self.dimension - queries.shape[1]
        if lacking == 1 and self._distances:
            # the inner product by L2: one more dimension fills all documents up to one length, queries have 0 there
            queries, lacking = np.pad(queries, [(0, 0), (0, 1)]), 0
        if lacking:
            message = f"index {self.name} has vectors of dimension {self.dimension}, the queries have {queries.shape[1]}"
            raise ToolkitError(message, "search it with the system that it was made with")
        if not np.isfinite(queries).all():  # FAISS finds nothing for them, as if there were nothing
            raise ToolkitError(f"a query for index {self.name} has a vector with numbers that are not finite", NOT_FINITE)
        return np.ascontiguousarray(queries, np.float32)

    def _batch(self, queries: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        """The best `width` of each query; more candidates are fetched for those that others might still reach."""
        scores, positions = np.empty((len(queries), width), np.float32), np.empty((len(queries), width), np.int64)
        open_rows, fetched = np.arange(len(queries)), width + SPARE + width // 32
        while width and len(open_rows):
            fetched, reached = min(fetched, len(self)), []
            for start in range(0, len(open_rows), max(1, CELLS // fetched)):
                rows = open_rows[start : start + max(1, CELLS // fetched)]
                best, places, beyond = self._candidates(queries[rows], fetched)
                best, places = ranked(self.ids, best, places)
                scores[rows], positions[rows] = best[:, :width], places[:, :width]
                reached.append(rows[(beyond >= best[:, width - 1]) & (beyond > -np.inf) & (fetched < len(self))])
            open_rows, fetched = np.concatenate(reached), 2 * fetched
        return scores, positions

    def _candidates(self, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores and positions (m, count) in any order, and of each query a score that no other document exceeds."""
        with said(f"index {self.name} cannot be searched", "`tandem index verify` compares it with its record"):
            scores, positions = self._index.search(queries, count)
        if self._distances:
            scores = -scores
        scores[positions < 0] = -np.inf
        last = scores[:, -1].astype(np.float64)
        last[positions[:, -1] < 0] = -np.inf
        if self._flat:
            pointers = map(self._faiss.swig_ptr, (scores, positions))
            self._index.compute_distance_subset(len(queries), self._faiss.swig_ptr(queries), count, *pointers)
            # how far two computations of one inner product can be apart: each is within d u / (1 - d u) |q| |x| of the true
            # value in whatever order it adds (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1);
            # 2.1 for the two of them, with room for the rounding of the lengths
            last += 2.1 * self.dimension * UNIT * self._longest * np.linalg.norm(queries.astype(np.float64), axis=1)
        elif positions.max() >= len(self):
            hint = "number its documents by their lines in the file of ids"
            raise ToolkitError(f"index {self.name} has a number {positions.max()} but {len(self)} documents", hint)
        return scores, positions, last

    @cached_property
    def _longest(self) -> float:
        """The length of the longest vector of a flat index. ToolkitError where one has numbers that are none."""
        lengths = np.empty(len(self), np.float32)
        self._faiss.fvec_norms_L2(self._faiss.swig_ptr(lengths), self._index.get_xb(), self.dimension, len(self))
        longest = float(lengths.max())
        if np.isnan(longest):
            raise ToolkitError(f"index {self.name} has a vector with numbers that are not finite", NOT_FINITE)
        return longest


def ranked(ids: DocIds | ShardIds, scores: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row of scores and positions (m, k) in the one order; ids are taken only where scores are equal.

    A position of -1 has the score of minus infinity: it comes last.
    """
    rows = np.repeat(np.arange(len(scores), dtype=np.int32), scores.shape[1])
    documents = np.maximum(positions, 0).ravel()
    order = Run(("",) * len(scores), rows, Ids(ids, documents), scores.ravel()).order().reshape(scores.shape)
    return scores.ravel()[order], positions.ravel()[order]


def index_file(folder: Path) -> Path | None:
    """The file of a FAISS index in a folder; None where there is none."""
    return next((folder / name for name in FILES if (folder / name).is_file()), None)


@contextmanager
def said(message: str, hint: str) -> Iterator[None]:
    """What FAISS refuses as one line: its reason without the place in its source."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        reason = PLACE.sub("", str(error).partition("\n")[0]) or type(error).__name__
        raise ToolkitError(f"{message} ({reason})", hint) from error
