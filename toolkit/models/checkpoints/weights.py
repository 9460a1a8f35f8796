"""Which weights a checkpoint has: their digest for records, compared with what the hub listed when they were fetched."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.files.store.digests import file_sha256, read_digests
from toolkit.models.checkpoints.hub import OTHERS, commits_of


def origin_of(*folders: Path) -> dict[str, Any]:
    """What a record says of what is loaded from these folders: `commits` (repository -> commit) of the hub's, and `weights`.

    weights  SHA-256 of the safetensors: of the file where there is one, else of the lines that sha256sum prints of them, folder
             after folder and in the order of their names

    Raises ToolkitError where a file of a fetched checkpoint is not the one that was fetched.
    """
    files = [file for folder in dict.fromkeys(folders) for file in _weights(folder)]
    lines = "".join(f"{digest}  {name}\n" for digest, name in files)
    weights = files[0][0] if len(files) == 1 else hashlib.sha256(lines.encode()).hexdigest()
    commits = commits_of(*folders)
    return {**({"commits": commits} if commits else {}), "weights": weights}


def weight_files(folder: Path) -> list[Path]:
    """The safetensors that a folder is loaded from: those of its modules too, no other format's and no second copy."""
    paths = (path for path in folder.rglob("*.safetensors") if path.is_file())
    return sorted(path for path in paths if not OTHERS.fullmatch(path.relative_to(folder).as_posix()))


def _weights(folder: Path) -> Iterator[tuple[str, str]]:
    listed = read_digests(folder)
    for path in weight_files(folder):
        name, digest = path.relative_to(folder).as_posix(), file_sha256(path)
        if listed.get(name, digest) != digest:
            message = f"{path} is not the file that was fetched: SHA-256 {digest[:12]}, expected {listed[name][:12]}"
            raise ToolkitError(message, f"remove {folder} and fetch it again; is the disk sound?", status=1)
        yield digest, name
