"""Search by workers: a model encodes blocks of queries, then workers search blocks of queries where an index lies.

Queries of equal text are in one block, so that what they share is computed once. Vectors are encoded in the blocks in which one
process encodes them (`neural_engine.ENCODED`), and no score depends on the other queries of a block: the run is that of one
process, whoever computes.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.runs import Run, join_runs
from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import progress, say_first, silenced
from toolkit.core.tables.columns import Ids, to_arrow
from toolkit.core.templates import Input, topic_input
from toolkit.core.topics import Topic
from toolkit.engine import Executor, Work, refuse_object, units_of
from toolkit.engine.units import threads_set
from toolkit.retrieval.index import Index
from toolkit.retrieval.search.encoded_queries import Known, grouped, known_queries, packed_value, unpacked_value
from toolkit.retrieval.search.engines import NEURAL, Candidates, Engine, Search, check_same
from toolkit.retrieval.search.per_query_search import searches_of

SEARCHED = 128  # different queries of a block, a multiple of `models.vectors.TOGETHER`
UNSENT = ("wordings", "perspectives")  # of a topic: what no search reads


class Block(NamedTuple):
    """Some topics of a search, by its number."""

    number: int
    topics: Sequence[Topic]


def search_divided(
    engine: Engine, parts: Sequence[tuple[Sequence[Topic], Index]], candidates: Candidates | None, executor: Executor
) -> list[Run]:
    """The run of each part of some topics over its index, in the order of the parts: those of `engine.search`.

    Raises ToolkitError for a system that is an object of this process, for an index that workers do not see or see otherwise,
    and for what cannot be searched.
    """
    refuse_object(engine.chosen.spec)
    indexes = list({(index.name, index.folder): index for _, index in parts}.values())
    number = {(index.name, index.folder): place for place, index in enumerate(indexes)}
    by_part = []
    for topics, index in parts:
        # documents that are searched without an index have no folder
        folders = searches_of(topics, index.folder) if index.folder.parts else [(topics, index.folder)]
        by_part.append([Search(number[index.name, index.folder], folder, own) for own, folder in folders])
    searches = [search for part in by_part for search in part]
    known, done = None, {}
    if engine.chosen.spec.kind in NEURAL:
        known = known_queries(engine, indexes, [search.topics for search in searches], executor)
    if engine.chosen.spec.kind == "dense" and candidates is None:
        from toolkit.retrieval.search.shard_search import search_shards  # with FAISS

        done = search_shards(engine, indexes, searches, known, executor)
    if len(done) < len(searches):
        done |= _search_blocks(SearchBlocks(engine, indexes, searches, candidates, known), done, executor)
    in_order, tag = iter([done[number] for number in range(len(searches))]), engine.chosen.tag
    runs = []
    for part, (_, index) in zip(by_part, parts, strict=True):
        of_part = [next(in_order) for _ in part] or [Run.from_rows([], tag=tag)]
        runs.append(replace(join_runs(of_part, tag=tag), source=str(index.folder)))
    return runs


def _search_blocks(work: SearchBlocks, done: Container[int], executor: Executor) -> dict[int, Run]:
    """The run of each search that is not done, by its number."""
    left = {number: search for number, search in enumerate(work.searches) if number not in done}
    check_same(work.engine, work.indexes, executor.facts(work))
    units = list(_units(left, work.engine.chosen.spec, SEARCHED))
    found: dict[int, list[Run]] = {number: [] for number in left}
    with progress(work.name, sum(len(search.topics) for search in left.values()), "queries") as work.advance:
        for unit, runs in zip(units, executor.map(work, units), strict=True):
            for block, run in zip(unit, runs, strict=True):
                found[block.number].append(run)
    say_first(list(dict.fromkeys(work.notes)))
    joined = {}
    for number, runs in found.items():
        run = join_runs(runs)
        place = {query_id: code for code, query_id in enumerate(run.query_ids)}
        # in the order of the topics
        wanted = [place[topic.query_id] for topic in left[number].topics if topic.query_id in place]
        codes = np.empty(len(wanted), np.int32)
        codes[wanted] = np.arange(len(wanted), dtype=np.int32)
        run = run.take(np.argsort(codes[run.queries], kind="stable"))
        joined[number] = replace(run, query_ids=tuple(run.query_ids[code] for code in wanted), queries=codes[run.queries])
    return joined


def _units(searches: Mapping[int, Search], spec: SystemSpec, size: int) -> Iterator[list[Block]]:
    """Blocks of `size` different queries of a search; those of equal text are in one, and small ones are a unit together.

    Where a block ends depends on its own search alone: see `models.vectors.TOGETHER`.
    """
    blocks = []
    for number, search in searches.items():
        by_input: dict[Input, list[Topic]] = {}
        for topic in search.topics:
            by_input.setdefault(topic_input(spec.templates, topic), []).append(topic)
        for groups in units_of(list(by_input.values()), size):
            blocks.append((Block(number, [topic for group in groups for topic in group]), len(groups)))
    return grouped(blocks, size)


@dataclass
class SearchBlocks(Work[list[Block], list[Run]]):
    """Blocks of topics to runs; a unit is some of them.

    engine    searches; a worker has a copy of it
    indexes   that are searched
    searches  that blocks are parts of
    known     of a system with a model: what it has made of the queries of each search
    notes     what workers had to say of blocks
    """

    LOADED = ("loaded", "searches", "candidates", "known", "notes")

    engine: Engine
    indexes: Sequence[Index]
    searches: Sequence[Search] = ()
    candidates: Candidates | None = None
    known: Sequence[Known] | None = None
    loaded: Engine | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """For messages."""
        return f"searching with {self.engine.chosen.name}"

    def identity(self) -> dict[str, Any]:
        """The system with its parameters, what is searched, and when its files were written."""
        chosen, options = self.engine.chosen, self.engine.options
        folders = [index.folder for index in self.indexes if index.folder.parts and index.folder.is_dir()]
        written = [[path.stat().st_mtime_ns for path in sorted(folder.iterdir())] for folder in folders]
        return {**chosen.facts(), "hits": options.hits, "language": options.language, "written": written}

    def facts(self) -> dict[str, Any]:
        """What each index is that is searched, as who computes sees it."""
        return {"indexes": [self._load().searched(index) for index in self.indexes]}

    def _load(self) -> Engine:
        if self.loaded is None:
            self.loaded = copy(self.engine)
            self.loaded.options = replace(self.engine.options, threads=threads_set() or 1)
        return self.loaded

    def pack(self, unit: list[Block]) -> list[Any]:
        """Of each block its index, topics, candidates, and what a model made of the queries."""
        blocks = []
        for block in unit:
            index, folder, _ = self.searches[block.number]
            packed: dict[str, Any] = {"index": index, "folder": str(folder.absolute()) if folder.parts else ""}
            packed["topics"] = [_plain(topic) for topic in block.topics]
            if self.candidates is not None:
                packed["candidates"] = {topic.query_id: list(self.candidates[topic.query_id]) for topic in block.topics}
            if self.known is not None:
                packed["queries"] = self.known[block.number].packed(block.topics, self.engine.chosen.spec)
            blocks.append(packed)
        return blocks

    def compute(self, packed: Any) -> dict[str, Any]:
        """The runs, and the notes on them."""
        notes: list[str] = []
        with silenced(notes):
            runs = [self._search(block) for block in packed]
        packed_runs = []
        for run in runs:
            numbers = {"queries": run.queries.astype("<i4"), "docs": run.docs.astype("<i4"), "scores": run.scores.astype("<f8")}
            columns = {name: packed_value(values) for name, values in numbers.items()}
            packed_runs.append({"query_ids": list(run.query_ids), "doc_ids": run.doc_ids.to_pylist(), **columns})
        return {"runs": packed_runs, "notes": notes}

    def _search(self, block: Mapping[str, Any]) -> Run:
        index = replace(self.indexes[block["index"]], folder=Path(block["folder"]))
        topics = [Topic(**topic) for topic in block["topics"]]
        known = Known.unpacked(block["queries"]) if "queries" in block else None
        return self._load().search(topics, index, block.get("candidates"), known)

    def result(self, packed: Any) -> list[Run]:
        """See `Work`."""
        self.notes += packed["notes"]
        runs = []
        for run in packed["runs"]:
            queries, docs, scores = (unpacked_value(run[name]) for name in ("queries", "docs", "scores"))
            ids = Ids(to_arrow(run["doc_ids"]), docs)
            runs.append(Run(tuple(run["query_ids"]), queries, ids, scores, tag=self.engine.chosen.tag))
        return runs

    def size(self, unit: list[Block]) -> int:
        """Queries."""
        return sum(len(block.topics) for block in unit)

    def unit_name(self, unit: list[Block]) -> str:
        """`queries q1 to q128`."""
        return f"queries {unit[0].topics[0].query_id} to {unit[-1].topics[-1].query_id}"


def _plain(topic: Topic) -> dict[str, str]:
    return {each.name: getattr(topic, each.name) for each in fields(Topic) if each.name not in UNSENT}
