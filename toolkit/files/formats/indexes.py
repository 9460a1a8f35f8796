"""What an index was built from, `tandem.yaml` in its folder, for all who open one."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolkit import __version__
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.files import sha256_of, write_text
from toolkit.core.system.yaml_json import dump_yaml, read_yaml
from toolkit.core.templates import template_digest

NAME = "tandem.yaml"
FORMAT = 1
BM25_ARRAYS = "bm25.json"  # in a Lucene index's folder: what the arrays beside it are made for
KINDS = {dict: "mapping", list: "list", str: "text", int: "whole number", bool: "true or false"}
# what a record says where it says it, of an index and of vectors
TYPES = {
    **dict.fromkeys(
        ("kind", "language", "system", "recipe", "revision", "template", "passages", "similarity", "checkpoint"), str
    ),
    **dict.fromkeys(("precision", "factory", "tuning", "weights", "digest", "side"), str),
    **dict.fromkeys(("commits", "implementation"), dict),  # the others are compared by `tandem index verify`
    **dict.fromkeys(("documents", "empty", "skipped", "questions", "dimension", "centroids", "rows", "shard_size"), int),
    "complete": bool,
    "shards": list,
}


def read_index_record(folder: Path) -> dict[str, Any] | None:
    """The record of an index, None where it has none (one made elsewhere). ToolkitError where it cannot be read."""
    path = folder / NAME
    if not path.exists():
        return None
    record = read_yaml(path, dict, "rebuild the index")
    if record.get("format") != FORMAT:
        raise ToolkitError(f"{path} is of another version of Tandem", "rebuild the index")
    for name, kind in TYPES.items():
        if name in record and not isinstance(record[name], kind):
            raise ToolkitError(f"{path}: {name} is {str(record[name])[:60]!r}, no {KINDS[kind]}", "rebuild the index")
    return record


def write_index_record(folder: Path, record: dict[str, Any], command: str, started: float, **libraries: Any) -> None:
    """Write a record, with the SHA-256 of each file of the index, and how it was made: since `started`, by these versions."""
    made = {"command": command, "tandem-ir": __version__, **libraries, "wall time": round(time.time() - started, 1)}
    facts = {"format": FORMAT, **record, "implementation": {**record.get("implementation", {}), **made}}
    write_yaml_record(folder, {**facts, "files": file_digests(folder)})


def write_yaml_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write `tandem.yaml` as it is given."""
    write_text(folder / NAME, dump_yaml(dict(record)))


def file_digests(folder: Path) -> dict[str, str]:
    """File name -> SHA-256 of each file of an index but the record, and hidden ones: `.DS_Store`, `.nfs...`."""
    names = (path for path in sorted(folder.iterdir()) if path.name != NAME and not path.name.startswith("."))
    return {path.name: sha256_of(path) for path in names if path.is_file()}


def verify_files(folder: Path, record: dict[str, Any]) -> list[str]:
    """What is not as it was when the index was written: one line a file; empty where all is well."""
    actual, expected = file_digests(folder), record["files"]
    problems = [f"{name}: missing" for name in expected if name not in actual]
    problems += [f"{name}: not part of the index" for name in actual if name not in expected]
    problems += [f"{name}: changed" for name, digest in expected.items() if actual.get(name, digest) != digest]
    return problems


def system_facts(spec: SystemSpec) -> dict[str, str]:
    """What vectors and indexes record of the system that made them.

    system, recipe, revision, similarity
    template   the digest of all its templates and parameters
    passages   of those alone that shape the vectors of documents: indexes that agree in it have the same vectors
    """
    templates = {name: template for name, template in spec.templates.items() if name not in ("query", "plain", "instruction")}
    parameters = {name: value for name, value in spec.parameters.items() if not name.startswith("query_")}
    passages = template_digest(replace(spec, templates=templates, parameters=parameters))
    facts = {"system": spec.name, "recipe": spec.recipe, "revision": spec.revision, "template": template_digest(spec)}
    return {**facts, "passages": passages, "similarity": str(spec.parameters.get("similarity", ""))}


def made_with(record: Mapping[str, Any], spec: SystemSpec) -> bool:
    """Whether an index with this record holds the vectors that this system makes of its documents."""
    return not _differences(record, spec)


def check_made_with(index: str | Path, record: Mapping[str, Any], spec: SystemSpec) -> None:
    """Raise ToolkitError where an index holds the vectors of another system, revision or similarity, or of a recipe or
    template that sends documents in another form. How queries are sent is free.

    index  what to call it
    """
    for name, recorded, wanted in _differences(record, spec):
        maker = " with recipe ".join(filter(None, (record.get("system", "an unknown system"), record.get("recipe"))))
        hint = f"search it with {maker} as it was then, or index the documents again"
        raise ToolkitError(f"index {index} was made with {name} {_shown(recorded)}, not {_shown(wanted)}", hint)


def _differences(record: Mapping[str, Any], spec: SystemSpec) -> list[tuple[str, str, str]]:
    """(name, recorded, wanted) where a system does not fit an index; a recipe before the digests that follow from it."""
    expected = system_facts(spec)
    same = any(record.get(name) == expected[name] for name in ("passages", "template"))
    names = ("system", "revision", "similarity", *(() if same else ("recipe", "template")))
    differ = [(name, str(record.get(name, "")), expected[name]) for name in names]
    return [(name, recorded, wanted) for name, recorded, wanted in differ if recorded != wanted]


def _shown(value: str) -> str:
    """A digest's first digits; what is empty in words."""
    return value[:12] if len(value) == 64 else value or "none"
