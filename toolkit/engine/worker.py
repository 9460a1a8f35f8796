"""What runs in a worker's process: load once, then compute unit after unit, from file to file."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any, NamedTuple

from toolkit import __version__
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import set_quiet
from toolkit.engine.unit_files import packed_text, read_unit, write_text
from toolkit.engine.units import Work, set_threads


class Settings(NamedTuple):
    """What every worker is to have alike.

    threads  that models compute with
    folder   the working folder, by which relative paths are meant
    version  of Tandem
    """

    threads: int
    folder: str
    version: str


class Failure(NamedTuple):
    """Why a worker could not do what it was asked: for people."""

    message: str
    hint: str = ""


class UnitWorker:
    """One worker. What it is given and gives are paths, digests and facts; all else goes through files."""

    def __init__(self, settings: Settings):
        self.settings, self.work = settings, None

    def load(self, work: Work) -> dict[str, Any] | Failure:
        """Load what the work needs; its facts."""
        if self.settings.version != __version__:
            return Failure(
                f"{socket.gethostname()} has tandem-ir {__version__}, not {self.settings.version}",
                "install one version everywhere",
            )
        settle(self.settings)
        self.work = work
        return self._tried(work.facts)

    def compute(self, unit: Path, digest: str, result: Path) -> float | Failure:
        """Compute one unit into a file; the size of that in bytes."""

        def compute() -> int:
            text = packed_text(self.work.compute(read_unit(unit, digest)))
            write_text(result, text)
            return len(text)

        return self._tried(compute)

    def _tried(self, do: Any) -> Any:
        try:
            return do()
        except ToolkitError as error:
            return Failure(f"{socket.gethostname()}: {error.message}", error.hint)
        except (OSError, ValueError, MemoryError) as error:
            return Failure(f"{socket.gethostname()}: {type(error).__name__}: {error}")


def settle(settings: Settings) -> None:
    """Make this process a worker's: its threads, its working folder where the node has that, and no bars and notes."""
    set_quiet(True)  # what is to be said is in the results
    set_threads(settings.threads)
    if os.path.isdir(settings.folder):
        os.chdir(settings.folder)
