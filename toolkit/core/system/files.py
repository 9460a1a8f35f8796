"""Files that are either complete or not there, compressed by their name, `-` for standard input and output.

And where files lie: TANDEM_HOME; what comes with Tandem, in a checkout beside the package, in an installation within it.

Temporary files and folders are locked (flock) as long as the process lives that writes them, so that a later one can tell and
remove what a killed one has left.
"""

import fcntl
import gzip
import hashlib
import io
import os
import re
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from toolkit.core.errors import ToolkitError
from toolkit.core.system.lazy_names import pyarrow

# folders in the system's temporary one
PIPES, REPLAY, UNITS, RAY = "tandem-pipes-", "tandem-regress-", "tandem-units-", "tandem-ray-"
# `.NAME.x1y2z3w4.part`, as `tempfile` makes them; what gives way to a new folder is `.NAME.x1y2z3w4.old.part`
TEMPORARY = re.compile(rf"\.(?P<name>.+)\.[a-z0-9_]{{8}}(\.old)?\.part|(?P<whole>{PIPES}|{REPLAY}|{UNITS}|{RAY})[a-z0-9_]{{8}}")

SAFE, RATIO = 1 << 30, 200  # a compressed file unpacks to so many bytes, or to so many times its size, where that is more

AS_FILES = "become one in names of files (there / is -, and case and composed letters may not count)"
PACKAGE = Path(__file__).resolve().parents[2]
FOLDERS = ("topics", "qrels", "indexes", "runs")


def file_word(name: str) -> str:
    """A name as it tells files apart everywhere: `/` is `-`, and a file system may ignore case and how letters are composed."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).replace("/", "-")


def as_one(names: Iterable[str]) -> tuple[str, str] | None:
    """The first two names that become one where files are named by them; None where all stay apart."""
    seen: dict[str, str] = {}
    return next(((first, name) for name in names if (first := seen.setdefault(file_word(name), name)) != name), None)


def check_exists(path: str | Path) -> None:
    """Raises ToolkitError for a path at which there is nothing."""
    if not Path(path).exists():
        raise ToolkitError(f"no file {path}", "check the path")


def open_input(path: str | Path) -> BinaryIO:
    """Open for reading as bytes; `.gz` and `.zst` are decompressed on the fly, `-` is standard input.

    Raises ToolkitError where the file is missing or a folder, and, while it is read, where it unpacks to far more than a text
    does. A truncated archive shows only while reading (EOFError, zlib.error, or an OSError without errno): readers turn that
    into their own error with the file's name.
    """
    if str(path) == "-":
        return sys.stdin.buffer
    check_exists(path)
    path = Path(path)
    if path.is_dir():
        raise ToolkitError(f"{path} is a folder, not a file", "name a file in it")
    if path.suffix == ".gz":
        packed = gzip.open(path, "rb")  # noqa: SIM115  closed with what is read of it
    elif path.suffix == ".zst":
        # zstandard's own reader takes a file that breaks off for a complete one
        packed = io.BufferedReader(pyarrow.input_stream(str(path), compression="zstd"))
    else:
        return path.open("rb")
    return io.BufferedReader(_Unpacked(packed, path), 1 << 16)


class _Unpacked(io.RawIOBase):
    """What a compressed file unpacks to, up to a bound: a run has a tenth to a fifth of its size, a bomb a thousandth."""

    def __init__(self, file: BinaryIO, path: Path):
        self._file, self._path = file, path
        self._left = max(SAFE, RATIO * path.stat().st_size)

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:
        """What there is, before it is waited for more: where data breaks off, the line is known."""
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data
        self._left -= len(data)
        if self._left < 0:
            message = f"{self._path} unpacks to more than {RATIO} times its size"
            raise ToolkitError(message, "unpack it yourself, if it is what it should be")
        return len(data)

    def close(self) -> None:
        """Close the file below too."""
        self._file.close()
        super().close()


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends well and removed when it does not.

    A link stays, and what it points to is replaced. Raises ToolkitError where `path` is a folder.
    """
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise ToolkitError(f"{path} is a folder, not a file", "name a file in it")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _temporary(path.parent, f".{path.name}.", ".part", _new_file) as part:
        yield part
        # a temporary file is its owner's alone; a result is as readable as the user's other files
        part.chmod(0o666 & ~umask())
        part.replace(path)


