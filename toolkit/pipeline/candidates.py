"""The only documents that a search may find for each topic: the benchmark's candidates, or those of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicSet
from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run
from toolkit.formats import read_run
from toolkit.rerank.job import CANDIDATES, benchmark_candidates, first_stage


@dataclass(frozen=True)
class Candidates:
    """Documents by query.

    docs   query id -> ids
    name   for a run's file name: `candidates`, or `candidates-<file>`
    facts  what a run's metadata say of them
    """

    docs: Mapping[str, tuple[str, ...]]
    name: str
    facts: Mapping[str, Any]

    @property
    def plan(self) -> str:
        """What searching them is, in words."""
        return f"only the {sum(map(len, self.docs.values())):,} {self.name} of {len(self.docs):,} queries are searched"


def find_candidates(source: str | Path, topics: TopicSet) -> Candidates:
    """Those of a run's file, or of the topics' own benchmark (`candidates`).

    Raises ToolkitError where there are none at all, and for topics that have none: nothing could be found for them.
    """
    source = str(source)
    run = benchmark_candidates(topics) if source == CANDIDATES else read_run(source)
    docs = by_query(run)
    if without := [topic.query_id for topic in topics.topics if topic.query_id not in docs]:
        message = f"{run.source or source} has no candidates for {len(without)} of {len(topics.topics)} topics"
        raise ToolkitError(f"{message} ({three(without)})", "name a run of all of them, or other topics")
    name = CANDIDATES if source == CANDIDATES else f"{CANDIDATES}-{Path(source).name.split('.trec')[0]}"
    return Candidates(docs, name, first_stage(run, source, topics).facts)


def by_query(run: Run) -> dict[str, tuple[str, ...]]:
    """Every document that a run has for each query, once."""
    return {query_id: tuple(dict.fromkeys(doc.doc_id for doc in docs)) for query_id, docs in run.rankings()}
