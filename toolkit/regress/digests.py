"""What a registered run rests on, as digests that do not depend on the order of files or lines."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolkit.benchmarks import Selection, find, load, resolve_topics
from toolkit.core.errors import ToolkitError
from toolkit.formats.lines import read_bytes
from toolkit.provenance import topics_digest


def selection_of(name: str) -> Selection:
    """The part of a benchmark of ours that a name means; ToolkitError where it means none."""
    selection = find(name)
    if selection is None:
        hint = "a regression needs topics and judgments that anybody has"
        raise ToolkitError(f"{name} is no benchmark of the registry", hint)
    return selection


def benchmark_facts(name: str) -> dict[str, Any]:
    """Name, number of queries, digests of topics and judgments: what an entry says of its benchmark."""
    topics = resolve_topics(name).topics
    return {"name": name, "queries": len(topics), "topics": topics_digest(topics), "qrels": qrels_digest(selection_of(name))}


def qrels_digest(selection: Selection) -> str:
    """SHA-256 over the sorted judgments, `query_id iteration doc_id relevance` and a newline each."""
    benchmark = load(selection.benchmark)
    rows = sorted(
        f"{row.query_id} {row.iteration} {row.doc_id} {row.relevance}\n"
        for group in selection.groups
        for mode in selection.modes or ("",)
        for row in benchmark.qrels(group, mode)
    )
    return hashlib.sha256("".join(rows).encode()).hexdigest()


def run_lines(path: Path, modes: Sequence[str] = ()) -> bytes:
    """The lines of a run file as they stand, decompressed; only those of these modes, where some are named."""
    lines = read_bytes(path).splitlines(keepends=True)
    if modes:
        lines = [line for line in lines if line.split(None, 1)[0].endswith(tuple(f"-{mode}".encode() for mode in modes))]
    return b"".join(lines)


def sha256(data: bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
