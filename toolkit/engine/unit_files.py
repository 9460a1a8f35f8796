"""What workers and the process that gives them units share: a place of unit and result files, and nothing else."""

import hashlib
import json
import secrets
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import sha256_of
from toolkit.core.system.yaml_json import Malformed, decode_json
from toolkit.engine.places import SEEN_LATE, Place

MARK, MARKED_LATE = "mark", 5.0  # seconds: nobody has asked for it before


class UnitFiles:
    """The units of one kind of work, in a place that every worker sees.

    A result is named by the SHA-256 of its unit, and the folder by the identity of the work: what is there is the result of
    that very unit, whoever computed it and whenever. Each begins with its own SHA-256.

    place     where all units and results of a job lie
    identity  of the work
    """

    def __init__(self, place: Place, identity: Any):
        self.place = place / digest_of(packed_text(identity))[:16]

    def send(self, number: int, text: str) -> None:
        """Write a packed unit for a worker."""
        self.place.write(_unit(number), text.encode())

    def read_unit(self, number: int, digest: str) -> Any:
        """A packed unit. Malformed where it is not the one that was sent."""
        text = self.place.read(_unit(number), SEEN_LATE).decode()
        if digest_of(text) != digest:
            raise Malformed(f"{_unit(number)} in {self.place} is not the unit that was sent")
        return decode_json(text, halves=True)

    def remove_unit(self, number: int) -> None:
        """Once there is its result."""
        self.place.remove(_unit(number))

    def write_result(self, digest: str, packed: Any, folder: Path | None) -> int:
        """Move what was computed here, the files in `folder` first; how many bytes that is."""
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()] if folder else []
        files, size = {}, 0
        for path in paths:
            name = path.relative_to(folder).as_posix()
            files[name], size = sha256_of(path), size + path.stat().st_size
            self.place.put(f"{digest}/{name}", path)
        text = packed_text({"result": packed, "files": files})
        data = f"{digest_of(text)}\n{text}".encode()
        self.place.write(_result(digest), data)
        return size + len(data)

    def collect(self, digest: str, folder: Path | None, late: float = 0.0) -> None:
        """Move the files of a result into `folder`, where the work has one.

        Raises FileNotFoundError where the result or a file is not there, also not `late` seconds later, and Malformed where
        one is damaged.
        """
        for name, sha256 in self._read(digest, late)["files"].items():
            if folder is None or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise Malformed(f"{_result(digest)} in {self.place} speaks of a file {name}")
            path = folder / name
            if not (path.is_file() and sha256_of(path) == sha256):  # else an interrupted job has moved it
                self.place.take(f"{digest}/{name}", path, sha256)

    def result(self, digest: str) -> Any:
        """The packed result of a unit, whose files are collected. Raises FileNotFoundError and Malformed."""
        return self._read(digest, 0.0)["result"]

    def _read(self, digest: str, late: float) -> Any:
        expected, _, text = self.place.read(_result(digest), late).decode().partition("\n")
        if digest_of(text) != expected:
            raise Malformed(f"{_result(digest)} in {self.place} is damaged")
        return decode_json(text, halves=True)


def mark(place: Place) -> str:
    """Write into a place what tells workers that it is this one. Raises ToolkitError where it cannot be written or read."""
    token = secrets.token_hex(16)
    place.write(MARK, token.encode())
    if not is_seen(place, token):
        raise ToolkitError(f"{place} does not show what is written there", "name another with --units", status=1)
    return token


def unmark(place: Place) -> None:
    """Take the mark away, and with it a folder that nothing else is in."""
    with suppress(ToolkitError, OSError):
        place.remove(MARK)
        place.tidy()


def is_seen(place: Place, token: str) -> bool:
    """Whether a place shows its mark, soon."""
    try:
        return place.read(MARK, MARKED_LATE).decode() == token
    except (FileNotFoundError, NotADirectoryError):
        return False


def _unit(number: int) -> str:
    return f"unit-{number:06d}.json"


def _result(digest: str) -> str:
    return f"{digest}.json"


def packed_text(packed: Any) -> str:
    """Plain values as JSON; numbers are read back as they were, bit by bit."""
    return json.dumps(packed, separators=(",", ":"), sort_keys=True)


def digest_of(text: str) -> str:
    """SHA-256 of a packed unit."""
    return hashlib.sha256(text.encode()).hexdigest()
