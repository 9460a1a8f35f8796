"""The candidates of a run, query by query: what is read again, and what stays behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.topics import Topic


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
    name = run.source or "the run"
    lists = [Candidates(known[query_id], docs[:depth], docs[depth:]) for query_id, docs in run.rankings()]
    for one in lists:
        repeated = [doc_id for doc_id, count in Counter(doc.doc_id for doc in one.head + one.tail).items() if count > 1]
        if repeated:
            message = f"{name}: query {one.topic.query_id} has documents more than once ({three(repeated)})"
            raise ToolkitError(message, "keep one line for each document")
    wanted = {doc.doc_id for one in lists for doc in one.head}
    if absent := wanted - texts.keys():
        message = f"no text for {len(absent)} of {len(wanted)} documents ({three(absent)}) in {place}"
        raise ToolkitError(message, "name the index or the file that has their texts with --index or --docs")
    return lists


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


def wanted_ids(run: Run, depth: int) -> list[str]:
    """The documents down to `depth` of any query, in bytewise order."""
    return sorted({doc.doc_id for _, docs in run.rankings() for doc in docs[:depth]})
