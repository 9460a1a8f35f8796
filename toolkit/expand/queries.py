"""One query for each perspective of a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.core.errors import ToolkitError, three
from toolkit.core.topics import Topic

FORMS = ("perspective", "question+perspective")

Perspectives = Mapping[str, Sequence[str]]  # query id -> texts


def expand_topics(topics: Sequence[Topic], perspectives: Perspectives, query: str = "perspective") -> list[Topic]:
    """A topic for each perspective of each question, with the id `<question>.<n>`, n from 1 in their order.

    query  `perspective`, its text alone (the paper), or `question+perspective`: question, one blank, perspective (the release)

    Raises ToolkitError where a question has no perspectives.
    """
    if query not in FORMS:
        raise ToolkitError(f"query is {query!r}", f"known: {', '.join(FORMS)}")
    if without := [topic.query_id for topic in topics if not perspectives.get(topic.query_id)]:
        message = f"{len(without)} of {len(topics)} questions have no perspectives ({three(without)})"
        raise ToolkitError(message, "take them from elsewhere with --from: a file, or a system that writes them")
    expanded = []
    for topic in topics:
        for number, text in enumerate(perspectives[topic.query_id], start=1):
            sent = text if query == "perspective" else f"{topic.query or topic.text} {text}"
            ids = {"group_id": topic.query_id, "original_id": topic.original_id}  # the question's: its corpus has one of them
            expanded.append(Topic(f"{topic.query_id}.{number}", sent, query=sent, **ids))
    return expanded


def given_perspectives(topics: Sequence[Topic]) -> dict[str, tuple[str, ...]]:
    """The benchmark's own, those that documents are judged by."""
    return {topic.query_id: topic.perspectives for topic in topics}


def sizes(perspectives: Perspectives) -> dict[str, Any]:
    """How many and how long they are: `questions`, `perspectives` (mean over questions), `words` (mean over perspectives)."""
    texts = [text for each in perspectives.values() for text in each]
    words = sum(len(text.split()) for text in texts)
    return {
        "questions": len(perspectives),
        "perspectives": len(texts) / len(perspectives) if perspectives else 0.0,
        "words": words / len(texts) if texts else 0.0,
    }
