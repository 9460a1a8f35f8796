"""Search over an index of vector shards by workers: each opens one shard for blocks of queries; results are merged here.

A unit is a shard and a block of queries. Of each shard come the best documents of every query; merged by score and then
document id they are those of one index, to the last bit: see `toolkit.models.vectors.faiss_shards`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.runs import Run
from toolkit.core.system.progress import progress
from toolkit.engine import Executor, Work
from toolkit.engine.units import threads_set
from toolkit.models.vectors import faiss_index
from toolkit.models.vectors.faiss_shards import merge, none, open_shard, shard_counts, shard_ids, shard_paths, shifted
from toolkit.retrieval.index import Index
from toolkit.retrieval.search.encoded_queries import Known, packed_value, unpacked_value
from toolkit.retrieval.search.engines import Search, check_same
from toolkit.retrieval.search.neural_engine import Neural, different_inputs, run_of, say_precision

SEARCHED = 256  # different queries that are searched in a shard at once, a multiple of `models.vectors.TOGETHER`
Found = tuple[np.ndarray, np.ndarray]  # scores (m, k) float32 and positions (m, k) int64


class ShardBlock(NamedTuple):
    """Some different queries of a search, (m, dimension) float32, and the shard that they are searched in."""

    search: int
    start: int
    vectors: np.ndarray
    folder: Path
    shard: int


def search_shards(
    engine: Neural, indexes: Sequence[Index], searches: Sequence[Search], known: Sequence[Known], executor: Executor
) -> dict[int, Run]:
    """The run of each search whose index has shards, by the number of the search: that of `search_dense`."""
    counts = {folder: shard_counts(folder) for folder in dict.fromkeys(search.folder for search in searches)}
    counts = {folder: of_index for folder, of_index in counts.items() if of_index is not None}
    sharded = {number: search for number, search in enumerate(searches) if search.folder in counts}
    if not sharded:
        return {}
    spec, hits = engine.chosen.spec, engine.options.hits
    for number, search in sharded.items():
        say_precision(indexes[search.index], known[number])
    inputs = {number: different_inputs(search.topics, spec) for number, search in sharded.items()}
    encoded = {number: np.stack(known[number].encode(own, "query")) for number, own in inputs.items()}
    ids = {folder: shard_ids(folder, of_index) for folder, of_index in counts.items()}
    work = SearchShards(engine, indexes, counts, hits)
    check_same(engine, indexes, executor.facts(work))
    units = list(_units(sharded, encoded, counts))
    found: dict[tuple[int, int], Found] = {}
    with progress(work.name, sum(map(work.size, units)), "queries") as work.advance:
        for unit, of_shard in zip(units, executor.map(work, units), strict=True):
            place, of_index = (unit.search, unit.start), ids[unit.folder]
            here = (of_shard[0], shifted(of_shard[1], of_index.starts[unit.shard]))
            before, width = found.get(place, none(len(unit.vectors))), min(hits, sum(counts[unit.folder]))
            found[place] = merge(of_index, before, here, width)
    runs = {}
    for number, search in sharded.items():
        blocks = [found[number, start] for start in range(0, len(inputs[number]), SEARCHED)]
        whole = tuple(np.concatenate(columns) for columns in zip(*blocks, strict=True))
        of_index, tag = ids[search.folder], engine.chosen.tag
        runs[number] = run_of(search.topics, spec, inputs[number], whole, of_index, tag, search.folder)
    return runs


def _units(
    searches: Mapping[int, Search], encoded: Mapping[int, np.ndarray], counts: Mapping[Path, Sequence[int]]
) -> Iterator[ShardBlock]:
    """Shard after shard, so that a worker opens each as seldom as possible."""
    for folder, of_index in counts.items():
        own = [number for number, search in searches.items() if search.folder == folder]
        for shard in range(len(of_index)):
            for number in own:
                for start in range(0, len(encoded[number]), SEARCHED):
                    yield ShardBlock(number, start, encoded[number][start : start + SEARCHED], folder, shard)


@dataclass
class SearchShards(Work[ShardBlock, Found]):
    """Blocks of queries to the best documents of a shard; counts  how many documents each shard of an index in a folder has"""

    LOADED = ("opened",)

    engine: Neural
    indexes: Sequence[Index]
    counts: Mapping[Path, Sequence[int]]
    hits: int
    opened: Any = None

    @property
    def name(self) -> str:
        """For messages."""
        return f"searching shards with {self.engine.chosen.name}"

    def identity(self) -> dict[str, Any]:
        """What is searched is in the facts."""
        return {"hits": self.hits}

    def facts(self) -> dict[str, Any]:
        """What each index is that is searched, as who computes sees it."""
        return {"indexes": [self.engine.searched(index) for index in self.indexes]}

    def pack(self, unit: ShardBlock) -> dict[str, Any]:
        """The shard, and the vectors."""
        return {
            "folder": str(unit.folder.absolute()),
            "shard": unit.shard,
            "documents": list(self.counts[unit.folder]),
            "vectors": packed_value(unit.vectors.astype("<f4")),
        }

    def compute(self, packed: Any) -> dict[str, Any]:
        """Scores and positions in the shard."""
        if self.opened is None:
            self.opened = lru_cache(maxsize=1)(open_shard)
        index = self.opened(Path(packed["folder"]), packed["shard"], tuple(packed["documents"]))
        scores, positions = index.search(unpacked_value(packed["vectors"]), self.hits, threads_set() or 1)
        return {"scores": packed_value(scores.astype("<f4")), "positions": packed_value(positions.astype("<i8"))}

    def result(self, packed: Any) -> Found:
        """See `Work`."""
        return unpacked_value(packed["scores"]), unpacked_value(packed["positions"])

    def size(self, unit: ShardBlock) -> int:
        """Queries."""
        return len(unit.vectors)

    def unit_name(self, unit: ShardBlock) -> str:
        """`shard 3, queries 256 to 511`."""
        return f"shard {unit.shard}, queries {unit.start} to {unit.start + len(unit.vectors) - 1}"

    def memory(self, device: str) -> int | None:
        """That of the largest shard that is read; larger ones are mapped, and need none of their own."""
        files = [shard_paths(folder, number)[0] for folder, own in self.counts.items() for number in range(len(own))]
        read = [size for path in files if path.is_file() and (size := path.stat().st_size) <= faiss_index.MAPPED]
        return max(read, default=None)
