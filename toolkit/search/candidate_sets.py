"""The only documents that a search may find for each topic: the benchmark's candidates, or those of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicSet
from toolkit.benchmarks.candidates import CANDIDATES, benchmark_candidates
from toolkit.core.errors import ToolkitError, three
from toolkit.formats import read_run
from toolkit.provenance import read_recorded


@dataclass(frozen=True)
class CandidateSets:
    """Documents by query.

    docs   query id -> ids, each once
    name   for a run's file name: `candidates`, or `candidates-<file>`
    facts  what a run's record says of them
    """

    docs: Mapping[str, tuple[str, ...]]
    name: str
    facts: Mapping[str, Any]

    @property
    def plan(self) -> str:
        """What searching them is, in words."""
        return f"only the {sum(map(len, self.docs.values())):,} {self.name} of {len(self.docs):,} queries are searched"


def find_candidates(source: str | Path, topics: TopicSet) -> CandidateSets:
    """Those of a run's file, or of the topics' own benchmark (`candidates`).

    Raises ToolkitError where there are none at all, and for topics that have none: nothing could be found for them.
    """
    if str(source) == CANDIDATES:
        run, name = benchmark_candidates(topics), CANDIDATES
        facts: Mapping[str, Any] = {"of": topics.benchmark.spec.name, "queries": len(run.query_ids), "lines": len(run)}
    else:
        recorded = read_recorded(source, read_run)
        run, facts = recorded.content, recorded.facts
        name = f"{CANDIDATES}-{Path(source).name.split('.trec')[0]}"
    docs = {query_id: tuple(dict.fromkeys(doc.doc_id for doc in ranking)) for query_id, ranking in run.rankings()}
    if without := [topic.query_id for topic in topics.topics if topic.query_id not in docs]:
        message = f"{run.source or source} has no candidates for {len(without)} of {len(topics.topics)} topics"
        raise ToolkitError(f"{message} ({three(without)})", "name a run of all of them, or other topics")
    return CandidateSets(docs, name, facts)
