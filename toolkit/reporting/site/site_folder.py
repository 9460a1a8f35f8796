"""The folder of a site: written as a whole where it is new, else updated file by file, and only what is the site's is touched.

The manifest lists the files of the site as `sha256sum` does: it tells a folder that is a site, and what in it may be replaced
or removed.
"""

import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from toolkit.core.errors import ToolkitError, three
from toolkit.core.system.files import lock_file, temporary_folder, write_text
from toolkit.core.system.progress import say
from toolkit.files.store.digests import file_sha256
from toolkit.files.store.sharing import new_folder

MANIFEST = "site.sha256"
LINE = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>[a-z0-9][a-z0-9.+_-]*(/[a-z0-9][a-z0-9.+_-]*)*)")
Content = str | Path  # of a file of the site: its text, or the file that it is a copy of


@dataclass(frozen=True)
class Written:
    """How many files a folder has of the site, how many of them are new or other than before, and how many were removed."""

    files: int
    changed: int
    removed: int


def check_folder(folder: Path) -> None:
    """ToolkitError unless a site may be written there: nothing is there, or nothing but hidden files, or a site."""
    if folder.exists() and not folder.is_dir():
        raise ToolkitError(f"{folder} is a file, not a folder", "name a folder for the site")
    if _manifest(folder):
        return
    if folder.is_dir() and (found := [path.name for path in folder.iterdir() if not path.name.startswith(".")]):
        message = f"{folder} is not empty and is no site (it has {three(found)}, and no {MANIFEST})"
        raise ToolkitError(message, "name another folder, or an empty one")


def write_folder(folder: Path, files: Mapping[str, Content]) -> Written:
    """Make a folder the site of these files (relative path -> content).

    What is as it should be is not written again. Files of the site before that are not among these are removed, unless somebody
    has changed them. Interrupted, it leaves a site that the next run completes.

    Raises ToolkitError, and changes nothing, where a file stands in the way that is not of the site.
    """
    check_folder(folder)
    if not folder.exists():
        with new_folder(folder) as new:
            digests = {name: _write(new / name, content) for name, content in files.items()}
            _list(new, digests.items())
        return Written(len(files), len(files), 0)
    with _locked(folder), temporary_folder(folder, ".site.", ".part") as stage:
        digests = {name: _write(stage / name, content) for name, content in files.items()}
        known = _manifest(folder)
        _refuse_in_the_way(folder, files, known)
        changed = [name for name in files if not _is(folder / name, {digests[name]})]
        stale = [name for name in known if name not in files and (folder / name).is_file()]
        lines = [(digest, name) for name, each in known.items() for digest in sorted(each)]
        if changed or stale:
            # as long as files are moved, the manifest has both: whatever is killed, the next run knows what is of the site
            both = dict.fromkeys([*lines, *((digests[name], name) for name in files)])
            _list(folder, ((name, digest) for digest, name in both))
        for name in changed:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(stage / name, folder / name)
        removed = [name for name in stale if _removed(folder, name, known[name])]
        _list(folder, digests.items())
    return Written(len(files), len(changed), len(removed))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        handle = lock_file(folder)
    except BlockingIOError as error:
        raise ToolkitError(f"another process writes the site in {folder}", "wait until it has ended", status=1) from error
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _manifest(folder: Path) -> dict[str, set[str]]:
    """Path of each file of the site -> its digest, both where an update was interrupted; empty where there is no manifest."""
    path = folder / MANIFEST
    if not path.is_file():
        return {}
    known: dict[str, set[str]] = defaultdict(set)
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        match = LINE.fullmatch(line)
        # what it names is going to be removed or replaced: it has to lie in the folder
        if not match:
            raise ToolkitError(f"{path}, line {number}: not a line of a site's manifest", "name another folder")
        known[match["name"]].add(match["digest"])
    return dict(known)


def _list(folder: Path, digests: Iterable[tuple[str, str]]) -> None:
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests))
    if not (folder / MANIFEST).is_file() or (folder / MANIFEST).read_text(encoding="utf-8") != text:
        write_text(folder / MANIFEST, text)


def _write(path: Path, content: Content) -> str:
    """Write a file into a folder that nobody sees yet; its digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_bytes(content.encode())
        return file_sha256(path)
    shutil.copyfile(content, path)
    digest = file_sha256(path)
    if digest != file_sha256(content):
        raise ToolkitError(f"{content} was changed while it was copied", "make the site again", status=1)
    return digest


def _is(path: Path, digests: set[str]) -> bool:
    return path.is_file() and file_sha256(path) in digests


def _refuse_in_the_way(folder: Path, files: Iterable[str], known: Mapping[str, set[str]]) -> None:
    """ToolkitError where a file or folder stands in the place of one of ours, or a link leads out of the folder."""
    inside = folder.resolve()
    wrong = []
    for name in files:
        path = folder / name
        above = [folder / each for each in PurePosixPath(name).parents if each.name]
        if (
            any(each.exists() and not each.is_dir() for each in above)
            or not path.parent.resolve().is_relative_to(inside)
            or path.is_symlink()
            or path.is_dir()
            or (path.exists() and name not in known)
        ):
            wrong.append(name)
    if wrong:
        raise ToolkitError(f"{folder} has files that are not of the site where its own belong: {three(wrong)}", "move them")


def _removed(folder: Path, name: str, digests: set[str]) -> bool:
    """Remove a file that the site has no more, and folders that are empty then; False where it is not as the site made it."""
    path = folder / name
    if path.is_symlink() or not path.parent.resolve().is_relative_to(folder.resolve()) or not _is(path, digests):
        say(f"warning: {path} is no longer of the site, but was changed since: left where it is")
        return False
    path.unlink()
    for above in PurePosixPath(name).parents:
        if above.name and not any((folder / above).iterdir()):
            (folder / above).rmdir()
    return True
