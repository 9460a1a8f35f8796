"""A run that is made of another one: what its metadata take over, and what they add."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.progress import say
from toolkit.core.runs import Run
from toolkit.formats.metadata import metadata_path, read_metadata
from toolkit.formats.provenance import file_digest, metadata_of

TAKEN_OVER = ("test collection", "topics", "indexes")


class Origin(NamedTuple):
    """A run as it was found, before anything is written, perhaps to the same place.

    facts         file, digest and counts
    method, data  what its own metadata say; empty where it has none
    """

    facts: dict[str, Any]
    method: Mapping[str, Any]
    data: Mapping[str, Any]


def origin_of(source: str, run: Run) -> Origin:
    """What is known of a run that was read from `source`; metadata that are another run's are left out, which is said."""
    counts = {"tag": run.tag, "queries": len(run.query_ids), "lines": len(run)}
    if not Path(source).is_file():  # standard input, a pipe
        return Origin({"of": "standard input", **counts}, {}, {})
    facts = {"file": Path(source).name, "sha256": file_digest(Path(source)), **counts}
    metadata = read_metadata(source) or {}
    data = _mapping(metadata, "data")
    if metadata and _mapping(data, "run").get("sha256") != facts["sha256"]:
        say(f"note: {metadata_path(source)} is not of this run: left out")
        return Origin(facts, {}, {})
    return Origin(facts, _mapping(metadata, "method"), data)


def derived_metadata(
    run: Run, origin: Origin, step: str, report: Mapping[str, Any], *, file: Path, seconds: float
) -> dict[str, Any]:
    """The mapping for `write_metadata`: the steps of the run it was made of, then this one.

    step    what kind of step it is (`diversification`); a run may have gone through several of one kind
    report  what is to be said of it
    """
    method = {**origin.method, step: [*origin.method.get(step, ()), dict(report)]}
    data = {name: origin.data[name] for name in TAKEN_OVER if name in origin.data} | {"made of": origin.facts}
    return metadata_of(run, tag=run.tag, method=method, data=data, file=file, seconds=seconds)


def _mapping(metadata: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of metadata; empty where they have none, or another tool's something else."""
    part = metadata.get(name)
    return part if isinstance(part, Mapping) else {}
