"""Downloads that resume, are checked before they get their name, try several addresses, and come to an end.

What is downloaded whole are prebuilt indexes: the archive of an IndexSpec, checked and unpacked under TANDEM_HOME.
"""

import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import IndexSpec
from toolkit.core.system.files import home
from toolkit.core.system.lazy_names import requests
from toolkit.core.system.progress import progress, say
from toolkit.files.store.bounded_http import Deadline, reason, session, without_secrets
from toolkit.files.store.digests import DIGESTS, changed_files, write_digests
from toolkit.files.store.sharing import lock

LARGE = 100_000_000  # bytes; from here on size and free disk are said beforehand
CHUNK = 1 << 20
TIMEOUT = (10, 60)  # seconds to connect, and between bytes
STALLED, LEAST = 60.0, 1 << 16  # a server that sends less than so many bytes in so many seconds is left
SLACK = 1 << 20  # bytes beyond a known size, and another tenth of it: sizes are rounded here and there
MOST = 100_000_000_000  # bytes of a file of which nobody knows the size
RETRIES = 3  # in a row without a single new byte
PAUSE = 0.2  # seconds; doubled with each failure
BUSY = (429, 500, 502, 503, 504)  # worth another try
OFFLINE_HINT = "check the network and run again; TANDEM_INDEX_MIRROR can name another place"
MD5 = re.compile(r"[0-9a-fA-F]{32}")
NAME = re.compile(r"\w[\w.+-]*")
WRITTEN = (DIGESTS, f"{DIGESTS}.new")  # what was unpacked; the second by earlier versions, until it was read back once


class Checksum(NamedTuple):
    """What a file's bytes must come to. kind: `md5`, `sha256`, or `git` (SHA-1 of a git blob); value: hex digits."""

    kind: str
    value: str

    def of(self, path: Path) -> str:
        """The same of the bytes of a file."""
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size) if self.kind == "git" else hashlib.new(self.kind)
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: digest).hexdigest()


class Wanted(NamedTuple):
    """A file to get.

    size      bytes; 0 where nobody knows
    checksum  None where nobody says it: the file is then taken as it comes
    auth      what requests authorizes the first address with; addresses that it leads to are not sent it
    """

    target: Path
    size: int
    checksum: Checksum | None
    auth: Any = None

    @property
    def part(self) -> Path:
        """Where it is while it arrives."""
        return self.target.with_name(self.target.name + ".part")

    @property
    def limit(self) -> int:
        """Bytes from which on it cannot be this file."""
        return self.size + self.size // 10 + SLACK if self.size else MOST


class Refused(Exception):
    """One address cannot give the file; the next one is tried."""


def with_mirror(urls: Sequence[str]) -> list[str]:
    """The addresses of an archive, with the mirror's (TANDEM_INDEX_MIRROR and the file name) first where one is set."""
    mirror = os.environ.get("TANDEM_INDEX_MIRROR", "").rstrip("/")
    return [*([f"{mirror}/{file_name(urls[0])}"] if mirror else []), *urls]


def file_name(url: str) -> str:
    """The last part of an address's path, as a file can be called."""
    return re.sub(r"[^\w.+-]", "_", urlsplit(url).path.rpartition("/")[2])[-100:]


def download(urls: Sequence[str], target: Path, *, md5: str, size: int = 0) -> Path:
    """Get a file of this MD5 from the first address that gives it; a `target` that has it already is left as it is.

    What has arrived stays in `<target>.part` and is continued by the next call, from any address. A body that is a tenth longer
    than `size` is not read to its end. Raises ToolkitError where no address gives the file, and where the disk is too small.
    """
    wanted = Wanted(target, size, Checksum("md5", md5.lower()))
    with lock(f"download {target.name}"):
        if target.exists():
            if wanted.checksum.of(target) == wanted.checksum.value:
                return target
            say(f"warning: {target} is not the file that was downloaded: fetched again")
            target.unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        # the disk is checked before the first request, and what a large file takes is said
        arrived = wanted.part.stat().st_size if wanted.part.exists() else 0
        free = check_room(wanted.target.parent, wanted.size - arrived, wanted.target.name)
        if wanted.size >= LARGE:
            here = wanted.target.parent
            say(f"{wanted.target.name}: {shown(wanted.size)}, {shown(arrived)} of it there, {shown(free)} free in {here}")
        refusals = []
        for url in urls:
            try:
                return fetch(url, wanted)
            except Refused as refusal:
                refusals.append(f"{without_secrets(url)}: {refusal}")
    raise ToolkitError(f"cannot download {target.name}", OFFLINE_HINT, problems=refusals, status=1)


def check_room(folder: Path, size: int, what: str) -> int:
    """The free bytes of `folder`'s disk; ToolkitError where `size` bytes do not fit."""
    free = shutil.disk_usage(folder).free
    if size > free:
        message = f"{what} needs {shown(size)}, but {folder} has {shown(free)} free"
        raise ToolkitError(message, "free some space, or set TANDEM_HOME to another disk", status=1)
    return free


