"""Topics to what a model makes of them, one result a topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input, topic_input
from toolkit.core.topics import Topic
from toolkit.formats.indexes import check_made_with
from toolkit.search import check_ids


class Encoder(Protocol):
    """Late interaction or learned sparse, see `toolkit.models.encoders.sentence`."""

    cut: dict[str, int]
    lost: int
    commits: dict[str, str]

    def encode(self, inputs: Sequence[Input], side: str) -> list[Any]:
        """One result an input."""


def check_made_by(index: Path, record: Mapping[str, Any], spec: SystemSpec, encoder: Encoder) -> None:
    """Raise ToolkitError where an index was made with another system (`check_made_with`), or with another commit of the same.

    A revision that is not pinned is whatever is newest on the day.
    """
    check_made_with(index, record, spec)
    for repository, commit in record.get("commits", {}).items():
        if encoder.commits.get(repository, commit) != commit:
            message = f"index {index} was made with {repository} at {commit[:12]}, not {encoder.commits[repository][:12]}"
            raise ToolkitError(message, "index the documents anew; an entry that pins its `revision` keeps to one commit")


def encode_queries(topics: Sequence[Topic], spec: SystemSpec, encoder: Encoder, *, hits: int, threads: int) -> dict[Input, Any]:
    """What the model makes of each different query, by what it was sent; truncated queries are noted.

    Raises ToolkitError for no topics, two of one id, and a search without hits or threads.
    """
    if not topics:
        raise ToolkitError("there are no topics to search for", "check the file")
    check_ids(topics)
    if hits < 1 or threads < 1:
        raise ToolkitError(f"hits is {hits}, threads is {threads}", "both are whole numbers from 1 on")
    truncated, lost = encoder.truncated["query"], encoder.lost
    inputs = list(dict.fromkeys(topic_input(spec.templates, topic) for topic in topics))
    queries = dict(zip(inputs, encoder.encode(inputs, "query"), strict=True))
    if truncated := encoder.truncated["query"] - truncated:
        say(f"note: {truncated} of {len(inputs)} different queries are longer than the model's limit and were truncated")
    if lost := encoder.lost - lost:
        say(f"note: {lost} of {len(inputs)} different queries have a core query that is fully truncated")
    return queries
