"""A system's checkpoint on disk: fetched, or written as safetensors that keep what the entry says."""

import shutil
from dataclasses import fields
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.lazy_names import yaml
from toolkit.files.store import new_folder
from toolkit.files.store.digests import DIGESTS, file_sha256
from toolkit.models.checkpoints.local_checkpoints import base_of, locate
from toolkit.models.checkpoints.own_systems import is_own
from toolkit.registry.choice import ENTRY
from toolkit.registry.loader import NOT_INHERITED

PASSAGES = "passages"  # the folder of the passages' own tower


def fetch_checkpoint(spec: SystemSpec, *, trust_remote_code: bool = False) -> list[Path]:
    """All that a system is loaded from, on this machine: downloaded where it is not, as the first use of it would.

    Raises ToolkitError for a system without a checkpoint, and as `toolkit.models.checkpoints.local_checkpoints.locate`.
    """
    if not spec.checkpoint or is_own(spec):
        raise ToolkitError(f"{spec.name} has no checkpoint to fetch", "`tandem systems list` says which systems have")
    folders = [locate(spec, trust_remote_code=trust_remote_code)]
    if spec.passage_checkpoint:
        folders.append(locate(spec, side="passage", trust_remote_code=trust_remote_code))
    return folders + [folder for folder in [base_of(spec)] if folder]


def convert_checkpoint(spec: SystemSpec, target: str | Path) -> Path:
    """Write a system's checkpoint into a new folder, its weights as safetensors, beside them the system's entry.

    The folder is a system: `--system DIR` has the templates, pooling and recipes of the first, and is called
    `<name>-safetensors`. An adapter stays one, of the same base. Raises ToolkitError as `fetch_checkpoint`, and where `target`
    holds something.
    """
    target = Path(target)
    folders = fetch_checkpoint(spec)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ToolkitError(f"{target} is there already", "name a new folder")
    with new_folder(target) as part:
        _copy(folders[0], part)
        if spec.passage_checkpoint:
            _copy(folders[1], part / PASSAGES)
        (part / ENTRY).write_text(_entry(spec, target), encoding="utf-8")
    return target


def _copy(folder: Path, target: Path) -> None:
    """A checkpoint's files as they were when it was fetched or converted."""
    target.mkdir(exist_ok=True)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        relative = path.relative_to(folder)
        if relative.name in (DIGESTS, ENTRY) or len(relative.parts) > 2:
            continue
        (target / relative).parent.mkdir(exist_ok=True)
        shutil.copyfile(path, target / relative)
        if path.suffix == ".safetensors" and file_sha256(path) != file_sha256(target / relative):
            raise ToolkitError(f"{target / relative} is not what {path} is", "is the disk sound?", status=1)


def _entry(spec: SystemSpec, target: Path) -> str:
    """All that the first entry says, so that the folder needs no other file; not what papers report of the first checkpoint."""
    usual = SystemSpec(name="", description="", kind="")
    known = {field.name: getattr(spec, field.name) for field in fields(SystemSpec) if field.name not in NOT_INHERITED}
    entry = {"name": f"{spec.name}-safetensors", "kind": spec.kind, "description": spec.description}
    entry |= {name: value for name, value in known.items() if value != getattr(usual, name)}
    entry |= {"checkpoint": str(target.resolve())}
    if spec.passage_checkpoint:
        entry["passage_checkpoint"] = str(target.resolve() / PASSAGES)
    for name in ("revision", "gated"):  # of the repository: the folder's files are its digest
        entry.pop(name, None)
    at = f" at {spec.revision}" if spec.revision else ""
    entry["notes"] = " ".join(filter(None, [f"Weights of {spec.checkpoint}{at} as safetensors.", spec.notes]))
    return yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=1 << 16)
