"""Candidates for reranking, pooled from several runs: the first of every run, then the second of every run, and so on."""

from __future__ import annotations

from collections.abc import Sequence

from toolkit.core.errors import ToolkitError, check_counts, three
from toolkit.core.progress import say
from toolkit.core.runs import Run, ScoredDoc, round_robin
from toolkit.provenance import Provenance, agreed
from toolkit.steps import Results, Step, Tools

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


class Pool(Step):
    """One run of several, see `pool`."""

    name = tag = "pool"

    def __init__(self, *, depth: int | None = None, size: int = SIZE):
        self.depth, self.size = depth, size

    def plan(self, results: Results) -> list[str]:
        """One line."""
        return [f"pool {self.size} documents a query of {len(results.runs)} runs"]

    def apply(self, results: Results, tools: Tools) -> Results:
        """Pool; the record has what the records of all runs agree on."""
        run = pool([made.run for made in results.runs], depth=self.depth, size=self.size)
        facts = {"rounds over": [made.run.tag for made in results.runs], "depth": self.depth, "size": self.size}
        common = agreed([made.provenance for made in results.runs])
        data = {name: value for name, value in common.data.items() if name != "indexes"}
        provenance = Provenance({"pooling": facts}, data).having(runs=[dict(made.facts) for made in results.runs])
        return results.with_run(run, provenance)
