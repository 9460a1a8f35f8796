"""The metadata of a run that was made of another file: those of that file, which file it was, and its digest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolkit.core.progress import say
from toolkit.core.runs import Run
from toolkit.formats import metadata_path, read_metadata, write_metadata
from toolkit.formats.lines import read_bytes
from toolkit.runs.check import digest, recorded


def origin(path: str | Path) -> dict[str, Any]:
    """What is to be said of a run made of this file, before it is made: the file may be written over.

    Metadata beside the file go on where they have its digest; where they are another's, that is said.
    Raises ToolkitError where they cannot be read.
    """
    if str(path) == "-":
        return {}
    sha256, metadata = digest(read_bytes(path)), read_metadata(path) or {}
    if metadata and recorded(metadata).get("sha256") != sha256:
        say(f"note: {metadata_path(path)} is not of this run: left out")
        metadata = {}
    facts = {**recorded(metadata), "file": Path(path).name, "sha256": sha256}
    data = {**metadata.get("data", {}), "run": {"converted from": facts}}
    return {**metadata, "data": data}


def keeps_metadata(output: str | Path) -> bool:
    """Whether what was written there is a file that metadata can stand beside: no standard output, pipe or device."""
    return str(output) != "-" and Path(output).is_file()


def write_origin(metadata: dict[str, Any], run: Run, output: str | Path) -> None:
    """Write `origin`'s metadata beside the file that was made of it. What stood there before was another run's."""
    data = metadata.get("data", {})
    facts = {
        "file": Path(output).name,
        "sha256": digest(read_bytes(output)),
        "queries": len(run.query_ids),
        "lines": len(run),
        **data.get("run", {}),
    }
    write_metadata(output, {**metadata, "tag": run.tag, "data": {**data, "run": facts}})
