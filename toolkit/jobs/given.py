"""What a user gives, from the command line or in Python, as jobs take it: topics and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicPart, TopicSet, resolve_topics
from toolkit.core.errors import ToolkitError
from toolkit.provenance import Recorded, read_recorded
from toolkit.steps import Made

TOPICS = (
    "topics are a name, a file, several of them, a DataFrame (query_id, query, instruction, ...), {query_id: text}, or Topics"
)


def given_topics(value: Any) -> TopicSet:
    """The topics of a name or file, of several, or those that a DataFrame, a mapping or a list holds.

    Raises ToolkitError for anything else, for what is not found, and for an id that comes twice.
    """
    if isinstance(value, TopicSet):
        return value
    if isinstance(value, str | Path):
        return resolve_topics(str(value))
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("records")
    if isinstance(value, Mapping):
        value = [{"query_id": query_id, "query": text} for query_id, text in value.items()]
    if not isinstance(value, Sequence) or not value:
        raise ToolkitError(f"no topics: {type(value).__name__}", TOPICS)
    if all(isinstance(one, str | Path) for one in value):
        return resolve_topics([str(one) for one in value])
    from toolkit.formats.topics import topics_from_rows

    return TopicSet("topics", [TopicPart("all", topics_from_rows(value))], None)


def given_run(value: Any) -> Made:
    """A run's file with what its record says, or a run in any form of `toolkit.formats.conversion.as_run`."""
    if isinstance(value, Made):
        return value
    return made_of(recorded_run(value))


def recorded_run(value: Any) -> Recorded:
    """The same as a file's content with its record; a run in memory has none."""
    from toolkit.formats.conversion import as_run, read_run

    return read_recorded(value, read_run) if isinstance(value, str | Path) else Recorded("", as_run(value))


def made_of(recorded: Recorded) -> Made:
    """What was read, as steps take it."""
    source = recorded.source or recorded.content.source or "the run given"
    return Made(recorded.content, recorded.provenance, source, recorded.facts)
