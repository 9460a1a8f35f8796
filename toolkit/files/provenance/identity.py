"""What tells a file, topics or a model from all others: digests, and the identity of a model."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.files import open_input
from toolkit.core.system.python_names import PYTHON, find_source
from toolkit.core.templates import template_digest
from toolkit.core.topics import Topic
from toolkit.files.store.digests import file_sha256


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, decompressed."""
    with open_input(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def topics_facts(name: str, topics: Sequence[Topic], folder: str = "") -> dict[str, Any]:
    """What a record says of topics: their name, the folder that their benchmark lies in, how many there are, their digest."""
    facts = {"name": name, **({"folder": folder} if folder else {})}
    return {**facts, "queries": len(topics), "sha256": topics_digest(topics)}


def topics_digest(topics: Sequence[Topic]) -> str:
    """SHA-256 over id, tab, text, newline of each topic in their order: what the system was given."""
    digest = hashlib.sha256()
    for topic in topics:
        digest.update(f"{topic.query_id}\t{topic.text}\n".encode())
    return digest.hexdigest()


def model_identity(
    spec: SystemSpec, *, commits: Mapping[str, str] | None = None, precision: str = "", template: bool = True
) -> dict[str, Any]:
    """All that what a model gives depends on beside its input: the one description of a model in records, caches, vectors and
    keys of partial results.

    commits    repository -> commit, of what was resolved at the hub
    precision  the dtype that it computes with, by its short name
    template   with what is sent: False where the input is the finished prompt

    A checkpoint is its repository and pinned revision; one that lies in a folder is the digest of its files (`files`); an
    object of Python its module, what makes it (`factory`), and as `revision` the SHA-256 of its `modules`. The passages' own
    checkpoint and an adapter's base are parts of it.
    """
    if not spec.checkpoint:
        facts = {"model": spec.parameters["model"]} if "model" in spec.parameters else {}
        return facts | ({"template digest": template_digest(spec)} if template and spec.templates else {})
    facts: dict[str, Any] = {"checkpoint": spec.checkpoint, "revision": spec.revision or "not pinned"}
    if spec.is_python:
        module, _, factory = spec.checkpoint.removeprefix(PYTHON).partition(":")
        facts |= {"module": module, "factory": factory}
        with suppress(ToolkitError):  # an object that was passed itself may come from no module that can be found
            source = find_source(spec.checkpoint)
            if source.sha256 in spec.revision and len(source.files) > 1:  # whose digest is the revision
                facts["modules"] = list(source.files)
    if spec.passage_checkpoint:
        facts["passage checkpoint"] = spec.passage_checkpoint
    if spec.base:
        facts |= {"base": spec.base, "base revision": spec.base_revision or "not pinned"}
    folders = [Path(name).expanduser() for name in (spec.checkpoint, spec.passage_checkpoint, spec.base) if name]
    if local := [folder for folder in folders if folder.is_dir() or folder.suffix == ".gguf"]:
        facts["files"] = _digest_of_files(local)
    facts |= {"commits": dict(commits)} if commits else {}
    facts |= {"precision": precision} if precision else {}
    return facts | ({"template digest": template_digest(spec)} if template else {})


def _digest_of_files(folders: Sequence[Path]) -> str:
    """SHA-256 over relative names and digests of all files in some folders."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(path for path in (folder.rglob("*") if folder.is_dir() else [folder]) if path.is_file()):
            name = path.relative_to(folder) if path != folder else path.name
            digest.update(f"{name} {file_sha256(path)}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()
