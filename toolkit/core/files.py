"""Files that are either complete or not there, compressed by their name, `-` for standard input and output."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from toolkit.core.errors import ToolkitError


def open_input(path: str | Path) -> BinaryIO:
    """Open for reading as bytes; `.gz` and `.zst` are decompressed on the fly, `-` is standard input.

    Raises ToolkitError where the file is missing or a folder. A truncated archive shows only while reading
    (EOFError, zlib.error, or an OSError without errno): readers turn that into their own error with the file's name.
    """
    if str(path) == "-":
        return sys.stdin.buffer
    path = Path(path)
    if not path.exists():
        raise ToolkitError(f"no file {path}", "check the path")
    if path.is_dir():
        raise ToolkitError(f"{path} is a folder, not a file", "name a file in it")
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".zst":
        import pyarrow

        # zstandard's own reader takes a file that breaks off for a complete one
        return io.BufferedReader(pyarrow.input_stream(str(path), compression="zstd"))
    return path.open("rb")


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends well and removed when it does not.

    A link stays, and what it points to is replaced. Raises ToolkitError where `path` is a folder.
    """
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise ToolkitError(f"{path} is a folder, not a file", "name a file in it")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        # mkstemp makes files that only their owner may read; a result is as readable as the user's other files
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o666 & ~umask)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


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
    target = nullcontext(path) if is_stream(path) else atomic_path(path)
    with target as place, place.open("wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed:
                yield packed
        elif path.suffix == ".zst":
            import zstandard

            with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as packed:
                yield packed
        else:
            yield raw


def is_stream(path: str | Path) -> bool:
    """Whether it is a stream: `-`, a pipe, a device. Nothing can be read of it again or lie beside it."""
    path = Path(path)
    return str(path) == "-" or (path.exists() and not path.is_file() and not path.is_dir())
