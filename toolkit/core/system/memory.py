"""A bound for the memory of what reads files of others: one that is made to fill it ends in a MemoryError, not the process."""

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ONE_AT_A_TIME = threading.RLock()  # or one thread would restore the bound of another
STATM = Path("/proc/self/statm")  # pages of address space first; Linux alone has it


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
