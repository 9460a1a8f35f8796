"""Repositories of the Hugging Face hub or of a mirror: which files one has at a commit, and the files, each of them checked.

huggingface_hub downloads them too, but takes any commit, length and bytes that a mirror says; here a listing is read first, and
what comes has to be what it lists.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple
from urllib.parse import quote

from toolkit.core.system.progress import progress
from toolkit.core.system.yaml_json import decode_json
from toolkit.files.store.bounded_http import Deadline, reason, settle_libraries, without_secrets
from toolkit.files.store.download import TIMEOUT, Checksum, Refused, Wanted, connections, fetch

COMMIT = re.compile(r"[0-9a-f]{40}")
PINNED = re.compile(r"[0-9a-f]{7,40}")  # a commit, or its first digits
SHA256 = re.compile(r"[0-9a-f]{64}")
LISTED = 60.0  # seconds that a listing may take
LONGEST = 1 << 26  # bytes of a listing
MOST_FILES, DEEPEST = 20_000, 20  # files of a repository, folders in each other
AT_ONCE = 4  # files that are downloaded at the same time


class HubError(Exception):
    """The hub does not give what was asked for. code: `GatedRepo`, `RepoNotFound`, `RevisionNotFound`, or empty."""

    def __init__(self, message: str, code: str = ""):
        super().__init__(message)
        self.code = code


class HubFile(NamedTuple):
    """A file of a repository: its name, its bytes, and what they come to (None where the hub does not say)."""

    name: str
    size: int
    checksum: Checksum | None


class Listing(NamedTuple):
    """The files of a repository at a commit."""

    commit: str
    files: list[HubFile]


def endpoint() -> str:
    """The hub's address: HF_ENDPOINT, which may hold a password, or huggingface.co."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def is_offline() -> bool:
    """Whether HF_HUB_OFFLINE says so."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def list_files(kind: str, repository: str, revision: str = "") -> Listing:
    """The files of a repository (of `models` or `datasets`) at a revision, at the newest commit where none is named.

    Raises HubError for what the hub refuses, where it cannot be reached, and for an answer that no hub gives: a commit that is
    none or another one than a pinned one, files outside of the repository, sizes below 0.
    """
    at = f"/revision/{quote(revision, safe='')}" if revision else ""
    address = f"{endpoint()}/api/{kind}/{repository}{at}?blobs=true"
    try:
        facts = decode_json(_body(address).decode())
        commit, listed = facts["sha"], [_file(entry) for entry in facts.get("siblings") or ()]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise HubError("its list of files is none") from None
    if not (isinstance(commit, str) and COMMIT.fullmatch(commit)):
        raise HubError(f"it names {str(commit)[:60]!r} as the commit, which is none")
    if PINNED.fullmatch(revision) and not commit.startswith(revision):
        raise HubError(f"it has commit {commit} in its place")
    if len(listed) > MOST_FILES:
        raise HubError(f"it lists {len(listed)} files, more than {MOST_FILES}")
    return Listing(commit, listed)


def fetch_files(kind: str, repository: str, commit: str, files: Iterable[HubFile], folder: Path) -> None:
    """Get files into a folder, where a later call resumes; those that are there and right are not asked for.

    Raises HubError where one cannot be had or is not what was listed, and ToolkitError where the disk is too small.
    """
    place, missing = f"{endpoint()}/{'' if kind == 'models' else f'{kind}/'}{repository}/resolve/{commit}", []
    from multiprocessing.pool import ThreadPool  # its threads do not outlive an interrupted process

    files, failed = list(files), Event()
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        target = folder / file.name
        if not (target.is_file() and (file.checksum.of(target) == file.checksum.value if file.checksum else True)):
            target.parent.mkdir(parents=True, exist_ok=True)
            missing.append((f"{place}/{quote(file.name)}", Wanted(target, file.size, file.checksum, _auth())))
    with progress(f"fetching {repository}", sum(file.size for file in files), "bytes") as advance, ThreadPool(AT_ONCE) as pool:
        try:
            for problem in pool.imap(lambda task: _problem(*task, advance, failed), missing):
                if problem:
                    raise HubError(problem)
        except Exception:  # no other file is written on while the next call resumes
            failed.set()
            pool.terminate()
            pool.join()
            raise


def _body(address: str) -> bytes:
    """What the hub answers, in time and up to a limit."""
    from requests import RequestException
    from urllib3.exceptions import HTTPError

    body, deadline = bytearray(), Deadline(LISTED)
    try:
        with deadline, connections().get(address, stream=True, timeout=TIMEOUT, auth=_auth()) as response:
            if response.status_code != 200:
                code = response.headers.get("X-Error-Code", "RepoNotFound" if response.status_code == 401 else "")
                raise HubError(f"HTTP {response.status_code} {response.reason}", code)
            while chunk := response.raw.read1(1 << 16, decode_content=True):
                body += chunk
                if len(body) > LONGEST:
                    raise HubError(f"its list of files has more than {LONGEST >> 20} MB")
    except (RequestException, HTTPError) as error:
        raise HubError(f"no answer within {LISTED:g} seconds" if deadline.passed else reason(error)) from error
    if deadline.passed:  # a body without a length seems to end where its connection does
        raise HubError(f"no answer within {LISTED:g} seconds")
    return bytes(body)


def _file(entry: dict[str, Any]) -> HubFile:
    """A file as a listing names it. HubError for one that lies outside of the repository."""
    name, size, lfs = entry["rfilename"], entry.get("size") or 0, entry.get("lfs") or {}
    parts = name.split("/")
    if {"", ".", ".."} & set(parts) or "\\" in name or not name.isprintable() or len(parts) > DEEPEST:
        raise HubError(f"it lists {name[:60]!r}, which is no file of a repository")
    if type(size) is not int or size < 0:
        raise HubError(f"it lists {name} with {size!r} bytes")
    known = ((SHA256, "sha256", lfs.get("sha256")), (COMMIT, "git", None if lfs else entry.get("blobId")))
    given = (Checksum(kind, value) for form, kind, value in known if isinstance(value, str) and form.fullmatch(value))
    return HubFile(name, size, next(given, None))


def _problem(url: str, wanted: Wanted, advance: Any, failed: Event) -> str:
    """Fetch a file, unless another failed meanwhile; why it cannot be had, empty where it is there."""

    def came(size: int) -> None:
        if failed.is_set():
            raise Refused("another file could not be had")
        advance(size)

    try:
        fetch(url, wanted, came)
    except Refused as refusal:
        return without_secrets(f"{wanted.target.name}: {refusal}")
    return ""


def _auth() -> Any:
    """What puts the user's token into a request to the hub; None where there is none (a password of the address is sent then).
    Called for the first request alone: an address that the hub leads to is not sent it."""
    from huggingface_hub import get_token

    settle_libraries(endpoint())  # a login that expires is renewed
    token = get_token()
    if not token:
        return None

    def authorize(request: Any) -> Any:
        request.headers["Authorization"] = f"Bearer {token}"
        return request

    return authorize
