"""Centroid pruning for late interaction: which documents have vectors near those of a query (PLAID, Santhanam et al. 2022).

Only the documents are chosen here; `toolkit.models.vectors.late` then scores them exactly. For each vector of a query a
document counts with the best centroid of those looked at that one of its vectors belongs to, or with the next one where there
is none (as XTR, Lee et al. 2023, fills in what it has not seen). What is lost are documents that this puts too low.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.errors import ToolkitError, library
from toolkit.core.system.progress import progress
from toolkit.files.formats.vectors import NPY_DAMAGE, whole_numbers

if TYPE_CHECKING:
    from toolkit.models.vectors.late import LateIndex

CENTROIDS, CELLS, CELL_OFFSETS = "centroids.npy", "cells.npy", "cell-offsets.npy"
SAMPLE = 64  # vectors a centroid that k-means sees

SEED = 1234
BLOCK = 1 << 16  # vectors that are assigned at once
PROBES = 8  # cells that are looked into for each vector of a query
CANDIDATES = 8  # documents that are scored for each one that is asked for


class Centroids:
    """The centroids of an index and, for each, the documents that have a vector nearest to it.

    probes  cells that are looked into for each vector of a query
    """

    def __init__(self, folder: Path, probes: int = PROBES):
        try:
            self._centroids = np.asarray(np.load(folder / CENTROIDS, mmap_mode="r"), np.float32)
            self._cells = np.load(folder / CELLS, mmap_mode="r")
            self._offsets = whole_numbers(folder / CELL_OFFSETS)
            self._probes = min(probes, len(self._centroids))
            self._documents = int(self._cells.max()) + 1
            if self._cells.min() < 0 or self._offsets[-1] != len(self._cells) or len(self._offsets) != len(self._centroids) + 1:
                raise ValueError("lists of different lengths")
        except (OSError, IndexError, *NPY_DAMAGE) as error:
            raise ToolkitError(f"the centroids in {folder} are damaged ({error})", "rebuild the index") from error

    def documents(self, query: np.ndarray, hits: int) -> np.ndarray:
        """The numbers of the documents to score for a query (q, dim), ascending: at most `CANDIDATES` times `hits`."""
        products = query.astype(np.float32) @ self._centroids.T
        gains, gain = np.zeros((2, self._documents), np.float32)
        for row in products:
            cells = np.argsort(-row, kind="stable")[: self._probes + 1]
            lowest = row[cells[self._probes]] if len(cells) > self._probes else row[cells[-1]] - 1
            # the worst first: what a better cell says of a document overwrites it
            cells = cells[: self._probes][::-1]
            members = [self._cells[self._offsets[cell] : self._offsets[cell + 1]] for cell in cells]
            documents = np.concatenate(members)
            gain[documents] = np.repeat(row[cells] - lowest, [len(each) for each in members])
            documents = np.unique(documents)
            gains[documents] += gain[documents]
        candidates = np.flatnonzero(gains)
        if len(candidates) > CANDIDATES * hits:
            candidates = np.sort(candidates[np.argpartition(-gains[candidates], CANDIDATES * hits)[: CANDIDATES * hits]])
        return candidates


def count_for(vectors: int) -> int:
    """How many centroids: the power of two below four times the square root of the number of vectors."""
    return 1 << max(0, int(np.log2(4 * vectors**0.5)))


def write_centroids(index: LateIndex, count: int | None = None) -> None:
    """Find the centroids of an index by k-means (seeded, over a sample of its vectors) and write them beside it."""
    faiss = library("faiss", "centroid pruning", "dense")
    total, width = index.vectors.shape
    count = min(count or count_for(total), total)
    chosen = np.random.default_rng(SEED).choice(total, min(total, SAMPLE * count), replace=False)
    sample = index.vectors[np.sort(chosen)].astype(np.float32)
    clustering = faiss.Kmeans(width, count, niter=10, seed=SEED, spherical=True, min_points_per_centroid=1)
    clustering.train(sample)
    cells = np.empty(total, np.int32)
    with progress("assigning vectors", total, "vectors") as advance:
        for start in range(0, total, BLOCK):
            vectors = index.vectors[start : start + BLOCK].astype(np.float32)
            cells[start : start + BLOCK] = clustering.index.search(vectors, 1)[1][:, 0]
            advance(len(vectors))
    documents = np.repeat(np.arange(len(index.ids), dtype=np.int64), np.diff(index.offsets))
    # one number a pair of cell and document: sorted and without doubles, these are the lists of all cells
    pairs = np.unique(cells * np.int64(len(index.ids)) + documents)
    members = np.bincount(pairs // len(index.ids), minlength=count)
    np.save(index.folder / CENTROIDS, clustering.centroids)
    np.save(index.folder / CELLS, (pairs % len(index.ids)).astype(np.int32))
    np.save(index.folder / CELL_OFFSETS, np.append(0, np.cumsum(members)))