def shown(size: int) -> str:
    """A size in bytes for people: `2.2 GB`, `0.4 MB`."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def fetch(url: str, wanted: Wanted, advance: Callable[[int], None] | None = None) -> Path:
    """Get a file from one address and check it. `Refused` where this address cannot give it.

    `advance` gets the number of bytes as they come; without it the file has a progress of its own. A part that several requests
    made, and that is not the file, is fetched once more from its beginning: it started with other bytes, or the server
    continued elsewhere.
    """
    for _ in range(2):
        resumed = _complete(url, wanted, advance)
        if not (problem := _problem(wanted)):
            return wanted.part.replace(wanted.target)
        wanted.part.unlink()
        if not resumed:
            break
    raise Refused(problem)


def _problem(wanted: Wanted) -> str:
    """Why what has arrived is not the file; empty where it is."""
    if wanted.checksum is None:
        size = wanted.part.stat().st_size
        return f"it has {size} bytes, not {wanted.size}" if wanted.size not in (0, size) else ""
    kind, expected = wanted.checksum
    value = wanted.checksum.of(wanted.part)
    return f"{kind} differs: expected {expected}, got {value}" if value != expected else ""


def _complete(url: str, wanted: Wanted, advance: Callable[[int], None] | None) -> bool:
    """Bring the part to its end, over broken connections as long as bytes arrive; whether it took more than one request."""
    import urllib3

    part, failures, resumed = wanted.part, 0, wanted.part.exists()
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            _stream(url, wanted, before, advance)
            return resumed
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            resumed = part.exists()
            failures = 0 if resumed and part.stat().st_size > before + LEAST else failures + 1
            # of a wrong address (InvalidURL, MissingSchema, ...) requests raises a ValueError as well
            if failures == RETRIES or isinstance(error, ValueError):
                raise Refused(reason(error)) from error
            time.sleep(PAUSE * 2**failures)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            message = f"no space left on the disk while downloading {wanted.target.name} into {wanted.target.parent}"
            hint = "free some space and run again to resume the download; or set TANDEM_HOME to another disk"
            raise ToolkitError(message, hint, status=1) from error


def _stream(url: str, wanted: Wanted, start: int, advance: Callable[[int], None] | None) -> None:
    """One request: append to the part what lies behind `start`, or begin again where the server sends the whole file."""
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={start}-"} if start else {})}
    how = {"headers": headers, "stream": True, "timeout": TIMEOUT, "auth": wanted.auth}
    with Deadline(STALLED) as deadline, connections().get(url, **how) as response:
        if start and response.status_code == 416:  # nothing lies behind
            return
        if response.status_code in BUSY:
            raise requests.ConnectionError(f"HTTP {response.status_code} {response.reason}")
        if response.status_code not in (200, 206):
            raise Refused(f"HTTP {response.status_code} {response.reason}")
        start = start if response.status_code == 206 else 0
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdecimal() and len(length) < 20 else None
        if total is not None:
            _check_limit(wanted, total)
            check_room(wanted.target.parent, total - start, wanted.target.name)
        showing = nullcontext(advance) if advance else progress(f"downloading {wanted.target.name}", total, "bytes")
        with wanted.part.open("ab" if start else "wb") as file, showing as arrived:
            arrived(start)
            counted = written = start
            while chunk := response.raw.read1(CHUNK, decode_content=False):  # ends in an error where bytes are missing
                written += len(chunk)
                _check_limit(wanted, written)
                file.write(chunk)
                arrived(len(chunk))
                if written - counted >= LEAST:
                    counted = written
                    deadline.extend(STALLED)
        if deadline.passed:  # a body without a length seems to end where its connection does
            raise requests.ConnectionError(f"less than {LEAST >> 10} KB in {STALLED:.0f} seconds")


def _check_limit(wanted: Wanted, size: int) -> None:
    """Refuse a body that is longer than the file can be."""
    if size > wanted.limit:
        expected = f"the file has {shown(wanted.size)}" if wanted.size else f"no more than {shown(MOST)} is read"
        wanted.part.unlink(missing_ok=True)
        raise Refused(f"it sends more than {shown(wanted.limit)}: {expected}")


@cache
def connections() -> Any:
    """The session of all threads; deadlines, proxies and passwords are decided for each request."""
    return session()


os.register_at_fork(after_in_child=connections.cache_clear)  # a process has connections of its own


def index_folder(spec: IndexSpec) -> Path:
    """Where the prebuilt index lies once fetched. The name holds the MD5: a new release does not meet an old folder."""
    return home() / "indexes" / f"{spec.name}.{spec.md5}"


def fetch_index(spec: IndexSpec, *, unpacked: int | None = None) -> Path:
    """The folder that holds the index's files, downloaded first where it is not there yet.

    unpacked  the most bytes that its files may have, see `unpack`

    Raises ToolkitError where it cannot be had (see `download` and `unpack`), and for an entry whose name or MD5, parts of a
    path, are none. What was unpacked is written down: `toolkit.files.provenance.comparing` compares files with it.
    """
    if not (NAME.fullmatch(spec.name) and MD5.fullmatch(spec.md5)):
        raise ToolkitError(f"index {spec.name!r} has the MD5 {spec.md5!r}", "a name of letters and digits, and 32 hex digits")
    folder = index_folder(spec)
    if not folder.exists():
        with lock(f"index {spec.name}"):
            if not folder.exists():  # another process may have fetched it meanwhile
                # by its digest: addresses of different indexes may end in one name
                archive = home() / "downloads" / spec.md5.lower() / file_name(spec.urls[0])
                from toolkit.files.store.archives import unpack

                download(with_mirror(spec.urls), archive, md5=spec.md5, size=spec.size)
                unpack(archive, folder, most=unpacked, complete=write_digests)
                shutil.rmtree(archive.parent)
    entries = [path for path in folder.iterdir() if path.name not in WRITTEN]
    # archives hold one folder named like the index
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else folder


def fetched_files(folder: Path) -> list[str] | None:
    """A line for each file in a folder, of a fetched index, that is not as it was unpacked; None where nobody knows."""
    written = ((place, name) for place in (folder, folder.parent) for name in WRITTEN)
    known = next(((place, name) for place, name in written if (place / name).is_file()), None)
    return changed_files(*known) if known else None
