"""The one in-memory form of a benchmark's group (a dimension, a language, a data set), whatever it was read from."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.modes import join_mode
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic

Group = Mapping[str, Any]  # a group's entry in the registry


@dataclass(frozen=True)
class Row:
    """One (core query, condition) pair, as a source states it.

    instructions  mode -> instruction; a mode without one is absent or empty
    released      mode -> what the released code sends as instruction where ours is empty
    judgments     mode -> document id -> relevance
    """

    original_id: str
    query: str
    condition: str
    instructions: Mapping[str, str]
    judgments: Mapping[str, Mapping[str, int]]
    released: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One group of a benchmark. The mode of a benchmark without modes is `""`.

    topics, qrels  by mode; no qrels where the source has none
    docs           its own documents; None where it has none, or shares those of another group (its entry's `corpus`)
    scoreddocs     by mode: candidates to rerank; empty where the source has none
    notes          what a user should know of the source (counts of what was put right)
    published      what the source says of itself, for its layout's checks (FollowIR's `qrel_diff`)
    lacks          `documents` or `qrels` -> what to do where a user asks for them and they are not here: the hint of the error
    """

    name: str
    topics: Mapping[str, Sequence[Topic]]
    qrels: Mapping[str, Qrels]
    docs: Sequence[Doc] | None = None
    scoreddocs: Mapping[str, Run] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    published: Mapping[str, Any] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)


def assemble(name: str, modes: Sequence[str], rows: Iterable[Row], docs: Sequence[Doc], notes: Sequence[str] = ()) -> Part:
    """Number core queries, and the instructions of each, in order of first appearance.

    Rows of one core query share its text. Ids are `<name>-<core query, 3 digits>-<instruction, from 1>-<mode>`.
    """
    cores: dict[str, str] = {}
    instructions: Counter[str] = Counter()
    topics: dict[str, list[Topic]] = {mode: [] for mode in modes}
    judged: dict[str, list[Qrel]] = {mode: [] for mode in modes}
    for row in rows:
        group_id = cores.setdefault(row.query, f"{name}-{len(cores) + 1:03d}")
        instructions[group_id] += 1
        base = f"{group_id}-{instructions[group_id]}"
        for mode in modes:
            instruction = row.instructions.get(mode, "")
            same = {"condition": row.condition, "group_id": group_id, "original_id": row.original_id}
            released = "" if instruction else row.released.get(mode, "")
            topic = topic_in_mode(base, mode, row.query, instruction, released=released, **same)
            topics[mode].append(topic)
            judged[mode] += [Qrel(topic.query_id, doc_id, label) for doc_id, label in row.judgments[mode].items()]
    qrels = {mode: Qrels.from_rows(rows, join_mode(name, mode)) for mode, rows in judged.items()}
    return Part(name, topics, qrels, docs, notes=tuple(notes))


def topic_in_mode(base: str, mode: str, query: str, instruction: str = "", **more: Any) -> Topic:
    """A query in one mode: its id is `base` with the mode, its text the query and, behind one blank, the instruction.

    more  fields of `Topic`; without `group_id` the query is a core query of its own, `base`
    """
    text = f"{query} {instruction}" if instruction else query
    known = {"query": query, "instruction": instruction, "mode": mode, "group_id": base}
    return Topic(join_mode(base, mode), **{"text": text, **known, **more})


def part_name(*words: str) -> str:
    """The id of a part of a benchmark from its words, as commands and file names have it: `mfollowir-cross-lingual-fas-og`."""
    return "-".join(filter(None, words)).replace("/", "-")


def group_names(spec: BenchmarkSpec) -> dict[str, tuple[str, ...]]:
    """What may stand after a benchmark's name (`""`, a selection, a group or its alias) -> the groups that it means."""
    all_groups = tuple(group["name"] for group in spec.groups)
    named = {alias: (group["name"],) for group in spec.groups for alias in (group["name"], *group.get("aliases", ()))}
    return {"": all_groups} | {name: tuple(groups) for name, groups in spec.selections.items()} | named


def as_qrels(labels: Mapping[str, Mapping[str, int]], name: str) -> Qrels:
    """Qrels of query id -> document id -> relevance, in their order."""
    return Qrels.from_rows((Qrel(query_id, *row) for query_id, judged in labels.items() for row in judged.items()), name)


def as_candidates(lists: Mapping[str, Sequence[str]], tag: str) -> Run:
    """Documents to rerank, query id -> document ids, in their order; the score is 1/rank."""
    rows = (ScoredDoc(query_id, doc_id, 1 / rank) for query_id, ids in lists.items() for rank, doc_id in enumerate(ids, 1))
    return Run.from_rows(rows, tag=tag)


def counts(part: Part) -> dict[str, int]:
    """Core queries, queries of the first mode that has some, and documents where the part has its own."""
    topics = next(filter(None, part.topics.values()), ())
    numbers = {"cores": len({topic.group_id for topic in topics}), "queries": len(topics)}
    return numbers if part.docs is None else numbers | {"documents": len(part.docs)}


def totals(part: Part) -> dict[str, int]:
    """Queries and judgments with a label other than 0 over all modes, and documents where the part has its own.

    What modes share under one published id counts once: a base mode that judges the same query again is no other query.
    """
    published = {topic.query_id: topic.original_id for topics in part.topics.values() for topic in topics}
    judged = {(published.get(row.query_id), row.doc_id) for qrels in part.qrels.values() for row in qrels if row.relevance}
    numbers = {"queries": len(set(published.values())), "qrels": len(judged)}
    return numbers if part.docs is None else numbers | {"documents": len(part.docs)}
