"""A FAISS index in shards: a file each, searched one after the other, whose results are merged into those of one index.

A folder of shards holds `index-00000`, `index-00001`, ..., and beside each of them `docid-00000`, ..., an id a line. Its
record has `shards`, the number of documents of each. Documents are numbered on from shard to shard.

What distributed-faiss writes is such an index, too: folders `0`, `1`, ... with `index.faiss` and `meta.pkl` in each (Sphere's
release has 32).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.system.lazy_names import pyarrow
from toolkit.core.system.progress import progress, silenced
from toolkit.core.tables.columns import to_arrow
from toolkit.files.formats.indexes import NAME, read_index_record
from toolkit.models.lucene.docids import DOCID, DocIds, has_ids
from toolkit.models.vectors import faiss_index

REBUILD = "`tandem index verify` compares it with its record"


def open_faiss(folder: Path) -> faiss_index.FaissIndex | FaissShards:
    """The FAISS index in a folder, of one file or of shards.

    Raises ToolkitError where there is none, where a shard is missing or is not what the record says, and for damaged files.
    """
    counts = shard_counts(folder)
    if counts is None and (parts := part_folders(folder)):
        return FaissShards([faiss_index.FaissIndex.open(part) for part in parts], str(folder))
    if counts is None:
        return faiss_index.FaissIndex.open(folder)
    return FaissShards([open_shard(folder, number, counts) for number in range(len(counts))], str(folder))


def shard_counts(folder: Path) -> list[int] | None:
    """How many documents each shard has, as the record says; None for an index of one file. ToolkitError for no numbers."""
    record = read_index_record(folder)
    if record is None or "shards" not in record:
        return None
    counts = record["shards"]
    if not counts or not all(type(count) is int and count > 0 for count in counts):
        raise ToolkitError(f"{folder / NAME}: shards is {str(counts)[:60]}", "numbers of documents: build the index again")
    return counts


def open_shard(folder: Path, number: int, counts: Sequence[int]) -> faiss_index.FaissIndex:
    """One shard of an index whose shards have so many documents. Raises ToolkitError, see `open_faiss`."""
    index, ids = shard_paths(folder, number)
    for path in (index, ids):
        if not path.is_file():
            raise ToolkitError(f"{path} is missing: the index has {len(counts)} shards", REBUILD)
    opened = faiss_index.FaissIndex.read(index, DocIds(ids), str(index))
    if len(opened) != counts[number]:
        raise ToolkitError(f"{index} has {len(opened)} vectors, the record says {counts[number]}", REBUILD)
    return opened


def shard_ids(folder: Path, counts: Sequence[int]) -> ShardIds:
    """The ids of all documents, without the shards."""
    return ShardIds([DocIds(shard_paths(folder, number)[1]) for number in range(len(counts))])


def shard_paths(folder: Path, number: int) -> tuple[Path, Path]:
    """The file of FAISS and the file of ids of a shard."""
    return folder / f"{faiss_index.INDEX}-{number:05d}", folder / f"{DOCID}-{number:05d}"


def part_folders(folder: Path) -> list[Path]:
    """The folders `0`, `1`, ... of an index of distributed-faiss; empty where the folder holds none.

    Raises ToolkitError where one of them is missing between others.
    """
    if faiss_index.index_file(folder) or not folder.is_dir():
        return []
    names = [path.name for path in folder.iterdir() if faiss_index.index_file(path) and has_ids(path)]
    numbers = sorted(int(name) for name in names if name.isdecimal() and name == str(int(name)))
    if missing := [number for number in range(max(numbers, default=-1)) if number not in numbers]:
        raise ToolkitError(f"{folder} lacks part {missing[0]} of an index: it has {len(numbers)}", "fetch all of its parts")
    return [folder / str(number) for number in numbers]


class FaissShards:
    """Shards, used as one `FaissIndex`: from flat shards come its scores, order and documents, to the last bit.

    ids        of the documents of all shards, by position
    dimension  of the vectors
    """

    def __init__(self, shards: Sequence[faiss_index.FaissIndex], name: str):
        self.shards, self.name = tuple(shards), name
        self.ids, self.dimension = ShardIds([shard.ids for shard in shards]), shards[0].dimension
        if len({shard.dimension for shard in shards}) > 1:
            raise ToolkitError(f"the shards of {name} have vectors of several dimensions", REBUILD)

    def __len__(self) -> int:
        return len(self.ids)

    def search(self, queries: np.ndarray, hits: int, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """See `FaissIndex.search`: the best of each shard, merged by score and then document id.

        No document of the best `hits` of all is missing, as each shard breaks its own ties at the end by the same order.
        """
        found, width = none(len(queries)), min(hits, len(self))
        with progress("searching", len(queries) * len(self.shards), "queries") as advance:
            for start, shard in zip(self.ids.starts, self.shards, strict=False):
                scores, positions = shard.nearest(queries, hits, threads, advance)
                found = merge(self.ids, found, (scores, shifted(positions, start)), width)
        return found

    def score(self, queries: np.ndarray, candidates: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """See `FaissIndex.score`."""
        found, width = none(len(queries)), max(map(len, candidates), default=0)
        for start, stop, shard in zip(self.ids.starts, self.ids.starts[1:], self.shards, strict=False):
            here = [np.asarray(each)[(np.asarray(each) >= start) & (np.asarray(each) < stop)] - start for each in candidates]
            with silenced():
                scores, positions = shard.score(queries, here)
            found = merge(self.ids, found, (scores, shifted(positions, start)), width)
        return found


def none(queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and positions (m, 0) of nothing found."""
    return np.empty((queries, 0), np.float32), np.empty((queries, 0), np.int64)


