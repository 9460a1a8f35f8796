"""SHA-256 of files, remembered while they do not change, and written down in their folder as sha256sum prints it."""

from functools import cache
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import home, sha256_of
from toolkit.files.store.keyed_cache import KeyedCache

DIGESTS = "tandem.sha256"  # in a folder: what its files were when they came
REMEMBERED = 1 << 24  # bytes: a file of so many is not read again by the next process


def file_sha256(path: Path) -> str:
    """Hex digits over a file's bytes; computed once for a path, size, time of change and inode, of large files for ever."""
    found = path.stat()
    changed = f"{found.st_mtime_ns} {found.st_ctime_ns}"  # nobody can set the second one back
    return _sha256(path.resolve(), found.st_size, changed, found.st_ino)


@cache
def _sha256(path: Path, size: int, changed: str, inode: int) -> str:
    if size < REMEMBERED:
        return sha256_of(path)
    key = f"{path} {size} {changed} {inode}".encode(errors="surrogateescape")
    remembered = KeyedCache(home() / "digests.sqlite", "digests")
    try:
        if known := remembered.get([key]):
            return known[key].decode()
        digest = sha256_of(path)
        remembered.put({key: digest.encode()})
    except ToolkitError:  # a home that may only be read: it is computed each time
        return sha256_of(path)
    finally:
        remembered.close()
    return digest


def write_digests(folder: Path) -> None:
    """Write down what all files of a folder are now."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    lines = "".join(f"{file_sha256(path)}  {path.relative_to(folder)}\n" for path in paths)
    (folder / DIGESTS).write_bytes(lines.encode(errors="surrogateescape"))


def read_digests(folder: Path, name: str = DIGESTS) -> dict[str, str]:
    """Name -> SHA-256 of the files of a folder, as they were when that was written down; empty where nobody has."""
    if not (folder / name).is_file():
        return {}
    lines = (folder / name).read_bytes().decode(errors="surrogateescape").split("\n")
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines if line)}


def changed_files(folder: Path, name: str = DIGESTS) -> list[str]:
    """A line for each file that is not what was written down; empty where all are, or nothing was written down."""
    problems = []
    for file, digest in read_digests(folder, name).items():
        if not (folder / file).is_file():
            problems.append(f"{file}: missing")
        elif sha256_of(folder / file) != digest:
            problems.append(f"{file}: changed")
    return problems
