"""What runs in a worker's process: load once, then compute unit after unit, from file to file."""

import gc
import os
import platform
import socket
import sys
from typing import Any, NamedTuple

from toolkit import __version__
from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import set_quiet
from toolkit.engine.places import Place
from toolkit.engine.unit_files import UnitFiles, is_seen
from toolkit.engine.units import Work, folder_of, set_threads


class Settings(NamedTuple):
    """What every worker is to have alike.

    threads  that models compute with
    folder   the working folder, by which relative paths are meant
    version  of Tandem
    place    where units and results lie, None where that is not asked; `mark` is what has been written there
    """

    threads: int
    folder: str
    version: str
    place: Place | None = None
    mark: str = ""


class Failure(NamedTuple):
    """Why a worker could not do what it was asked: for people."""

    message: str
    hint: str = ""


class Ready(NamedTuple):
    """A worker has loaded what its work needs.

    node       where it is: workers of one node share its disk and memory
    processor  what it computes with, on which the last digits of results may depend
    facts      see `Work`
    """

    node: str
    processor: str
    facts: dict[str, Any]


class UnitWorker:
    """One worker. What it is given and gives are paths, digests and facts; all else goes through files."""

    work: Work | None = None

    def node(self) -> str:
        """The name of the machine, or what a cluster calls a part of it."""
        return socket.gethostname()

    def load(self, work: Work, settings: Settings) -> Ready | Failure:
        """Load what the work needs; what was loaded for other work is given up, or taken over where it is the same."""
        if settings.version != __version__:
            message = f"{socket.gethostname()} has tandem-ir {__version__}, not {settings.version}"
            return Failure(message, "install one version everywhere")
        settle(settings)
        if work:
            work.take_over(self.work)
        self.work = work
        gc.collect()  # a model is gone before the next one is loaded
        return self._tried(lambda: self._load(settings.place, settings.mark))

    def _load(self, place: Place | None, mark: str) -> Ready:
        if place and not is_seen(place, mark):
            hint = "name an output in a folder that all nodes share, or a place that all of them reach with --units"
            raise ToolkitError(f"{place} is not seen", hint)
        return Ready(self.node(), facts=self.work.facts(), processor=processor())

    def compute(self, files: UnitFiles, number: int, digest: str) -> int | Failure:
        """Compute one unit, and write its result; how many bytes that is."""
        return self._tried(lambda: self._compute(files, number, digest))

    def _compute(self, files: UnitFiles, number: int, digest: str) -> int:
        unit = files.read_unit(number, digest)
        if folder_of(self.work) is None:
            return files.write_result(digest, self.work.compute(unit), None)
        with files.place.scratch() as self.work.folder:
            return files.write_result(digest, self.work.compute(unit), self.work.folder)

    def _tried(self, do: Any) -> Any:
        try:
            return do()
        except ToolkitError as error:
            return Failure(f"{socket.gethostname()}: {error.message}", error.hint)
        except (OSError, ValueError, MemoryError) as error:
            return Failure(f"{socket.gethostname()}: {type(error).__name__}: {error}")


def processor() -> str:
    """The GPU that torch sees first in this process, else the CPU with the instructions that torch computes by."""
    if (torch := sys.modules.get("torch")) is None:
        return platform.machine()
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{platform.machine()} CPU with {torch.backends.cpu.get_cpu_capability()}"


def settle(settings: Settings) -> None:
    """Make this process a worker's: its threads, its working folder where the node has that, and no bars and notes."""
    set_quiet(True)  # what is to be said is in the results
    set_threads(settings.threads)
    if os.path.isdir(settings.folder):
        os.chdir(settings.folder)
