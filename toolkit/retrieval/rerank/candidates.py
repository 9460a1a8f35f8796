"""The candidates of a run, query by query: what is read again, what stays behind, and the run that comes of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.tables.columns import to_arrow
from toolkit.core.topics import Topic, check_among, topics_by_id
from toolkit.retrieval.texts import check_texts

SCORES, TAILS = ("own", "rank", "candidates"), ("keep", "drop")


class Part(NamedTuple):
    """A run with the topics of its queries, the texts of its documents, and where these come from, for a message."""

    run: Run
    topics: Sequence[Topic]
    texts: Mapping[str, Doc]
    place: str = "the texts given"


class Candidates(NamedTuple):
    """One query with its documents, best first: `head` is what is reranked, `tail` is below the depth."""

    topic: Topic
    head: list[ScoredDoc]
    tail: list[ScoredDoc]

    def ranked(self, order: Sequence[int], scores: str, tail: str, own: Sequence[float] = ()) -> Iterator[ScoredDoc]:
        """The query's lines, best first.

        order   positions in the head
        scores  `own`: those given, of the head's documents in this order, and of the tail's; `rank`: 1 / rank, which says no
                more than the rank; `candidates`: the document at rank r takes the score that the run had at rank r
        tail    `keep` the documents below the depth behind the others in their order, or `drop` them
        """
        behind = self.tail if tail == "keep" else []
        given = {"own": own, "rank": [1 / rank for rank in range(1, len(order) + len(behind) + 1)]}
        ranked = [self.head[position] for position in order] + behind
        values = given.get(scores, [doc.score for doc in self.head + behind])
        return (doc._replace(score=value) for doc, value in zip(ranked, values, strict=True))


def read_candidates(part: Part, depth: int) -> list[Candidates]:
    """Every query of the run, in its order; all that is missing is said at once.

    Raises ToolkitError for a depth without meaning, two topics of one id, queries that are not among the topics, a document
    twice in a query, and documents without text.
    """
    check_counts(depth=depth)
    known = check_queries(part.run, part.topics)
    check_repeats(part.run)
    check_texts(wanted_ids(part.run, depth), part.texts, part.place)
    return [Candidates(known[query_id], docs[:depth], docs[depth:]) for query_id, docs in part.run.rankings()]


def check_choices(scores: str, tail: str, known: Sequence[str] = SCORES) -> None:
    """ToolkitError for other scores or tails than there are."""
    for name, value, choices in (("scores", scores, known), ("tail", tail, TAILS)):
        if value not in choices:
            raise ToolkitError(f"{name} is {value!r}", f"known: {', '.join(choices)}")


def check_queries(run: Run, topics: Sequence[Topic]) -> dict[str, Topic]:
    """The topics by id; ToolkitError for two of one id, and for queries of the run that are not among them."""
    known = topics_by_id(topics)
    check_among(run.query_ids, known, run.source or "the run")
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