def temporary_folder(parent: Path, prefix: str, suffix: str = "") -> AbstractContextManager[Path]:
    """A folder that is removed when the block ends, unless it was renamed; those of killed processes are removed first."""
    return _temporary(parent, prefix, suffix, tempfile.mkdtemp)


@contextmanager
def _temporary(parent: Path, prefix: str, suffix: str, make: Callable[..., str]) -> Iterator[Path]:
    for left in _left_in(parent).get(prefix, ()):
        remove_left(left)
    while True:
        path = Path(make(prefix=prefix, suffix=suffix, dir=parent))
        with suppress(FileNotFoundError, BlockingIOError):  # another process has taken it for one that was left: once more
            handle = lock_file(path)
            break
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def _new_file(**how: object) -> str:
    handle, name = tempfile.mkstemp(**how)
    os.close(handle)
    return name


@cache
def _left_in(folder: Path) -> dict[str, list[Path]]:
    """Temporary files and folders that lie in a folder when this process first writes there, by what their names begin with."""
    found: dict[str, list[Path]] = {}
    with suppress(PermissionError):  # one may write into a folder that one may not list
        for name in os.listdir(folder):
            if match := TEMPORARY.fullmatch(name):
                found.setdefault(match["whole"] or f".{match['name']}.", []).append(folder / name)
    return found


def lock_file(path: Path) -> int | None:
    """Lock a file or folder until the descriptor that is returned is closed; None where the file system has no locks.

    Raises BlockingIOError where a living process has it, FileNotFoundError where it is not there any more.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(handle), os.stat(path)):
            raise FileNotFoundError(path)
    except OSError as error:
        os.close(handle)
        if isinstance(error, BlockingIOError | FileNotFoundError):
            raise
        return None
    return handle


def remove_left(path: Path) -> bool:
    """Remove a temporary file or folder, if a process of this user has left it that lives no more; whether it did.

    A folder that was to give way to a new one which did not come (`.NAME.*.old.part`) gets its name back.
    """
    try:
        handle = lock_file(path)
    except OSError:
        return False
    if handle is None:
        return False
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            return False
        match = TEMPORARY.fullmatch(path.name)
        if match and path.name.endswith(".old.part") and not (named := path.with_name(match["name"])).exists():
            path.rename(named)
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
        return not path.exists()
    except OSError:
        return False
    finally:
        os.close(handle)


def umask() -> int:
    """What new files of the user do not allow."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def open_output(path: str | Path) -> Iterator[BinaryIO]:
    """Open for writing as bytes, complete or not at all; compressed by suffix, `-` is standard output.

    The bytes depend on what is written alone (gzip gets no time and no name). Pipes and devices (`/dev/stdout`,
    `/dev/null`, the shell's `>(command)`) are written to, never replaced.
    """
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    with nullcontext(path) if is_stream(path) else atomic_path(path) as place, place.open("wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed:
                yield packed
        elif path.suffix == ".zst":
            import zstandard

            with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as packed:
                yield packed
        else:
            yield raw


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8, as `open_output` does."""
    with open_output(path) as out:
        out.write(text.encode())


def sha256_of(path: str | Path) -> str:
    """SHA-256 of a file's bytes, as they are on disk."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_stream(path: str | Path) -> bool:
    """Whether it is a stream: `-`, a pipe, a device. Nothing can be read of it again or lie beside it."""
    path = Path(path)
    return str(path) == "-" or (path.exists() and not path.is_file() and not path.is_dir())


def home() -> Path:
    """The folder of everything that Tandem stores: TANDEM_HOME, `~/.cache/tandem` where that is not set.

    Looked up at each call; made by the first that writes into it.
    """
    return Path(os.environ.get("TANDEM_HOME") or Path.home() / ".cache" / "tandem").absolute()


def shipped(folder: str, *parts: str) -> Path:
    """The path of a shipped file or folder: the checkout's where there is one, else the installed one.

    folder  one of `topics`, `qrels`, `indexes`, `runs` (setup.cfg maps them to `toolkit/shipped/<folder>`)
    """
    assert folder in FOLDERS, folder
    checkout = PACKAGE.parent
    root = checkout if (checkout / "setup.cfg").is_file() else PACKAGE / "shipped"
    return root.joinpath(folder, *parts)


def corpora(*parts: str) -> Path:
    """The path of a mini benchmark's sources (`toolkit/datasets/corpora/<benchmark>/`)."""
    return PACKAGE.joinpath("datasets", "corpora", *parts)
