"""Where a fused run comes from: the runs it was made of, and what their metadata agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.core.progress import say
from toolkit.core.runs import Run
from toolkit.formats import metadata_path, read_metadata
from toolkit.formats.provenance import file_digest, metadata_of

SHARED = ("test collection", "topics")


def input_facts(path: str, run: Run) -> dict[str, Any]:
    """What is to be said of a run that is fused, under `facts`, and under `metadata` what stands beside its file.

    Metadata that are another run's are left out, which is said. Raises ToolkitError where they cannot be read.
    """
    facts = {"file": Path(path).name, "tag": run.tag, "queries": len(run.query_ids), "lines": len(run)}
    if not Path(path).is_file():  # standard input, a pipe
        return {"facts": facts, "metadata": {}}
    facts["sha256"] = file_digest(Path(path))
    metadata = read_metadata(path) or {}
    if metadata and _part(metadata, "data", "run").get("sha256") != facts["sha256"]:
        say(f"note: {metadata_path(path)} is not of this run: left out")
        metadata = {}
    return {"facts": facts, "metadata": metadata}


def fused_metadata(
    run: Run, inputs: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any], file: Path, seconds: float
) -> dict[str, Any]:
    """The mapping for `write_metadata`: the steps of all runs and the fusion; every index; topics if all have the same.

    inputs      what `input_facts` said of each run
    parameters  of the fusion, the method among them
    seconds     wall time of all of it
    """
    told = [each["metadata"] for each in inputs]
    steps = [step for metadata in told for step in _part(metadata, "method").get("retrieval", ())]
    tags = [each["facts"]["tag"] for each in inputs]
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()}
    fusion = {"name": run.tag, **plain, "interpolates": tags}
    data = {name: part for name in SHARED if (part := _agreed([_part(metadata, "data").get(name) for metadata in told]))}
    if indexes := _every([_part(metadata, "data").get("indexes", ()) for metadata in told]):
        data["indexes"] = indexes
    data["runs"] = [dict(each["facts"]) for each in inputs]
    return metadata_of(run, tag=run.tag, method={"retrieval": [*steps, fusion]}, data=data, file=file, seconds=seconds)


def _part(metadata: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """What lies under these names; empty where there is no mapping."""
    part: Any = metadata
    for name in names:
        part = part.get(name) if isinstance(part, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _agreed(values: Sequence[Any]) -> Any:
    """The value that all of them are; None where they differ."""
    return values[0] if all(value == values[0] for value in values) else None


def _every(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """What is in any of the lists, each once, in the order in which it comes first."""
    found: list[Any] = []
    for value in (value for values in lists for value in values):
        if value not in found:
            found.append(value)
    return found
