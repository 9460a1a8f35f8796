"""Queries that a model has encoded, for searches elsewhere: by workers, in the blocks in which one process encodes them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import progress
from toolkit.core.templates import Input
from toolkit.core.topics import Topic
from toolkit.engine import Executor, units_of
from toolkit.models.computing import device_of, pick_precision
from toolkit.retrieval.encode import EncoderWork
from toolkit.retrieval.index import Index
from toolkit.retrieval.search import neural_engine

Block = TypeVar("Block")


@dataclass
class Known:
    """In the place of an encoder: what it has made of queries.

    queries    what was sent -> the vector, (t, dimension) vectors, or terms with weights
    origin, precision   of the encoder, see `toolkit.models.encoders.base.Encoder`
    """

    queries: Mapping[Input, Any]
    origin: Mapping[str, Any]
    precision: str
    truncated: dict[str, int] = field(default_factory=lambda: {"query": 0, "passage": 0})
    lost: int = 0

    def encode(self, inputs: Sequence[Input], side: str) -> list[Any]:
        """Those of some queries."""
        return [self.queries[each] for each in inputs]

    def packed(self, topics: Sequence[Topic], spec: SystemSpec) -> dict[str, Any]:
        """As plain values, for some topics."""
        queries = [[*each, packed_value(self.queries[each])] for each in neural_engine.different_inputs(topics, spec)]
        return {"queries": queries, "origin": dict(self.origin), "precision": self.precision}

    @classmethod
    def unpacked(cls, packed: Mapping[str, Any]) -> Known:
        """From what `packed` gives."""
        queries = {Input(*sent): unpacked_value(value) for *sent, value in packed["queries"]}
        return cls(queries, packed["origin"], packed["precision"])


def known_queries(
    engine: neural_engine.Neural, indexes: Sequence[Index], searches: Sequence[Sequence[Topic]], executor: Executor
) -> list[Known]:
    """What the model makes of the topics of each search: encoded by workers, where it is not on a server.

    Raises ToolkitError where an index was made with another model, see `neural_engine.check_made_by`.
    """
    spec, options = engine.chosen.spec, engine.options
    if engine.is_served:  # its answers go through the one cache of this process
        how = {"hits": options.hits, "threads": options.threads}
        encoder = engine.encoder
        queries = [neural_engine.encode_queries(topics, spec, encoder, **how) for topics in searches]
        return [Known(each, encoder.origin, encoder.precision) for each in queries]
    inputs = [neural_engine.different_inputs(topics, spec) for topics in searches]
    work = EncodeQueries(spec, options.model())
    computed = executor.facts(work)
    size = neural_engine.ENCODED  # the blocks are those that one process encodes at once
    blocks = ((number, block) for number, own in enumerate(inputs) for block in units_of(own, size))
    units = list(grouped(((each, len(each[1])) for each in blocks), size))
    encoded: list[dict[Input, Any]] = [{} for _ in searches]
    with progress(work.name, sum(map(len, inputs)), "queries") as work.advance:
        for unit, values in zip(units, executor.map(work, units), strict=True):
            for (number, block), own in zip(unit, values, strict=True):
                encoded[number] |= zip(block, own, strict=True)
    neural_engine.say_truncated(work.truncated, work.lost, sum(map(len, inputs)))
    engine.computed = {**computed, "truncated": work.truncated}
    known = [Known(queries, computed["origin"], computed["precision"]) for queries in encoded]
    for index in indexes:
        if index.record is not None:
            neural_engine.check_made_by(index.folder, index.record, spec, known[0])
    return known


def grouped(blocks: Iterable[tuple[Block, int]], size: int) -> Iterator[list[Block]]:
    """Blocks in their order, each given with its number of queries, as units: those that are together below `size` are one."""
    unit, count = [], 0
    for block, queries in blocks:
        unit.append(block)
        count += queries
        if count >= size:
            yield unit
            unit, count = [], 0
    if unit:
        yield unit


@dataclass
class EncodeQueries(EncoderWork[list[tuple[int, Sequence[Input]]], list[list[Any]]]):
    """Queries to what a model makes of them; a unit is some blocks, each encoded at once. loading: see `load_encoder`."""

    spec: SystemSpec
    loading: Mapping[str, Any]
    encoder: Any = None
    truncated: int = 0
    lost: int = 0

    @property
    def name(self) -> str:
        """For messages."""
        return f"encoding queries with {self.spec.name}"

    def identity(self) -> dict[str, Any]:
        """Parameters and limits; what was loaded is in the facts."""
        batch = self.loading.get("batch_size")
        return {**self.spec.entry_facts, "kind": self.spec.kind, "parameters": dict(self.spec.parameters), "batch size": batch}

    def facts(self) -> dict[str, Any]:
        """What was loaded from where, the device, and the precision: what a run's record says."""
        encoder, device = self._load(), device_of(self.spec, self.loading.get("device"))
        said = pick_precision(self.spec, self.loading.get("precision"), device)
        return {"origin": dict(encoder.origin), "device": device, "said": said, "precision": encoder.precision}

    def pack(self, unit: list[tuple[int, Sequence[Input]]]) -> list[Any]:
        """What is sent."""
        return [[list(each) for each in block] for _, block in unit]

    def compute(self, packed: Any) -> dict[str, Any]:
        """What the model makes of it, and how many queries were truncated and lost their core query."""
        encoder = self._load()
        truncated, lost = encoder.truncated["query"], encoder.lost
        blocks = [encoder.encode([Input(*each) for each in block], "query") for block in packed]
        values = [[packed_value(value) for value in block] for block in blocks]
        return {"values": values, "truncated": encoder.truncated["query"] - truncated, "lost": encoder.lost - lost}

    def result(self, packed: Any) -> list[list[Any]]:
        """See `Work`."""
        self.truncated += packed["truncated"]
        self.lost += packed["lost"]
        return [[unpacked_value(value) for value in block] for block in packed["values"]]

    def size(self, unit: list[tuple[int, Sequence[Input]]]) -> int:
        """Queries."""
        return sum(len(block) for _, block in unit)


def packed_value(value: Any) -> Any:
    """Terms or an array as plain values: terms keep their order; an array is its bytes as text."""
    if isinstance(value, dict):
        return list(value.items())
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return {"dtype": value.dtype.str, "shape": list(value.shape), "data": data}


def unpacked_value(packed: Any) -> Any:
    """What `packed_value` packed; an array has its own memory."""
    if isinstance(packed, list):
        return dict(packed)
    return np.frombuffer(base64.b64decode(packed["data"]), packed["dtype"]).copy().reshape(packed["shape"])
