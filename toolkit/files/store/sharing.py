"""How several processes share TANDEM_HOME, and folders that are either complete or not there."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import home, lock_file, temporary_folder, umask
from toolkit.core.system.progress import say

REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold the lock `name` of TANDEM_HOME; a second process waits, and says so once. Reentrant within a thread.

    In a home that may not be written (another user's, a published one) nothing is locked: what is there is complete, and can be
    read. ToolkitError where the block writes there.
    """
    from filelock import FileLock, Timeout

    folder = home() / "locks"
    file_lock = FileLock(folder / f"{quote(name, safe='')}.lock", is_singleton=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file_lock.acquire(timeout=0)
    except Timeout:  # which is an OSError too
        say(f"waiting for another process that works on {name}")
        file_lock.acquire()
    except OSError as error:
        if error.errno not in REFUSED:
            raise _unwritable(error) from error
        try:
            yield
        except OSError as refused:
            raise (_unwritable(refused) if refused.errno in REFUSED else refused) from error
        return
    try:
        yield
    finally:
        file_lock.release()


def lock_folder(what: str, folder: Path) -> AbstractContextManager[None]:
    """`lock` for what is done in one folder, wherever that lies: by its name and the beginning of a digest of its place."""
    place = folder.resolve()
    return lock(f"{what} {place.name} {hashlib.sha256(str(place).encode(errors='surrogateescape')).hexdigest()[:12]}")


def _unwritable(error: OSError) -> ToolkitError:
    reason = (error.strerror or str(error)).lower()
    return ToolkitError(f"cannot write into {home()}: {reason}", "set TANDEM_HOME to a folder of yours")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`, renamed to it when the block ends well and removed when it does not.

    An older folder at `path` is replaced, and as a whole: it is moved aside before it is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(path.parent, f".{path.name}.", ".part") as part:
        yield part
        part.chmod(0o777 & ~umask())
        if not path.exists():
            part.rename(path)
            return
        old, handle = part.with_suffix(".old.part"), lock_file(path)
        try:
            path.rename(old)
            part.rename(path)
        finally:
            if not path.exists():
                old.rename(path)
            shutil.rmtree(old, ignore_errors=True)
            if handle is not None:
                os.close(handle)
