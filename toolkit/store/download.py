"""Downloads that resume, are checked before they get their name, and try several addresses."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import progress, say
from toolkit.store.sharing import lock

if TYPE_CHECKING:
    import requests

LARGE = 100_000_000  # bytes; from here on size and free disk are said beforehand
CHUNK = 1 << 20
TIMEOUT = (10, 60)  # seconds to connect, and between bytes
RETRIES = 3  # in a row without a single new byte
BUSY = (429, 500, 502, 503, 504)  # worth another try
OFFLINE_HINT = "check the network and run again; TANDEM_INDEX_MIRROR can name another place"


@dataclass(frozen=True)
class Expected:
    """What a complete file must be; empty or None where nobody knows."""

    md5: str = ""
    sha256: str = ""
    size: int | None = None

    @property
    def checked(self) -> bool:
        """Whether a wrong byte would be noticed."""
        return bool(self.md5 or self.sha256)


class _Refused(Exception):
    """One address cannot give the file; the next one is tried."""


def with_mirror(urls: Sequence[str]) -> list[str]:
    """The addresses of an archive, with the mirror's (TANDEM_INDEX_MIRROR and the file name) first where one is set."""
    mirror = os.environ.get("TANDEM_INDEX_MIRROR", "").rstrip("/")
    return [*([f"{mirror}/{file_name(urls[0])}"] if mirror else []), *urls]


def file_name(url: str) -> str:
    """The last part of an address's path."""
    return urlsplit(url).path.rpartition("/")[2]


def download(urls: Sequence[str], target: Path, *, md5: str = "", sha256: str = "", size: int | None = None) -> Path:
    """Get a file from the first address that gives it; a complete `target` is left as it is.

    What has arrived stays in `<target>.part` and is resumed by the next call, with the server's word (ETag or date)
    that the file is the same, or with a checksum at the end. size (bytes) is what the disk must hold and, where there is no
    checksum, what must have arrived. Raises ToolkitError where no address gives the file, where checksum or size differ
    (the part is removed then), and where the disk is too small.
    """
    with lock(f"download {target.name}"):
        if target.exists():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        _announce(target, size or 0)
        expected, refusals = Expected(md5, sha256, size), []
        for url in urls:
            try:
                _fetch(url, target, expected)
                break
            except _Refused as refusal:
                refusals.append(f"{without_secrets(url)}: {refusal}")
        else:
            raise ToolkitError(f"cannot download {target.name}", OFFLINE_HINT, problems=refusals, status=1)
        _part(target).replace(target)
        _origin(target).unlink(missing_ok=True)
    return target


def check_room(folder: Path, size: int, what: str) -> int:
    """The free bytes of `folder`'s disk; ToolkitError where `size` bytes do not fit."""
    free = shutil.disk_usage(folder).free
    if size > free:
        message = f"{what} needs {shown(size)}, but {folder} has {shown(free)} free"
        raise ToolkitError(message, "free some space, or set TANDEM_HOME to another disk", status=1)
    return free


def without_secrets(text: str) -> str:
    """The same text, its addresses without user, password and query: those may be keys."""
    return re.sub(r"(\S\?)[^\s)'\"]+", r"\1***", re.sub(r"//[^/\s]*@", "//***@", text))


def shown(size: int) -> str:
    """A size in bytes for people: `2.2 GB`, `0.4 MB`."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def _announce(target: Path, size: int) -> None:
    """Check the disk before the first request, and say what a large file takes."""
    arrived = _part(target).stat().st_size if _part(target).exists() else 0
    free = check_room(target.parent, size - arrived, target.name)
    if size >= LARGE:
        say(f"{target.name}: {shown(size)}, {shown(arrived)} of it there, {shown(free)} free in {target.parent}")


def _part(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _origin(target: Path) -> Path:
    """Beside a part: which address it came from, and the server's mark of that version of the file."""
    return target.with_name(target.name + ".part.json")


