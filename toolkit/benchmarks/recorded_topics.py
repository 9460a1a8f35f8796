"""The topics that a run was made with, as its record says."""

from __future__ import annotations

from typing import Any

from toolkit.benchmarks.names import TopicSet, find, resolve_topics
from toolkit.core.errors import ToolkitError
from toolkit.provenance import Recorded, part, topics_digest

HINT = "name them with --topics"


def recorded_topics(recorded: Recorded[Any]) -> TopicSet:
    """The topics that the record of a run names.

    Raises ToolkitError where nothing names any, where they are not found by that name, and where they have changed since.
    """
    source, known = recorded.source, part(recorded.record, "data", "topics")
    if "name" not in known:
        raise ToolkitError(f"nothing says which topics {source} was made with", HINT)
    try:
        name = known["name"]
        found = resolve_topics(name if find(name) else name.split("+"))
    except ToolkitError as error:
        message = f"{source} was made with topics {known['name']}, which are not found by that name"
        raise ToolkitError(message, HINT) from error
    if topics_digest(found.topics) != known.get("sha256"):
        raise ToolkitError(f"{source} was made with other topics than {known['name']} has now", HINT)
    return found
