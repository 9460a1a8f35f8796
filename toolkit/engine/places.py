"""Where units and results lie: a folder that every node sees, or one of an object store; pyarrow's file systems read and write.

pyarrow has the clients of S3 and Google in its own package, with what repeats requests, so that nothing else is installed;
those of fsspec would need packages of their own. Credentials are in each node's environment: those in an address are refused,
as addresses are in arguments and logs.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import atomic_path, sha256_of, temporary_folder
from toolkit.core.system.yaml_json import Malformed

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

SCHEMES = ("s3", "gs")
SETTINGS = {"region", "scheme", "endpoint_override", "retry_limit_seconds"}  # that may stand in an address
CHUNK = 8 << 20  # bytes of a file that are on their way
RETRIED = 60  # seconds
SEEN_LATE = 60.0  # seconds until a file of another node is seen: NFS remembers for so long that there was none
# what a store answers -> what to do
HINTS = {
    "NO_SUCH_BUCKET|[Bb]ucket '[^']*' not found": "make the bucket, or name another with --units",
    "ACCESS_DENIED": "the credentials of this node's environment have to allow to list, read, write and delete there",
    "INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT|[Ee]xpired|credentials|HTTP status 40[013]": (
        "set credentials that are valid on every node, before Ray starts there"
    ),
    "NETWORK_CONNECTION|REQUEST_TIMEOUT|[Cc]ould(?: not|n't) connect|[Tt]imed? ?out": (
        "is the address right (AWS_ENDPOINT_URL, region), and is it reached from every node?"
    ),
}


class Place:
    """A folder, of this machine or of a store; what is written is there completely or not at all.

    url  a path, or `s3://BUCKET/FOLDER`, `gs://BUCKET/FOLDER`

    Raises ToolkitError for an address that is none, or that holds a password.
    """

    def __init__(self, url: str | Path):
        self.url = os.path.abspath(url) if "://" not in str(url) else str(url).rstrip("/")
        if "://" not in self.url:
            return
        scheme = self.url.partition("://")[0]
        try:
            parts = urlsplit(self.url)
        except ValueError as error:  # the message has a part of the address, which may be a key's
            raise ToolkitError(f"an address of {scheme}:// is not well-formed", "such as s3://BUCKET/FOLDER") from error
        if ":" in parts.netloc:  # a password's, also where a slash in it ends what urlsplit takes for the server
            hint = "each node reads credentials and servers from its own environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, ...)"
            raise ToolkitError(f"an address of {scheme}:// has a password or a port in it", hint)
        if parts.scheme not in SCHEMES:
            raise ToolkitError(f"{self.url}: {parts.scheme} is not known", f"known: {', '.join(SCHEMES)}, and folders")
        if not parts.netloc:
            raise ToolkitError(f"{self.url} names no bucket", "such as s3://BUCKET/FOLDER")
        if unknown := [name for name, _ in parse_qsl(parts.query) if name not in SETTINGS]:
            message = f"{parts.scheme}://{parts.netloc}{parts.path}: {', '.join(unknown)} cannot stand in an address"
            raise ToolkitError(message, f"known: {', '.join(sorted(SETTINGS))}; all else is of each node's environment")

    def __truediv__(self, name: str) -> Place:
        """A folder in it."""
        path, question, query = self.url.partition("?") if "://" in self.url else (self.url, "", "")
        return Place(f"{path.rstrip('/')}/{name}{question}{query}")

    def __str__(self) -> str:
        return self.url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url}

    @property
    def is_local(self) -> bool:
        """Whether it is a folder, of a disk or of a file system that is mounted."""
        return self._filesystem.type_name == "local"

    @property
    def _filesystem(self) -> FileSystem:
        return self._opened[0]

    @cached_property
    def _opened(self) -> tuple[FileSystem, str]:
        """The file system, and the path in it."""
        from pyarrow import ArrowInvalid, ArrowNotImplementedError
        from pyarrow.fs import FileSystem, LocalFileSystem

        if "://" not in self.url:
            return LocalFileSystem(), self.url
        # Google's client would go on for a quarter of an hour
        is_endless = self.url.startswith("gs:") and "retry_limit_seconds" not in self.url
        limit = f"{'&' if '?' in self.url else '?'}retry_limit_seconds={RETRIED}" if is_endless else ""
        try:
            with self._store_errors():
                return FileSystem.from_uri(self.url + limit)
        except (ArrowInvalid, ArrowNotImplementedError) as error:
            raise ToolkitError(f"{self.url}: {one_line(error)}", "such as s3://BUCKET/FOLDER") from error

    def _path(self, name: str) -> str:
        return f"{self._opened[1].rstrip('/')}/{name}"

    @contextmanager
    def _store_errors(self) -> Iterator[None]:
        """Errors of a store become ToolkitErrors; those of files stay what they are."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            if "://" not in self.url:
                raise
            text = one_line(error)
            hint = next((hint for pattern, hint in HINTS.items() if re.search(pattern, text)), "")
            raise ToolkitError(f"{self.url}: {text}", hint, status=1) from error

    def read(self, name: str, late: float = 0.0) -> bytes:
        """What a file holds. Raises FileNotFoundError where it is not there, also not `late` seconds later."""
        from pyarrow.fs import FileSelector

        until, pause = time.monotonic() + late, 0.1
        while True:
            try:
                with self._store_errors(), self._filesystem.open_input_stream(self._path(name)) as file:
                    return file.readall()
            except FileNotFoundError:
                if time.monotonic() >= until:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 2.0)
            with self._store_errors():  # NFS asks its server again once the folder is listed
                self._filesystem.get_file_info(FileSelector(os.path.dirname(self._path(name)), allow_not_found=True))

    def write(self, name: str, data: bytes) -> None:
        """Write a file."""
        with self._store_errors(), self._new(name) as path, self._filesystem.open_output_stream(path) as file:
            file.write(data)

    @contextmanager
    def _new(self, name: str) -> Iterator[str]:
        """The path to write a file to: in a folder another one, which is renamed; an object is seen once it is complete."""
        path = self._path(name)
        if not self.is_local:
            yield path
            return
        folder = os.path.dirname(path)
        self._filesystem.create_dir(folder)
        part = f"{folder}/.{os.path.basename(path)}.{secrets.token_hex(4)}.part"
        try:
            yield part
            os.replace(part, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(part)
            raise

    def scratch(self) -> AbstractContextManager[Path]:
        """A folder of this machine for files that are put here: in the same file system where this is a folder."""
        parent = Path(self._opened[1] if self.is_local else tempfile.gettempdir())
        parent.mkdir(parents=True, exist_ok=True)
        # what a killed process has left is removed by one of its machine: locks may not be seen by others
        return temporary_folder(parent, f".unit-{socket.gethostname()}.", ".part")

    def put(self, name: str, path: Path) -> None:
        """Move a file of this machine here."""
        with self._store_errors(), self._new(name) as target:
            if self.is_local:
                shutil.move(path, target)
            else:
                self._copy(str(path), target, here=True)
                path.unlink()

    def take(self, name: str, path: Path, sha256: str) -> None:
        """Move a file to this machine. Raises FileNotFoundError, and Malformed for one that is not the one that was put."""
        with atomic_path(path) as part:
            with self._store_errors():
                if self.is_local:
                    shutil.move(self._path(name), part)
                else:
                    self._copy(self._path(name), str(part), here=False)
            if sha256_of(part) != sha256:
                raise Malformed(f"{name} in {self} is not what was written there: it is damaged")
        if not self.is_local:
            self.remove(name)

    def _copy(self, source: str, target: str, *, here: bool) -> None:
        from pyarrow.fs import LocalFileSystem, copy_files

        local, there = LocalFileSystem(), self._filesystem
        copy_files(source, target, local if here else there, there if here else local, chunk_size=CHUNK)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._store_errors(), suppress(FileNotFoundError):
            self._filesystem.delete_file(self._path(name))

    def tidy(self) -> None:
        """Remove a folder that is empty; stores have none."""
        if self.is_local:
            with suppress(OSError):
                os.rmdir(self._opened[1])

    def remove_all(self) -> None:
        """Remove it with all that is in it, if it is there."""
        from pyarrow.fs import FileType

        filesystem, path = self._opened
        with self._store_errors():
            filesystem.delete_dir_contents(path, missing_dir_ok=True)
            if filesystem.get_file_info(path).type != FileType.NotFound:  # Google's has no folders without files
                filesystem.delete_dir(path)


def one_line(error: Exception) -> str:
    """What a library says, without what is for its authors."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return re.sub(r" \(Request ID: .*\)$| error_info=\{.*", "", line)[:300]
