"""Downloads that resume, are checked before they get their name, and try several addresses."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import progress, say
from toolkit.store.sharing import lock

LARGE = 100_000_000  # bytes; from here on size and free disk are said beforehand
CHUNK = 1 << 20
TIMEOUT = (10, 60)  # seconds to connect, and between bytes
RETRIES = 3  # in a row without a single new byte
BUSY = (429, 500, 502, 503, 504)  # worth another try
OFFLINE_HINT = "check the network and run again; TANDEM_INDEX_MIRROR can name another place"


class _Refused(Exception):
    """One address cannot give the file; the next one is tried."""


def with_mirror(urls: Sequence[str]) -> list[str]:
    """The addresses of an archive, with the mirror's (TANDEM_INDEX_MIRROR and the file name) first where one is set."""
    mirror = os.environ.get("TANDEM_INDEX_MIRROR", "").rstrip("/")
    return [*([f"{mirror}/{file_name(urls[0])}"] if mirror else []), *urls]


def file_name(url: str) -> str:
    """The last part of an address's path."""
    return urlsplit(url).path.rpartition("/")[2]


def download(urls: Sequence[str], target: Path, *, md5: str, size: int = 0) -> Path:
    """Get a file of this MD5 from the first address that gives it; a complete `target` is left as it is.

    size  bytes that the disk must hold; 0 where nobody knows

    What has arrived stays in `<target>.part` and is continued by the next call, from any address. Raises ToolkitError where no
    address gives the file, and where the disk is too small.
    """
    with lock(f"download {target.name}"):
        if target.exists():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        _announce(target, size)
        refusals = []
        for url in urls:
            try:
                _fetch(url, target, md5.lower())
            except _Refused as refusal:
                refusals.append(f"{without_secrets(url)}: {refusal}")
            else:
                return _part(target).replace(target)
    raise ToolkitError(f"cannot download {target.name}", OFFLINE_HINT, problems=refusals, status=1)


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


def _fetch(url: str, target: Path, md5: str) -> None:
    """Complete the part and check it. One that several requests made, and that is not the file, is fetched once more from its
    beginning: it started with other bytes, or the server continued elsewhere."""
    part = _part(target)
    for _ in range(2):
        resumed = _complete(url, target)
        with part.open("rb") as file:
            digest = hashlib.file_digest(file, "md5").hexdigest()
        if digest == md5:
            return
        part.unlink()
        if not resumed:
            break
    raise _Refused(f"md5 differs: expected {md5}, got {digest}")


def _complete(url: str, target: Path) -> bool:
    """Bring the part to its end, over as many broken connections as it takes while bytes still arrive; whether one request did
    not do."""
    import requests
    import urllib3

    part, failures, resumed = _part(target), 0, _part(target).exists()
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            _stream(url, target, before)
            return resumed
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            resumed = part.exists()
            failures = 0 if resumed and part.stat().st_size > before else failures + 1
            # of a wrong address (InvalidURL, MissingSchema, ...) requests raises a ValueError as well
            if failures == RETRIES or isinstance(error, ValueError):
                raise _Refused(reason(error)) from error
            time.sleep(0.2 * 2**failures)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            message = f"no space left on the disk while downloading {target.name} into {target.parent}"
            hint = "free some space and run again to resume the download; or set TANDEM_HOME to another disk"
            raise ToolkitError(message, hint, status=1) from error


def _stream(url: str, target: Path, start: int) -> None:
    """One request: append to the part what lies behind `start`, or begin again where the server sends the whole file."""
    import requests

    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={start}-"} if start else {})}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
        if start and response.status_code == 416:  # nothing lies behind
            return
        if response.status_code in BUSY:
            raise requests.ConnectionError(f"HTTP {response.status_code} {response.reason}")
        if response.status_code not in (200, 206):
            raise _Refused(f"HTTP {response.status_code} {response.reason}")
        start = start if response.status_code == 206 else 0
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdecimal() else None
        if total is not None:
            check_room(target.parent, total - start, target.name)
        label = f"downloading {target.name}"
        with _part(target).open("ab" if start else "wb") as file, progress(label, total, "bytes") as advance:
            advance(start)
            for chunk in response.raw.stream(CHUNK, decode_content=False):  # ends in an error where bytes are missing
                file.write(chunk)
                advance(len(chunk))


def reason(error: BaseException) -> str:
    """The first cause in one line, without secrets: HTTP libraries explain themselves in long chains."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    text = str(error)
    for sign in ("Connection refused", "Name or service not known", "Temporary failure in name resolution", "timed out"):
        if sign in text:
            return sign.lower()
    return without_secrets(text.partition("\n")[0]) or type(error).__name__
