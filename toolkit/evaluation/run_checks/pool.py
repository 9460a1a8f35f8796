"""Candidates for reranking, pooled from several runs: the first of every run, then the second of every run, and so on."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.errors import ToolkitError, check_counts, three
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run, ScoredDoc, round_robin
from toolkit.core.system.progress import say
from toolkit.files.provenance import Provenance, agreed
from toolkit.metrics.families.join import positions
from toolkit.retrieval.steps import Results, Step, Tools

SIZE = 1000
TAG = "pool"


def pool(runs: Sequence[Run], *, depth: int | None = None, size: int = SIZE, tag: str = TAG) -> Run:
    """The first `size` different documents of each query, round by round: the way FollowIR's candidates were made.

    runs   their order decides within a round; equal scores of a run are ranked as `Run.order` has them
    depth  how deep each run is read; None is to its end
    tag    of the new run

    Queries come in the order in which they first appear. Scores are whole numbers that fall by 1 to 1, so that the order stays.
    Queries that a run lacks, and pools that are smaller, are said. Raises ToolkitError for no runs and numbers below 1.
    """
    if not runs:
        raise ToolkitError("no runs to pool", "name one or more")
    check_counts(depth=depth, size=size)
    lists = [{query_id: [doc.doc_id for doc in docs[:depth]] for query_id, docs in run.rankings()} for run in runs]
    query_ids = list(dict.fromkeys(query_id for ranking in lists for query_id in ranking))
    for run, ranking in zip(runs, lists, strict=True):
        if lacking := [query_id for query_id in query_ids if query_id not in ranking]:
            say(f"note: {run.source or run.tag} lacks {len(lacking)} of {len(query_ids)} queries ({three(lacking)})")
    pools = {query_id: round_robin([ranking.get(query_id, []) for ranking in lists], size) for query_id in query_ids}
    if small := [query_id for query_id, docs in pools.items() if len(docs) < size]:
        say(f"note: {len(small)} of {len(query_ids)} queries have fewer than {size} documents ({three(small)})")
    rows = (ScoredDoc(q, doc, len(docs) - place) for q, docs in pools.items() for place, doc in enumerate(docs))
    return Run.from_rows(rows, tag=tag)


class Reached(NamedTuple):
    """What a pool has of what is judged, over the queries that it has lists for and that are judged.

    documents, judged  pairs of query and document in the pool, and those of them with a label, whatever it is
    reached, relevant  relevant documents that the pool has, and that there are; of subtopics a document counts once
    lacking            judged queries that the pool has no list for
    """

    documents: int
    judged: int
    reached: int
    relevant: int
    lacking: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """For the record."""
        return {**self._asdict(), "lacking": len(self.lacking)}

    def __str__(self) -> str:
        shares = [_share(self.judged, self.documents, "documents are judged")]
        shares.append(_share(self.reached, self.relevant, "relevant ones are reached"))
        lacking = f"; the pool lacks {len(self.lacking):,} judged queries ({three(self.lacking)})" if self.lacking else ""
        return f"{', '.join(shares)}{lacking}"


def _share(part: int, whole: int, what: str) -> str:
    return f"{part:,} of {whole:,} {what}" + (f" ({part / whole:.1%})" if whole else "")


def reached(run: Run, qrels: Qrels) -> Reached:
    """How much of a pool is judged, and how many of the relevant documents it has; see `Reached`."""
    common = set(run.query_ids).intersection(qrels.query_ids)
    own, judged = run.select(common), qrels.select(common)
    found = positions(own, judged)
    # a document may be judged once for each subtopic
    _, first, pairs = np.unique(np.stack([found.queries, found.docs]), axis=1, return_index=True, return_inverse=True)
    relevant = np.bincount(pairs.ravel(), found.relevance > 0, len(first)) > 0
    there = ~found.missing[first]
    lacking = tuple(query_id for query_id in qrels.query_ids if query_id not in common)
    return Reached(len(own.scores), int(there.sum()), int((relevant & there).sum()), int(relevant.sum()), lacking)


class Pool(Step):
    """One run of several, see `pool`; qrels  judgments that it is compared with, see `reached`"""

    name = tag = "pool"

    def __init__(self, *, depth: int | None = None, size: int = SIZE, qrels: Qrels | None = None):
        self.depth, self.size, self.qrels = depth, size, qrels

    def plan(self, results: Results) -> list[str]:
        """One line."""
        return [f"pool {self.size} documents a query of {len(results.runs)} runs"]

    def apply(self, results: Results, tools: Tools) -> Results:
        """Pool; the record has what the records of all runs agree on."""
        run = pool([made.run for made in results.runs], depth=self.depth, size=self.size)
        facts: dict[str, Any] = {"rounds over": [made.run.tag for made in results.runs], "depth": self.depth, "size": self.size}
        if self.qrels is not None:
            share = reached(run, self.qrels)
            say(f"{self.qrels.source}: {share}")
            facts["judged"] = {"by": self.qrels.source, **share.facts()}
        common = agreed([made.provenance for made in results.runs])
        data = {name: value for name, value in common.data.items() if name != "indexes"}
        provenance = Provenance({"pooling": facts}, data).having(runs=[dict(made.facts) for made in results.runs])
        return results.with_run(run, provenance)
