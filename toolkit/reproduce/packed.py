"""A reproduction as one archive that others can check: runs, records, judgments and the comparison, with a manifest."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from toolkit import __version__
from toolkit.core.errors import ToolkitError
from toolkit.core.files import atomic_path
from toolkit.core.yaml_json import read_json
from toolkit.provenance import file_digest

MANIFEST = "manifest.json"
SUFFIXES = (".trec", ".qrels", ".yaml", ".csv")
DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that the format has: the same files are the same archive


def manifest_of(folder: Path, paper: str) -> dict[str, object]:
    """What a folder of a reproduction holds: path -> SHA-256, in order."""
    files = {str(path.relative_to(folder)): file_digest(path) for path in _files(folder)}
    if not files:
        raise ToolkitError(f"{folder} holds no reproduction", "tandem reproduce PAPER first")
    return {"paper": paper, "tandem": __version__, "files": files}


def pack(folder: Path, paper: str, archive: Path) -> int:
    """Write runs, records and comparison as a zip archive with their manifest; the same files give the same bytes.

    Returns how many files are in it.
    """
    manifest = manifest_of(folder, paper)
    with atomic_path(archive) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
        _add(packed, MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False).encode())
        for name in manifest["files"]:
            _add(packed, name, (folder / name).read_bytes())
    return len(manifest["files"])


def _add(packed: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    packed.writestr(entry, data)


def problems(folder: Path) -> Iterator[str]:
    """What of an unpacked archive is not as its manifest says; nothing of a sound one."""
    manifest = read_json(folder / MANIFEST)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise ToolkitError(
            f"{folder / MANIFEST} is no manifest of a reproduction", "tandem reproduce PAPER --export F writes one"
        )
    here = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    for name, digest in manifest["files"].items():
        if name not in here:
            yield f"{name}: missing"
        elif file_digest(here[name]) != digest:
            yield f"{name}: not the file of the manifest"
    for name in sorted(here.keys() - manifest["files"].keys() - {MANIFEST}):
        yield f"{name}: not in the manifest"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())
