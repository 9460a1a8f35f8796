"""What a registered run rests on, as digests that do not depend on the order of files or lines."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.datasets import Selection, find, load, resolve_topics
from toolkit.datasets.recorded_topics import references
from toolkit.files.provenance import topics_digest
from toolkit.files.texts.lines import read_bytes


def selection_of(reference: str) -> Selection:
    """The part of a benchmark that a name or a folder means; ToolkitError where it means none."""
    selection = find(reference)
    if selection is None:
        hint = "a regression needs topics and judgments: `tandem benchmarks new` makes a folder of yours a benchmark"
        raise ToolkitError(f"{reference} is no benchmark", hint)
    return selection


def benchmark_facts(reference: str) -> dict[str, Any]:
    """Name, number of queries, digests of topics and judgments: what an entry says of its benchmark; of one that is not
    registered its folder as well."""
    topics, selection = resolve_topics(reference).topics, selection_of(reference)
    folder = {"folder": selection.benchmark} if os.path.isabs(selection.benchmark) else {}
    digests = {"topics": topics_digest(topics), "qrels": qrels_digest(selection)}
    return {"name": selection.name, **folder, "queries": len(topics), **digests}


def reference_of(benchmark: Mapping[str, Any]) -> str:
    """What finds the benchmark of an entry again: its name, or its folder and the part of it."""
    [reference] = references(benchmark)
    return reference


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


def corpus_digest(corpus: Mapping[str, Any]) -> str:
    """Of what an index was made of, as its record says: of its documents, or of the files that they stood in."""
    return corpus.get("content") or corpus["sha256"]


def run_lines(path: Path, modes: Sequence[str] = ()) -> bytes:
    """The lines of a run file as they stand, decompressed; only those of these modes, where some are named."""
    lines = read_bytes(path).splitlines(keepends=True)
    if modes:
        lines = [line for line in lines if line.split(None, 1)[0].endswith(tuple(f"-{mode}".encode() for mode in modes))]
    return b"".join(lines)


def sha256(data: bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
