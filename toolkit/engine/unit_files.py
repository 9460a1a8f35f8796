"""What workers and the process that gives them units share: a folder of unit and result files, and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.files import atomic_path
from toolkit.core.yaml_json import Malformed, decode_json

SEEN_LATE = 60.0  # seconds until a file of another node is seen: NFS remembers for so long that there was none


class UnitFiles:
    """The units of one kind of work, in a folder that every worker sees.

    A result is named by the SHA-256 of its unit, and the folder by the identity of the work: what is there is the result of
    that very unit, whoever computed it and whenever.
    """

    def __init__(self, folder: Path, identity: Any):
        self.folder = folder / digest_of(packed_text(identity))[:16]

    def send(self, number: int, text: str) -> Path:
        """Write a packed unit; the file that a worker reads it from."""
        path = self.folder / f"unit-{number:06d}.json"
        write_text(path, text)
        return path

    def result_path(self, digest: str) -> Path:
        """Where the result of a unit lies, or will."""
        return self.folder / f"{digest}.json"

    def read(self, digest: str) -> Any:
        """The packed result of a unit; None where it is not there, or damaged: it is computed again."""
        try:
            return read_packed(self.result_path(digest))
        except (FileNotFoundError, ValueError):
            return None

    def await_result(self, digest: str) -> Any:
        """The packed result that a worker has written; a shared folder may show it late."""
        path, until = self.result_path(digest), time.monotonic() + SEEN_LATE
        while not path.exists():
            if time.monotonic() > until:
                hint = "name an output in a folder that all nodes share"
                raise ToolkitError(f"{path} was written by a worker and is not there", hint, status=1)
            time.sleep(0.1)
            os.listdir(path.parent)  # NFS asks its server again
        return read_packed(path)


def packed_text(packed: Any) -> str:
    """Plain values as JSON; numbers are read back as they were, bit by bit."""
    return json.dumps(packed, separators=(",", ":"), sort_keys=True)


def digest_of(text: str) -> str:
    """SHA-256 of a packed unit."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write a file that is complete or not there."""
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8")


def read_unit(path: Path, digest: str) -> Any:
    """A packed unit. Malformed where it is not the one that was sent: a folder that is seen late or partly."""
    text = path.read_text(encoding="utf-8")
    if digest_of(text) != digest:
        raise Malformed(f"{path} is not the unit that was sent")
    return decode_json(text, halves=True)


def read_packed(path: Path) -> Any:
    """What a file holds. Raises FileNotFoundError and Malformed."""
    return decode_json(path.read_text(encoding="utf-8"), halves=True)
