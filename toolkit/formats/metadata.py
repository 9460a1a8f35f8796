"""The metadata of a run, `<run>.yaml` beside it: the parts of ir_metadata (Breuer et al. 2022), as a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_output

# the order of ir_metadata's parts (https://www.ir-metadata.org); others follow by name
PARTS = ("tag", "actor", "platform", "research goal", "implementation", "method", "data")
HINT = "write the run again, or remove the file"


def metadata_path(run_path: str | Path) -> Path:
    """`runs/a.trec` -> `runs/a.trec.yaml`."""
    return Path(f"{run_path}.yaml")


def read_metadata(run_path: str | Path) -> dict[str, Any] | None:
    """The metadata beside a run, None where there is none; ToolkitError where the file is no YAML mapping."""
    import yaml

    path = metadata_path(run_path)
    if not path.exists():
        return None
    try:
        content = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise ToolkitError(f"{path}{place}: not readable as YAML", HINT) from error
    if not isinstance(content, dict):
        raise ToolkitError(f"{path}: expected a mapping, found {type(content).__name__}", HINT)
    return content


def write_metadata(run_path: str | Path, metadata: dict[str, Any]) -> Path:
    """Write the metadata of a run beside it and return its path; known parts first, what is in them stays in its order.

    metadata  plain values only (text, numbers, booleans, None, lists, mappings)
    """
    import yaml

    def place(name: str) -> tuple[int, str]:
        return (PARTS.index(name), "") if name in PARTS else (len(PARTS), name)

    ordered = {name: metadata[name] for name in sorted(metadata, key=place)}
    text = yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=1 << 16)
    path = metadata_path(run_path)
    with open_output(path) as out:
        out.write(text.encode())
    return path


def mapping(metadata: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """What lies under these names; empty where there is no mapping: metadata may be another tool's."""
    part: Any = metadata
    for name in names:
        part = part.get(name) if isinstance(part, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def last_step(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is said of the system that had the last word: the last reranker, or the only one that searched; else empty."""
    method = mapping(metadata, "method")
    for part in ("reranking", "retrieval"):
        steps = method.get(part)
        if isinstance(steps, list) and steps and isinstance(steps[-1], Mapping):
            # several systems that a fusion made one of have no last one
            return {} if part == "retrieval" and method.get("fusion") else steps[-1]
    return {}


def system_name(tag: str, metadata: Mapping[str, Any]) -> str:
    """The name of that system; the tag where nobody says."""
    return str(last_step(metadata).get("name") or tag)
