"""Query ids as a benchmark published them, and ours: the modes of a query may share a published one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from toolkit.core.errors import ToolkitError, three
from toolkit.core.topics import Topic


@dataclass(frozen=True)
class PublishedIds:
    """Published query ids and ours.

    ours       published id -> mode -> our id
    originals  our id -> published id
    theirs     our id without mode -> published id without mode
    ambiguous  published ids of several queries of one mode: groups may share them
    """

    ours: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    originals: dict[str, str] = field(default_factory=dict)
    theirs: dict[str, str] = field(default_factory=dict)
    ambiguous: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, topics: Iterable[Topic]) -> PublishedIds:
        """The ids of these topics."""
        ids = cls()
        for topic in topics:
            if topic.mode in ids.ours[topic.original_id]:
                ids.ambiguous.add(topic.original_id)
            ids.ours[topic.original_id][topic.mode] = topic.query_id
            ids.originals[topic.query_id] = topic.original_id
            ids.theirs[topic.base_id] = topic.original_id.removesuffix(f"-{topic.mode}")
        return ids

    def rename(self, query_ids: Iterable[str], mode: str, source: str) -> list[str]:
        """Our ids of a file's published ones; mode is what the file was said to hold, or empty.

        Raises ToolkitError where an id is unknown, belongs to several groups, or to several modes and none was given.
        """
        query_ids = list(query_ids)
        if unknown := [query_id for query_id in query_ids if query_id not in self.ours]:
            raise ToolkitError(f"{source} has ids that were not published: {three(unknown)}", "are they Tandem's ids already?")
        if several := [query_id for query_id in query_ids if query_id in self.ambiguous]:
            hint = "name one group: --benchmark BENCHMARK-GROUP"
            raise ToolkitError(f"{source} has ids that several groups share: {three(several)}", hint)
        fitting = [[ours for of_mode, ours in self.ours[query_id].items() if mode in ("", of_mode)] for query_id in query_ids]
        if unclear := [query_id for query_id, ours in zip(query_ids, fitting, strict=True) if len(ours) != 1]:
            message = f"{source} has published ids whose mode is unclear: {three(unclear)}"
            raise ToolkitError(message, "name the mode of each file: evaluate --run ori=F, runs convert --mode ori")
        return [ours for (ours,) in fitting]

    def publish(self, query_ids: Iterable[str], source: str) -> list[str]:
        """The published ids of ours. Raises ToolkitError where one is unknown, and where two queries share one."""
        query_ids = list(query_ids)
        if unknown := [query_id for query_id in query_ids if query_id not in self.originals]:
            raise ToolkitError(f"{source} has ids that are not of the benchmark: {three(unknown)}", "name its benchmark")
        published = [self.originals[query_id] for query_id in query_ids]
        if shared := [query_id for query_id, times in Counter(published).items() if times > 1]:
            hint = "write one mode (--mode ins) of one group (--benchmark BENCHMARK-GROUP) to a file"
            raise ToolkitError(f"{source} has queries that share their published ids: {three(shared)}", hint)
        return published
