"""Candidates for reranking, pooled from several runs: the first of every run, then the second of every run, and so on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, three
from toolkit.core.progress import say
from toolkit.core.runs import Run, ScoredDoc
from toolkit.formats import metadata_path, read_metadata
from toolkit.formats.provenance import file_digest
from toolkit.runs.check import recorded

SIZE = 1000
TAG = "pool"
SHARED = ("test collection", "topics")


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
    if size < 1 or (depth is not None and depth < 1):
        raise ToolkitError(f"depth is {depth}, size is {size}", "both are whole numbers from 1 on")
    lists = [{query_id: [doc.doc_id for doc in docs[:depth]] for query_id, docs in run.rankings()} for run in runs]
    query_ids = list(dict.fromkeys(query_id for its in lists for query_id in its))
    for run, its in zip(runs, lists, strict=True):
        if lacking := [query_id for query_id in query_ids if query_id not in its]:
            say(f"note: {run.source or run.tag} lacks {len(lacking)} of {len(query_ids)} queries ({three(lacking)})")
    pools = {query_id: list(_pooled([its.get(query_id, []) for its in lists], size)) for query_id in query_ids}
    if small := [query_id for query_id, docs in pools.items() if len(docs) < size]:
        say(f"note: {len(small)} of {len(query_ids)} queries have fewer than {size} documents ({three(small)})")
    rows = (ScoredDoc(q, doc, len(docs) - place) for q, docs in pools.items() for place, doc in enumerate(docs))
    return Run.from_rows(rows, tag=tag)


def _pooled(lists: Sequence[Sequence[str]], size: int) -> Iterator[str]:
    seen: set[str] = set()
    for rank in range(max(map(len, lists))):
        for its in lists:
            if rank < len(its) and its[rank] not in seen:
                seen.add(its[rank])
                yield its[rank]
                if len(seen) == size:
                    return


def pool_facts(paths: Sequence[str], runs: Sequence[Run]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """For the metadata of a pool: what is to be said of each run, in their order, and what all their metadata agree on."""
    facts, told = [], []
    for path, run in zip(paths, runs, strict=True):
        counts = {"file": Path(path).name, "tag": run.tag, "queries": len(run.query_ids), "lines": len(run)}
        if Path(path).is_file():  # no standard input, no pipe
            counts["sha256"] = file_digest(Path(path))
        facts.append(counts)
        told.append(_own_metadata(path, counts))
    data = [metadata.get("data", {}) for metadata in told]
    return facts, {
        part: data[0][part] for part in SHARED if part in data[0] and all(its.get(part) == data[0][part] for its in data)
    }


def _own_metadata(path: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """What stands beside a run's file; nothing where it is another run's, which is said."""
    metadata = (read_metadata(path) or {}) if "sha256" in facts else {}
    if metadata and recorded(metadata).get("sha256") != facts["sha256"]:
        say(f"note: {metadata_path(path)} is not of this run: left out")
        return {}
    return metadata
