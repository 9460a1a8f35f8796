"""A benchmark as its checks see it: which documents are gold, instruction negatives or unrelated, and to which core query."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, INSTRUCTED, REVERSED
from toolkit.core.topics import Topic
from toolkit.datasets import find, load
from toolkit.datasets.benchmark import Benchmark
from toolkit.datasets.names import part_names
from toolkit.datasets.own.own_check import highest_labels, relevant_of
from toolkit.registry.loader import did_you_mean

NEGATIVES, UNRELATED = "instruction negatives", "unrelated documents"
MOST = 500  # gold documents, and others, of a group that are compared: those with the smallest digests of their ids
LEAST_CORES = 3  # core queries that share a condition, for the condition to have a row of its own


class Instructed(NamedTuple):
    """A query with an instruction, and what it changes.

    mode      empty where the benchmark has none
    before    the relevant documents of the base mode, with their labels; without a base mode those of all instructions of the
              core query
    relevant  those of this mode
    """

    query_id: str
    core: str
    condition: str
    mode: str
    before: Mapping[str, int]
    relevant: Mapping[str, int]


class Item(NamedTuple):
    """A document on one side of a comparison.

    core      the core query that it belongs to: what is resampled, and held out, as a whole
    stratum   items of one stratum alone are compared: those of one condition
    positive  whether it is gold
    """

    doc_id: str
    core: str
    stratum: str
    positive: bool


@dataclass(frozen=True)
class JudgedTexts:
    """One group: its queries by mode, judgments and documents.

    corpora  group -> its documents, once read: groups may share one
    """

    benchmark: Benchmark
    group: str
    corpora: dict[str, Mapping[str, Doc]] = field(default_factory=dict)

    @cached_property
    def topics(self) -> Mapping[str, Sequence[Topic]]:
        """Mode -> queries; the mode of a benchmark without modes is empty."""
        return {mode: self.benchmark.topics(self.group, mode) for mode in self.benchmark.spec.modes or ("",)}

    @cached_property
    def labels(self) -> Mapping[str, Mapping[str, int]]:
        """Query id -> document -> its highest label; empty where nothing is judged."""
        modes = self.topics if self.benchmark.has_qrels(self.group) else ()
        return highest_labels(row for mode in modes for row in self.benchmark.qrels(self.group, mode))

    @cached_property
    def docs(self) -> Mapping[str, Doc]:
        """The documents by id; empty where they are not here."""
        corpus = self.benchmark.spec.corpus(self.group)
        if corpus not in self.corpora:
            docs = self.benchmark.docs(self.group) if self.benchmark.has_docs(self.group) else ()
            self.corpora[corpus] = {doc.doc_id: doc for doc in docs}
        return self.corpora[corpus]

    @cached_property
    def cores(self) -> Mapping[str, str]:
        """Query id -> core query."""
        return {topic.query_id: topic.group_id or topic.query_id for topics in self.topics.values() for topic in topics}

    def relevant(self, query_id: str) -> dict[str, int]:
        """The relevant documents of a query, with their labels."""
        return relevant_of(self.labels, query_id)

    @cached_property
    def instructed(self) -> Sequence[Instructed]:
        """Every query with an instruction that is judged, mode after mode."""
        modes = self.benchmark.spec.modes
        if base := modes.of(BASE):
            first = {topic.base_id: topic.query_id for topic in self.topics[base[0]]}
            asked = [topic for mode in modes.of(INSTRUCTED, REVERSED) for topic in self.topics[mode]]
            before = {topic.query_id: self.relevant(first.get(topic.base_id, "")) for topic in asked}
        else:
            asked = [topic for topics in self.topics.values() for topic in topics if topic.instruction]
            merged: dict[str, dict[str, int]] = defaultdict(dict)  # core query -> what is relevant to any of its queries
            for topic in asked:
                known = merged[self.cores[topic.query_id]]
                for doc_id, label in self.relevant(topic.query_id).items():
                    known[doc_id] = max(label, known.get(doc_id, label))
            before = {topic.query_id: merged[self.cores[topic.query_id]] for topic in asked}
        rows = []
        for topic in (topic for topic in asked if topic.query_id in self.labels):
            name, core = topic.query_id, self.cores[topic.query_id]
            rows.append(Instructed(name, core, topic.condition, topic.mode, before[name], self.relevant(name)))
        return rows

    @cached_property
    def gold(self) -> Mapping[str, str]:
        """Gold documents -> the core query of the first query that has it: relevant with and without the instruction; without
        instructions, relevant at all."""
        reversed_modes = self.benchmark.spec.modes.of(REVERSED)
        rows = [row for row in self.instructed if row.mode not in reversed_modes]
        found: dict[str, str] = {}
        for row in rows:
            found |= {doc_id: row.core for doc_id in row.relevant if doc_id in row.before and doc_id not in found}
        for query_id in self.labels if not rows else ():
            found |= {doc_id: self.cores[query_id] for doc_id in self.relevant(query_id) if doc_id not in found}
        return found

    def against_negatives(self) -> list[Item]:
        """Gold documents and instruction negatives, once for each core query and condition in which they are one."""
        rows = [row for row in self.instructed if row.mode not in self.benchmark.spec.modes.of(REVERSED)]
        sharing: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            sharing[row.condition].add(row.core)
        items: dict[Item, None] = {}
        for row in rows:
            stratum = row.condition if len(sharing[row.condition]) >= LEAST_CORES else ""
            for doc_id in row.before:
                items[Item(doc_id, row.core, stratum, doc_id in row.relevant)] = None
        return self._here(items)

    def against_unrelated(self) -> list[Item]:
        """Gold documents, and those that are relevant to no query of the group: each of its core query where it is judged for
        one."""
        related = {doc_id for query_id in self.labels for doc_id in self.relevant(query_id)}
        judged = {doc_id: self.cores[query_id] for query_id, labels in self.labels.items() for doc_id in labels}
        gold = (Item(doc_id, core, "", True) for doc_id, core in self.gold.items())
        others = (Item(doc_id, judged.get(doc_id, f"\t{doc_id}"), "", False) for doc_id in self.docs if doc_id not in related)
        return self._here(gold) + self._here(others)

    def _here(self, items: Iterable[Item]) -> list[Item]:
        """Those whose texts are here, `MOST` of them on each side."""
        kept: list[Item] = []
        there = [item for item in items if item.doc_id in self.docs]
        for positive in (True, False):
            kept += sampled([item for item in there if item.positive == positive], MOST, key=lambda item: item.doc_id)
        return kept


T = TypeVar("T")


def sampled(items: Sequence[T], most: int, key: Callable[[T], str]) -> Sequence[T]:
    """All of them, or so many: those whose ids have the smallest digests, whatever their order."""
    digest = lambda item: hashlib.sha256(key(item).encode(errors="surrogateescape")).digest()  # noqa: E731
    return sorted(items, key=digest)[:most] if len(items) > most else items


def judged_texts(name: str) -> Iterator[JudgedTexts]:
    """The groups of a benchmark by its name or folder, one by one. ToolkitError where there is none of this name."""
    selection = find(name)
    if selection is None:
        hint = f"{did_you_mean(name, part_names())}a folder with benchmark.yaml, or a name of `tandem benchmarks list`"
        raise ToolkitError(f"no benchmark {name!r}", hint)
    benchmark, corpora = load(selection.benchmark), {}
    for group in selection.groups:
        yield JudgedTexts(benchmark, group, corpora)
