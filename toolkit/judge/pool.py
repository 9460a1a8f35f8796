"""What is judged: the best documents of each question, each with every perspective of the question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolkit.benchmarks import TopicSet
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, check_counts, three
from toolkit.core.runs import Run
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import doc_input
from toolkit.core.topics import Topic, check_among, topics_by_id
from toolkit.models.judges import Pair
from toolkit.texts import Texts, check_texts

NOTHING = "-"  # stands for a document where a question has none: its perspectives are to be counted all the same


class Row(NamedTuple):
    """One line of the qrels to be. pair: what the judge is asked; None where the question has no document."""

    query_id: str
    subtopic: str
    doc_id: str
    pair: Pair | None


def pool(runs: Sequence[Run], depth: int) -> dict[str, list[str]]:
    """query id -> the documents among the best `depth` of any run, those of the best ranks first.

    Raises ToolkitError for a depth without meaning.
    """
    check_counts(depth=depth)
    best: dict[str, dict[str, tuple[int, int]]] = {}
    for number, run in enumerate(runs):
        for query_id, docs in run.head(depth).rankings():
            known = best.setdefault(query_id, {})
            for rank, doc in enumerate(docs):
                place = (rank, number)
                known[doc.doc_id] = min(place, known.get(doc.doc_id, place))
    return {query_id: sorted(docs, key=docs.__getitem__) for query_id, docs in best.items()}


def rows_of(pooled: dict[str, list[str]], topics: TopicSet, texts: Texts, spec: SystemSpec) -> list[Row]:
    """What is to be judged: question by question, document by document, perspective by perspective.

    A question without documents has one row a perspective, of document `-`. Raises ToolkitError for queries that are not
    among the topics, topics without perspectives, and documents without text.
    """
    check_topics(topics.topics)
    check_among(pooled, {topic.query_id for topic in topics.topics}, topics.name)
    rows = []
    for part in topics.parts:
        documents = _texts(pooled, part.topics, texts, part.group)
        shown = {doc_id: doc_input(spec.templates, doc).whole for doc_id, doc in documents.items()}
        for topic in part.topics:
            rows += _rows(topic, pooled.get(topic.query_id, []), shown)
    return rows


def check_topics(topics: Sequence[Topic]) -> None:
    """Raise ToolkitError for topics without perspectives, and for an id that comes twice."""
    topics_by_id(topics)
    if without := [topic.query_id for topic in topics if not topic.perspectives]:
        message = f"{len(without)} of {len(topics)} topics name no perspectives ({three(without)})"
        raise ToolkitError(
            message, "BERDS has them; in a file of your own: JSON lines with `perspectives`, a list of statements"
        )


def _texts(pooled: dict[str, list[str]], topics: Sequence[Topic], texts: Texts, group: str) -> dict[str, Doc]:
    wanted = sorted({doc_id for topic in topics for doc_id in pooled.get(topic.query_id, ())}, key=str.encode)
    if not wanted:
        return {}
    source = texts(group)
    documents = source.find(wanted)
    check_texts(wanted, documents, source.place)
    return documents


def _rows(topic: Topic, doc_ids: Sequence[str], shown: dict[str, str]) -> Iterator[Row]:
    for doc_id in doc_ids or [NOTHING]:
        for number, statement in enumerate(topic.perspectives, 1):
            pair = Pair(shown[doc_id], statement) if doc_ids else None
            yield Row(topic.query_id, str(number), doc_id, pair)