def _fetch(url: str, target: Path, expected: Expected) -> None:
    """Bring the part to its end, over as many broken connections as it takes while bytes still arrive, and check it."""
    import requests
    import urllib3

    part, failures = _part(target), 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            _stream(url, target, expected)
            break
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            arrived = part.exists() and part.stat().st_size > before
            failures = 0 if arrived else failures + 1
            # of a wrong address (InvalidURL, MissingSchema, ...) requests raises a ValueError as well
            if failures == RETRIES or isinstance(error, ValueError):
                raise _Refused(reason(error)) from error
            time.sleep(0.2 * 2**failures)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            message = f"no space left on the disk while downloading {target.name} into {target.parent}"
            hint = "free some space and run again: what has arrived is kept; or set TANDEM_HOME to another disk"
            raise ToolkitError(message, hint, status=1) from error
    _verify(target, expected, url)


def _stream(url: str, target: Path, expected: Expected) -> None:
    """One request: append to the part where the server continues it, start anew where it does not."""
    import requests

    part = _part(target)
    headers = {"Accept-Encoding": "identity", **_resume_headers(url, target, expected)}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
        if response.status_code == 416 and part.exists():
            if response.headers.get("Content-Range", "").endswith(f"/{part.stat().st_size}"):
                return  # everything had arrived before
            part.unlink()
            raise requests.ConnectionError("the file has become shorter")
        if response.status_code in BUSY:
            raise requests.ConnectionError(f"HTTP {response.status_code} {response.reason}")
        if response.status_code not in (200, 206):
            raise _Refused(f"HTTP {response.status_code} {response.reason}")
        start = part.stat().st_size if response.status_code == 206 and part.exists() else 0
        if start and not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            part.unlink()
            raise requests.ConnectionError("the server continued elsewhere than asked")
        length = response.headers.get("Content-Length", "")
        length = int(length) if length.isdecimal() else None
        total = start + length if length is not None else expected.size
        if total is not None:
            check_room(target.parent, total - start, target.name)
        _remember(url, target, response)
        with part.open("ab" if start else "wb") as file, progress(f"downloading {target.name}", total, "bytes") as advance:
            advance(start)
            for chunk in response.raw.stream(CHUNK, decode_content=False):
                file.write(chunk)
                advance(len(chunk))
    if length is not None and part.stat().st_size < total:
        raise requests.ConnectionError("the connection broke off")


def _resume_headers(url: str, target: Path, expected: Expected) -> dict[str, str]:
    """Ask for the rest, on the condition that the file is the same one."""
    part, origin = _part(target), _origin(target)
    start = part.stat().st_size if part.exists() else 0
    if not start or not origin.exists():
        return {}
    try:
        known = json.loads(origin.read_text(encoding="utf-8"))
    except ValueError:  # written by a process that was killed
        return {}
    if known["url"] == without_secrets(url) and known["version"]:
        return {"Range": f"bytes={start}-", "If-Range": known["version"]}
    # another mirror's part may be continued where a checksum will tell whether it fits
    return {"Range": f"bytes={start}-"} if expected.checked else {}


def _remember(url: str, target: Path, response: requests.Response) -> None:
    etag = response.headers.get("ETag", "")
    # If-Range takes strong validators only (RFC 9110, section 13.1.5)
    version = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")
    _origin(target).write_text(json.dumps({"url": without_secrets(url), "version": version}), encoding="utf-8")


def _verify(target: Path, expected: Expected, url: str) -> None:
    """Compare size and checksums with the part; remove it where they differ."""
    part = _part(target)
    # sizes in the registries of others are now and then wrong: they count where nothing better does
    found = [] if expected.checked else [("size", expected.size, part.stat().st_size)]
    for algorithm in ("md5", "sha256"):
        if wanted := getattr(expected, algorithm):
            with part.open("rb") as file:
                found.append((algorithm, wanted.lower(), hashlib.file_digest(file, algorithm).hexdigest()))
    for what, wanted, got in found:
        if wanted and wanted != got:
            part.unlink()
            _origin(target).unlink(missing_ok=True)
            raise _Refused(f"{what} differs: expected {wanted}, got {got}")


def reason(error: BaseException) -> str:
    """The first cause in one line, without secrets: HTTP libraries explain themselves in long chains."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    text = str(error)
    for sign in ("Connection refused", "Name or service not known", "Temporary failure in name resolution", "timed out"):
        if sign in text:
            return sign.lower()
    return without_secrets(text.partition("\n")[0]) or type(error).__name__
