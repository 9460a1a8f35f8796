"""Archives, unpacked so that nothing lands outside the folder and nothing half-unpacked keeps its name."""

from __future__ import annotations

import errno
import lzma
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import progress
from toolkit.store.sharing import new_folder

DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, UnicodeDecodeError, NotImplementedError)

# gzip.BadGzipFile and a wrong bz2 stream have no error number; the others: a member in a file, over a folder, a name too long
BAD_MEMBERS = (None, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a tar (plain, gz, bz2, xz) or zip archive; `folder` appears when all of it is there.

    Refused, with one ToolkitError: a member outside the folder, any link or device, an encrypted, damaged or
    truncated archive, a disk too small, a `folder` that already holds something.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ToolkitError(f"{folder} is there already", "remove it first")
    members = _zip if zipfile.is_zipfile(archive) else _tar
    try:
        with new_folder(folder) as part, progress(f"unpacking {archive.name}", unit="bytes") as advance:
            for size in members(archive, part):
                advance(size)
    except DAMAGED as error:
        raise ToolkitError(f"{archive} is damaged or no archive ({error})", "remove it and download it again") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _full(archive, folder) from error
        if error.errno not in BAD_MEMBERS:
            raise
        raise ToolkitError(f"{archive} is damaged or no archive ({error})", "remove it and download it again") from error
    return folder


def _full(archive: Path, folder: Path) -> ToolkitError:
    free = shutil.disk_usage(folder.parent).free
    return ToolkitError(
        f"no space left on the disk to unpack {archive.name} in {folder.parent} ({free / 1e9:.1f} GB free)",
        "free some space, or set TANDEM_HOME to another disk; the archive stays",
        status=1,
    )


def _tar(archive: Path, part: Path) -> Iterator[int]:
    with tarfile.open(archive, "r:*") as packed:
        for member in packed:
            kind = "" if member.isfile() or member.isdir() else "a link" if member.islnk() or member.issym() else "a device"
            _check(archive, member.name, kind)
            _check_room(part, member.size)
            packed.extract(member, part, filter="data")
            yield member.size


def _zip(archive: Path, part: Path) -> Iterator[int]:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            mode = stat.S_IFMT(member.external_attr >> 16)
            _check(archive, member.filename, "" if mode in (0, stat.S_IFREG, stat.S_IFDIR) else "a link or device")
            if member.flag_bits & 1:
                raise ToolkitError(f"{archive} is encrypted", "unpack it yourself")
            _check_room(part, member.file_size)
            packed.extract(member, part)
            yield member.file_size


def _check(archive: Path, name: str, kind: str) -> None:
    """Refuse what a hostile archive uses to reach other files. Index archives need no links, so none is followed."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or (path.parts and path.parts[0].endswith(":")):
        raise ToolkitError(f"{archive}: member {name!r} would land outside the folder", "do not use this archive")
    if kind:
        raise ToolkitError(f"{archive}: member {name!r} is {kind}", "do not use this archive")


def _check_room(part: Path, size: int) -> None:
    """Fail before a member that a bomb announces fills the disk."""
    if size > shutil.disk_usage(part).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
