"""The candidates of a run, query by query: what is read again, and what stays behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from toolkit.core.columns import to_arrow
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.topics import Topic
from toolkit.texts import check_texts


class Candidates(NamedTuple):
    """One query with its documents, best first: `head` is what is reranked, `tail` is below the depth."""

    topic: Topic
    head: list[ScoredDoc]
    tail: list[ScoredDoc]


def read_candidates(
    run: Run, topics: Sequence[Topic], texts: Mapping[str, Doc], depth: int, place: str = "the texts given"
) -> list[Candidates]:
    """Every query of the run, in its order; all that is missing is said at once.

    Raises ToolkitError for a depth without meaning, two topics of one id, queries that are not among the topics, a document
    twice in a query, and documents of which `texts` (from `place`) has none.
    """
    if depth < 1:
        raise ToolkitError(f"depth is {depth}", "a whole number from 1 on")
    known = check_queries(run, topics)
    check_repeats(run)
    check_texts(wanted_ids(run, depth), texts, place)
    return [Candidates(known[query_id], docs[:depth], docs[depth:]) for query_id, docs in run.rankings()]


def check_queries(run: Run, topics: Sequence[Topic]) -> dict[str, Topic]:
    """The topics by id; ToolkitError for two of one id, and for queries of the run that are not among them."""
    known: dict[str, Topic] = {}
    for topic in topics:
        if known.setdefault(topic.query_id, topic) is not topic:
            raise ToolkitError(f"query id {topic.query_id!r} comes twice in the topics", "give each query its own id")
    if unknown := [query_id for query_id in run.query_ids if query_id not in known]:
        message = f"{len(unknown)} of {len(run.query_ids)} queries are not among the topics ({three(unknown)})"
        raise ToolkitError(f"{run.source or 'the run'}: {message}", "name the topics that the run was made with")
    return known


def check_repeats(run: Run) -> None:
    """ToolkitError for a document twice in a query: which of its scores would stand?"""
    lines = run.queries.astype(np.int64) * len(run.doc_ids) + run.docs
    different, counts = np.unique(lines, return_counts=True)
    if len(different) == len(lines):
        return
    query, doc = divmod(int(different[np.argmax(counts > 1)]), len(run.doc_ids))
    message = f"query {run.query_ids[query]} has document {run.doc_ids[doc]} more than once"
    raise ToolkitError(f"{run.source or 'the run'}: {message}", "keep one line for each document")


def count_tied(run: Run, depth: int) -> int:
    """Neighbours among the best `depth` documents of a query that have the same score, as a 32-bit float."""
    best = run.head(depth)
    order = best.order()
    scores, queries = best.scores.astype(np.float32)[order], best.queries[order]
    return int(((scores[1:] == scores[:-1]) & (queries[1:] == queries[:-1])).sum())


def wanted_ids(run: Run, depth: int) -> list[str]:
    """The documents down to `depth` of any query, in bytewise order."""
    return sorted(run.doc_ids.take(to_arrow(np.unique(run.head(depth).docs))).to_pylist(), key=str.encode)
