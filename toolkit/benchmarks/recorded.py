"""The topics that a run was made with, as the metadata beside it say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkit.benchmarks.names import TopicSet, find, resolve_topics
from toolkit.core.errors import ToolkitError
from toolkit.formats.metadata import read_metadata
from toolkit.formats.provenance import topics_digest

HINT = "name them with --topics"


def recorded_topics(source: str | Path) -> TopicSet:
    """The topics that the metadata beside a run's file name.

    Raises ToolkitError where nothing names any, where they are not found by that name, and where they have changed since.
    """
    metadata = read_metadata(source) if str(source) != "-" else None
    recorded = _part(_part(metadata, "data"), "topics")
    if "name" not in recorded:
        raise ToolkitError(f"nothing says which topics {source} was made with", HINT)
    try:
        name = recorded["name"]
        found = resolve_topics(name if find(name) else name.split("+"))
    except ToolkitError as error:
        message = f"{source} was made with topics {recorded['name']}, which are not found by that name"
        raise ToolkitError(message, HINT) from error
    if topics_digest(found.topics) != recorded.get("sha256"):
        raise ToolkitError(f"{source} was made with other topics than {recorded['name']} has now", HINT)
    return found


def _part(metadata: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    """A part of metadata; empty where they have none, or another tool's something else."""
    part = (metadata or {}).get(name)
    return part if isinstance(part, Mapping) else {}
