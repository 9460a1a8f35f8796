"""The record of a run that was converted: that of the file it was made of, which file it was, and its digest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolkit.core.files import is_stream
from toolkit.core.runs import Run
from toolkit.provenance import Recorded, file_digest, part, write_record


def converted_record(recorded: Recorded[Any]) -> dict[str, Any]:
    """The record of a run's file, for the same run in another form; call it before that is written, perhaps in its place."""
    if not recorded.sha256:
        return {}
    facts = {"file": Path(recorded.source).name, "sha256": recorded.sha256}
    data = {**part(recorded.record, "data"), "run": {"converted from": {**part(recorded.record, "data", "run"), **facts}}}
    return {**recorded.record, "data": data}


def write_converted_record(record: dict[str, Any], run: Run, output: str | Path) -> None:
    """Write `converted_record` beside the file that was made; nothing beside standard output, a pipe or a device."""
    if is_stream(output):
        return
    made = {"file": Path(output).name, "sha256": file_digest(Path(output))}
    counts = {"queries": len(run.query_ids), "lines": len(run)}
    data = {**part(record, "data"), "run": {**made, **counts, **part(record, "data", "run")}}
    write_record(output, {**record, "tag": run.tag, "data": data})
