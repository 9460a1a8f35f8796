"""Searches that may find some documents only: the benchmark's candidates or a run's, their places in an index, what is left of
a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run, join_runs
from toolkit.core.system.lazy_names import pyarrow
from toolkit.core.tables.columns import encode, lookup, to_arrow
from toolkit.datasets import TopicSet
from toolkit.files.formats import read_run
from toolkit.files.provenance import read_recorded
from toolkit.models.lucene.docids import say_lacking

Places = Callable[["pyarrow.StringArray"], tuple[np.ndarray, np.ndarray]]
CANDIDATES = "candidates"  # what a user says for them where a run is expected


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


def candidate_places(wanted: Sequence[Sequence[str]], places: Places, index: Path) -> list[np.ndarray]:
    """Where the candidates of each query lie in an index: int64, in any order; how many it lacks is said.

    wanted  the ids, a sequence a query
    places  distinct ids -> the places that have one of them, and for each of these the number of its id
    """
    codes, ids = encode([doc_id for doc_ids in wanted for doc_id in doc_ids])
    rows, owners = places(ids)
    rows, counts = rows[np.argsort(owners, kind="stable")], np.bincount(owners, minlength=len(ids))
    starts = np.cumsum(counts) - counts  # passages of an index may share their document's id
    say_lacking(index, int((counts[codes] == 0).sum()), len(codes))
    result, begin = [], 0
    for doc_ids in wanted:
        own_codes = np.unique(codes[begin : begin + len(doc_ids)])
        begin += len(doc_ids)
        sizes = counts[own_codes]
        lines = np.arange(sizes.sum()) + np.repeat(starts[own_codes] - (np.cumsum(sizes) - sizes), sizes)
        result.append(rows[lines])
    return result


def among(run: Run, candidates: Mapping[str, Sequence[str]]) -> Run:
    """What a run has of these documents, for a search that scores all."""
    pairs = [(number, doc) for number, query_id in enumerate(run.query_ids) for doc in candidates[query_id]]
    docs = lookup(to_arrow([doc for _, doc in pairs]), run.doc_ids)
    width = len(run.doc_ids)
    wanted = np.array([number for number, _ in pairs], np.int64)[docs >= 0] * width + docs[docs >= 0]
    say_lacking("the collection", int((docs < 0).sum()), len(docs))
    return run.take(np.flatnonzero(np.isin(run.queries.astype(np.int64) * width + run.docs, wanted)))


def benchmark_candidates(topics: TopicSet) -> Run:
    """What a benchmark gives to be reranked, for each of the topics. ToolkitError where it gives nothing."""
    benchmark = topics.benchmark
    if benchmark is None:
        raise ToolkitError(f"{topics.name} is a file, which has no candidates", "name a benchmark's topics, or a run")
    runs, without = [], []
    for part in topics.parts:
        for mode in dict.fromkeys(topic.mode for topic in part.topics):
            run = benchmark.scoreddocs(part.group, mode)
            runs += [run.select([topic.query_id for topic in part.topics if topic.mode == mode])] if run is not None else []
            without += [f"{part.group} {mode}".strip()] if run is None else []
    if without:
        name = benchmark.spec.name
        hint = f"`tandem benchmarks show {name}` says what it has; or name a run with --run"
        raise ToolkitError(f"{name} has no candidates on this machine for {three(without)}", hint)
    return join_runs(runs, source=f"the candidates of {benchmark.spec.name}")
