"""Writing down what an index was built from, `tandem.yaml` in its folder, and whether that is still so."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

from toolkit import __version__
from toolkit.core.files import open_output
from toolkit.formats.indexes import FORMAT, NAME


def write_index_record(folder: Path, record: dict[str, Any], command: str, started: float, **libraries: Any) -> None:
    """Write a record, with the SHA-256 of each file of the index, and how it was made.

    command    what makes it again
    started    when that began, in seconds since the epoch
    libraries  name -> version, of what made it; `implementation` of the record may name more
    """
    import yaml

    made = {"command": command, "tandem-ir": __version__, **libraries, "wall time": round(time.time() - started, 1)}
    implementation = {**record.get("implementation", {}), **made}
    whole = {"format": FORMAT, **record, "implementation": implementation, "files": file_digests(folder)}
    with open_output(folder / NAME) as out:
        out.write(yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=1 << 16).encode())


def file_digests(folder: Path) -> dict[str, str]:
    """File name -> SHA-256 of each file of an index but the record."""
    digests = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name != NAME:
            with path.open("rb") as file:
                digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def verify_files(folder: Path, record: dict[str, Any]) -> list[str]:
    """What is not as it was when the index was written: one line a file; empty where all is well."""
    actual, expected = file_digests(folder), record["files"]
    problems = [f"{name}: missing" for name in expected if name not in actual]
    problems += [f"{name}: not part of the index" for name in actual if name not in expected]
    problems += [f"{name}: changed" for name, digest in expected.items() if actual.get(name, digest) != digest]
    return problems