def shifted(positions: np.ndarray, start: int) -> np.ndarray:
    """Positions in a shard as those of the index whose documents before it are `start`; -1 stays."""
    return np.where(positions < 0, positions, positions + start)


def merge(
    ids: ShardIds, first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], width: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best `width` of two results of the same queries: scores (m, k) and positions (m, k), k at most `width`."""
    scores, positions = (np.hstack(pair) for pair in zip(first, second, strict=True))
    kept, rows = min(width, scores.shape[1]), max(1, faiss_index.CELLS // max(1, scores.shape[1]))
    merged = np.empty((len(scores), kept), np.float32), np.empty((len(scores), kept), np.int64)
    for start in range(0, len(scores), rows):
        part = slice(start, start + rows)
        for column, values in zip(merged, faiss_index.ranked(ids, scores[part], positions[part]), strict=True):
            column[part] = values[:, :kept]
    return merged


class ShardIds:
    """The ids of all shards, one below the other; see `DocIds`. starts: (shards + 1,) int64, where each begins."""

    def __init__(self, parts: Sequence[DocIds]):
        self._parts, self.starts = tuple(parts), np.cumsum([0, *map(len, parts)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, positions: pyarrow.Array) -> pyarrow.StringArray:
        """The ids at these positions."""
        numbers = positions.to_numpy()
        owners = np.searchsorted(self.starts, numbers, "right") - 1
        chosen = [np.flatnonzero(owners == owner) for owner in range(len(self._parts))]
        shards = zip(self._parts, chosen, self.starts, strict=False)
        taken = [part.take(to_arrow(numbers[places] - start)) for part, places, start in shards]
        return pyarrow.concat_arrays(taken).take(to_arrow(np.argsort(np.concatenate(chosen))))

    def places(self, ids: pyarrow.StringArray) -> tuple[np.ndarray, np.ndarray]:
        """See `DocIds.places`."""
        found = [part.places(ids) for part in self._parts]
        positions = [places + start for (places, _), start in zip(found, self.starts, strict=False)]
        return np.concatenate(positions), np.concatenate([owners for _, owners in found])
