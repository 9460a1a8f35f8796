"""Pointwise reranking: every pair of a query and one of its best documents gets the model's own score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import progress, say
from toolkit.core.templates import Input, doc_input, topic_input
from toolkit.core.topics import Topic
from toolkit.engine import Executor, LocalExecutor, ModelWork
from toolkit.files.store.keyed_cache import KeyedCache, key_of
from toolkit.models.rerankers.base import Pair, Reranker, chunks
from toolkit.retrieval.rerank.candidates import Candidates, Part, check_choices, read_candidates


def rerank(
    run: Run,
    topics: Sequence[Topic],
    texts: Mapping[str, Doc],
    reranker: Reranker,
    *,
    depth: int = 100,
    tail: str = "keep",
    scores: str = "own",
    place: str = "the texts given",
    cache: KeyedCache | None = None,
) -> Run:
    """The run with the best `depth` documents of each query in the order of the model's scores.

    scores  `own`: the model's, the same in every mode, those of the tail 1, 2, ... below the lowest of the query; `rank` and
            `candidates` (see `Candidates.ranked`): where neighbours had equal ones, the tie order decides, not the model
    cache   where scores are stored as they are computed: a second call resumes where the first one was interrupted

    Pairs of equal texts, as in two modes that share a query, are scored once. Equal scores come in the one tie order. Raises
    ToolkitError for values without meaning, for topics and texts that are missing (from `place`), and for a model that gives no
    number.
    """
    return rerank_parts([Part(run, topics, texts, place)], reranker, depth=depth, tail=tail, scores=scores, cache=cache)[0]


def rerank_parts(
    parts: Sequence[Part],
    reranker: Reranker | WorkersReranker,
    *,
    depth: int,
    tail: str,
    scores: str,
    cache: KeyedCache | None = None,
    executor: Executor | None = None,
) -> list[Run]:
    """A run for each part, as `rerank` makes it; equal pairs of several parts are scored once."""
    check_choices(scores, tail)
    lists = [read_candidates(part, depth) for part in parts]
    places: dict[Pair, int] = {}
    positions = [_positions(heads, part.texts, reranker, places) for heads, part in zip(lists, parts, strict=True)]
    found = score_pairs(list(places), reranker, cache, executor)
    runs = []
    for heads, where, part in zip(lists, positions, parts, strict=True):
        rows, scored = [], found[where]
        for one in heads:
            rows += _rows(one, scored[: len(one.head)], scores, tail)
            scored = scored[len(one.head) :]
        runs.append(Run.from_rows(rows, tag=reranker.spec.name, source=part.run.source))
    return runs


def plan_pairs(parts: Sequence[Part], reranker: Reranker, depth: int) -> dict[str, int]:
    """What a server would be asked: `different` pairs, how many of these are `cached`, `requests` and their `tokens`."""
    places: dict[Pair, int] = {}
    for part in parts:
        _positions(read_candidates(part, depth), part.texts, reranker, places)
    return reranker.plan(list(places))


def _positions(
    lists: Sequence[Candidates], texts: Mapping[str, Doc], reranker: Reranker | WorkersReranker, places: dict[Pair, int]
) -> np.ndarray:
    """For each document of each head, list after list, the place of its pair in `places`, where new ones are added."""
    templates = reranker.spec.templates
    documents = {doc.doc_id: doc_input(templates, texts[doc.doc_id]) for one in lists for doc in one.head}
    positions = []
    for one in lists:
        query = topic_input(templates, one.topic)
        positions += [places.setdefault((query, documents[doc.doc_id]), len(places)) for doc in one.head]
    return np.array(positions, np.int64)


def score_pairs(
    pairs: Sequence[Pair], reranker: Reranker | WorkersReranker, cache: KeyedCache | None, executor: Executor | None
) -> np.ndarray:
    """The score of each pair, (n,) float64, from the cache where it is there, in units (`models.rerankers.base.chunks`).

    Batches depend on the unit alone: scores of a run that was resumed are those of one that was not interrupted.
    """
    before, keys = reranker.truncated, [key_of(pair) for pair in pairs] if cache else []
    known = cache.get(keys, _score) if cache else {}
    if known:
        say(f"resuming: {len(known):,} of {len(pairs):,} scores are cached")
    work = reranker.work if isinstance(reranker, WorkersReranker) else ScorePairs(reranker.spec, {}, {}, reranker)
    work.pairs, work.keys, work.known, work.cache = pairs, keys, known, cache
    with progress(work.name, len(pairs), "pairs") as work.advance:
        chunk_scores = list((executor or LocalExecutor()).map(work, chunks(pairs)))
    if truncated := reranker.truncated - before:
        say(f"note: {truncated:,} of {len(pairs):,} pairs did not fit into {reranker.spec.name} and were truncated")
    return np.concatenate(chunk_scores) if chunk_scores else np.empty(0)


@dataclass
class ScorePairs(ModelWork[slice, np.ndarray]):
    """Pairs to scores; a unit is a part of the pairs. loading: see `toolkit.models.rerankers.load_reranker`.

    entry      what a score depends on beside the pair, before a model is loaded
    truncated  pairs that workers truncated
    """

    LOADED = ("reranker", "pairs", "keys", "known", "cache")
    MODEL = "reranker"

    spec: SystemSpec
    loading: Mapping[str, Any]
    entry: Mapping[str, Any]
    reranker: Reranker | None = None
    pairs: Sequence[Pair] = ()
    keys: Sequence[bytes] = ()
    known: Mapping[bytes, float] = field(default_factory=dict)
    cache: KeyedCache | None = None
    truncated: int = 0

    @property
    def name(self) -> str:
        """For messages."""
        return f"reranking with {self.spec.name}"

    def _load(self) -> Reranker:
        if self.reranker is None:
            from toolkit.models.rerankers import load_reranker

            self.reranker = load_reranker(self.spec, **self.loading)
            if self.spec.loader == "endpoint":
                self.reranker.check()
        return self.reranker

    def identity(self) -> dict[str, Any]:
        """See `Work`."""
        return {**self.entry, "templates": dict(self.spec.templates), "parameters": dict(self.spec.parameters)}

    def facts(self) -> dict[str, Any]:
        """Those of the reranker."""
        return dict(self._load().facts)

    def __call__(self, unit: slice) -> np.ndarray:
        """The scores of some pairs, here: each is cached as it is computed, and taken from there where it is."""
        reranker, part, part_keys = self.reranker, self.pairs[unit], self.keys[unit]
        scores = np.full(len(part), np.nan)
        done = {place: self.known[key] for place, key in enumerate(part_keys) if key in self.known}
        scores[list(done)] = list(done.values())
        self.moved(len(done))
        for batch, values in reranker.batches(part, done):
            _check(part, batch, values, reranker)
            scores[batch] = values
            if self.cache:
                self.cache.put({part_keys[place]: value.tobytes() for place, value in zip(batch, values, strict=True)})
            self.moved(sum(place not in done for place in batch))
        return scores

    def pack(self, unit: slice) -> list[Any]:
        """The two inputs of each pair."""
        return [[list(query), list(document)] for query, document in self.pairs[unit]]

    def compute(self, packed: Any) -> dict[str, Any]:
        """The scores, and how many of the pairs were truncated."""
        reranker, pairs = self._load(), [(Input(*query), Input(*document)) for query, document in packed]
        before, scores = reranker.truncated, np.full(len(pairs), np.nan)
        for batch, values in reranker.batches(pairs):
            _check(pairs, batch, values, reranker)
            scores[batch] = values
        return {"scores": scores.tolist(), "truncated": reranker.truncated - before}

    def result(self, packed: Any) -> np.ndarray:
        """See `Work`."""
        self.truncated += packed["truncated"]
        return np.array(packed["scores"])

    def size(self, unit: slice) -> int:
        """Pairs."""
        return len(self.pairs[unit])

    def unit_name(self, unit: slice) -> str:
        """`pairs 0 to 8191`."""
        return f"pairs {unit.start:,} to {unit.stop - 1:,}"


class WorkersReranker:
    """What workers of an executor have each loaded: its `spec`, `facts`, and the pairs that they truncated."""

    def __init__(self, spec: SystemSpec, loading: Mapping[str, Any], entry: Mapping[str, Any], executor: Executor):
        self.spec, self.work = spec, ScorePairs(spec, loading, entry)
        self.facts = executor.facts(self.work)

    @property
    def truncated(self) -> int:
        """So far."""
        return self.work.truncated


def _score(blob: bytes) -> float:
    """A score as it was cached. ValueError for anything else."""
    [score] = np.frombuffer(blob)
    if not np.isfinite(score):
        raise ValueError(f"a score is {score}")
    return score


def _check(pairs: Sequence[Pair], batch: Sequence[int], scores: np.ndarray, reranker: Reranker) -> None:
    if np.isfinite(scores).all():
        return
    query, _ = pairs[batch[int(np.argmin(np.isfinite(scores)))]]
    precision = reranker.facts.get("precision", "its precision")
    message = f"{reranker.spec.name} gave a pair no finite score, in {precision} (query: {query.text[:60]!r})"
    raise ToolkitError(message, "numbers overflow in fp16: try --precision bf16 or fp32", status=1)


def _rows(one: Candidates, scored: np.ndarray, scores: str, tail: str) -> Iterator[ScoredDoc]:
    """The query's lines, best first; documents of equal scores by id, descending, as everywhere."""
    # two sorts, the second of which keeps the order of equals: scores compare as 32-bit floats, as trec_eval reads them
    order = sorted(range(len(scored)), key=lambda position: one.head[position].doc_id, reverse=True)
    order.sort(key=lambda position: -np.float32(scored[position]))
    own = [*scored[order].tolist(), *below(scored.min(), len(one.tail) if tail == "keep" else 0)] if scores == "own" else ()
    return one.ranked(order, scores, tail, own)


def below(lowest: float, count: int) -> list[float]:
    """`count` scores that fall in steps of 1 below `lowest` (of more where a 32-bit float does not hold steps of 1)."""
    first = np.float64(np.float32(lowest))
    step = max(1.0, 2 * float(np.spacing(np.float32(abs(first) + count))))
    return [float(np.float32(first - step * place)) for place in range(1, count + 1)]
