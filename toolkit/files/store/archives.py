"""Archives, unpacked so that nothing lands outside the folder and nothing half-unpacked keeps its name."""

import errno
import lzma
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import progress
from toolkit.files.store.sharing import new_folder

RATIO, ROOM = 20, 1 << 30  # files may have so many times the archive's bytes, and so many more: indexes come to 1 to 5 times
PAX = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
MEMBERS, DEEPEST = 100_000, 20  # files in an archive, folders in each other
HEADER = 1 << 20  # bytes of a member's header, which tarfile reads into memory
DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    UnicodeDecodeError,
    NotImplementedError,
    MemoryError,
)

# gzip.BadGzipFile and a wrong bz2 stream have no error number; the others: a member in a file, over a folder, a name too long
BAD_MEMBERS = (None, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG)


class _Member(tarfile.TarInfo):
    """A member whose header is not longer than any that is meant."""

    def _proc_member(self, packed: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in (*tarfile.GNU_TYPES, *PAX) and self.size > HEADER and self.type != tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError(f"a header of {self.size} bytes")
        return super()._proc_member(packed)


def unpack(
    archive: Path, folder: Path, *, most: int | None = None, complete: Callable[[Path], None] = lambda part: None
) -> Path:
    """Unpack a tar (plain, gz, bz2, xz) or zip archive; `folder` appears when all of it is there, and `complete` has seen it.

    Refused, with one ToolkitError: a member outside the folder, any link or device, an encrypted, damaged or truncated archive,
    one without files, one of more than `most` bytes (by default 20 times the archive's and 1 GB), files or folders in each
    other than an index has, a disk too small, a `folder` that already holds something.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ToolkitError(f"{folder} is there already", "remove it first")
    members = _zip if zipfile.is_zipfile(archive) else _tar
    most = archive.stat().st_size * RATIO + ROOM if most is None else most
    try:
        with new_folder(folder) as part:
            with progress(f"unpacking {archive.name}", unit="bytes") as advance:
                for size in members(archive, part, most):
                    advance(size)
            if not any(path.is_file() for path in part.rglob("*")):
                raise ToolkitError(f"{archive} holds no files", "remove it and download it again")
            complete(part)
    except DAMAGED as error:
        raise ToolkitError(f"{archive} is damaged or no archive ({error})", "remove it and download it again") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            free = shutil.disk_usage(folder.parent).free
            message = f"no space left on the disk to unpack {archive.name} in {folder.parent} ({free / 1e9:.1f} GB free)"
            hint = "free some space, or set TANDEM_HOME to another disk; the archive stays"
            raise ToolkitError(message, hint, status=1) from error
        if error.errno not in BAD_MEMBERS:
            raise
        raise ToolkitError(f"{archive} is damaged or no archive ({error})", "remove it and download it again") from error
    return folder


class _Limits:
    """What an archive may come to. Each member is checked before a byte of it is written."""

    def __init__(self, archive: Path, part: Path, most: int):
        self._archive, self._part, self._left, self._members = archive, part, most, 0

    def check(self, name: str, size: int, kind: str = "") -> None:
        """ToolkitError for a member that reaches other files, is a link or device, or one too many; OSError for a full disk.

        kind  what it is where it is no file or folder. Index archives need no links, so none is followed
        """
        path, hint = PurePosixPath(name.replace("\\", "/")), "do not use this archive"
        self._left -= size
        self._members += 1
        if path.is_absolute() or ".." in path.parts or (path.parts and path.parts[0].endswith(":")):
            raise ToolkitError(f"{self._archive}: member {name!r} would land outside the folder", hint)
        if kind:
            raise ToolkitError(f"{self._archive}: member {name!r} is {kind}", hint)
        if len(path.parts) > DEEPEST or self._members > MEMBERS:
            raise ToolkitError(f"{self._archive} has more than {MEMBERS:,} files, or {DEEPEST} folders in each other", hint)
        if size > shutil.disk_usage(self._part).free:  # before a member that a bomb announces fills the disk
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self._left < 0:
            message = f"{self._archive} holds more files than its size lets expect: {-self._left:,} bytes beyond the limit"
            raise ToolkitError(message, "do not use it, or raise the limit (tandem index fetch NAME --unpacked GB)")


def _tar(archive: Path, part: Path, most: int) -> Iterator[int]:
    limits = _Limits(archive, part, most)
    with tarfile.open(archive, "r:*", tarinfo=_Member) as packed:
        for member in packed:
            kind = "" if member.isfile() or member.isdir() else "a link" if member.islnk() or member.issym() else "a device"
            limits.check(member.name, member.size, kind)
            packed.extract(member, part, filter="data")
            packed.members.clear()  # or the list of a million empty ones would stay in memory
            yield member.size


def _zip(archive: Path, part: Path, most: int) -> Iterator[int]:
    limits = _Limits(archive, part, most)
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            kind = "" if stat.S_IFMT(member.external_attr >> 16) in (0, stat.S_IFREG, stat.S_IFDIR) else "a link or device"
            limits.check(member.filename, member.file_size, kind)
            if member.flag_bits & 1:
                raise ToolkitError(f"{archive} is encrypted", "unpack it yourself")
            packed.extract(member, part)
            yield member.file_size
