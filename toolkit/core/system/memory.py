"""Memory: a bound for what reads files of others, a place for what is seldom asked for, what was freed given back."""

import ctypes
import resource
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

ONE_AT_A_TIME = threading.RLock()  # or one thread would restore the bound of another
STATM = Path("/proc/self/statm")  # pages of address space first; Linux alone has it
SMALL = 1 << 24  # bytes that are not worth a file


def stored(values: np.ndarray) -> Callable[[], np.ndarray]:
    """What gives the numbers back: many are put into a temporary file, which has no name and ends with its last reader."""
    if values.nbytes < SMALL:
        return lambda: values
    file, kind = tempfile.TemporaryFile(), values.dtype  # noqa: SIM115  read later
    values.tofile(file)

    def read() -> np.ndarray:
        file.seek(0)
        return np.fromfile(file, kind)

    return read


def give_back() -> None:
    """Freed memory goes to the system: where threads read large files, the C library keeps half a gigabyte of holes."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc alone has it
        trim(0)


@contextmanager
def memory_bound(extra: int) -> Iterator[None]:
    """MemoryError for what the block allocates beyond `extra` bytes, in whichever library; no bound outside of Linux."""
    if not STATM.exists():
        yield
        return
    with ONE_AT_A_TIME:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        used = int(STATM.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        limit = min(value for value in (used + extra, soft, hard) if value != resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
