"""Units to workers and results back in order, whoever the workers are: what ends, fails or is lost is given to others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from toolkit import __version__
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.engine.unit_files import UnitFiles, digest_of, packed_text
from toolkit.engine.units import Work
from toolkit.engine.worker import Failure

MEMORY = "is there enough memory for a model a worker? fewer --workers take less"
ATTEMPTS = 3  # of a unit, and of workers that end before they are ready


class Lost(NamedTuple):
    """A worker is there no more: why, for people."""

    message: str


class Report(NamedTuple):
    """What a worker says: facts when it is ready, a number of bytes when a unit is done; `Failure`, `Lost`."""

    worker: Any
    said: Any


class Cluster(Protocol):
    """Who starts workers and hears from them; a worker is any hashable value."""

    def start(self, work: Work) -> Any:
        """A new worker, which reports when it is ready."""

    def give(self, worker: Any, unit: Path, digest: str, result: Path) -> None:
        """Let a worker compute a unit, on which it reports."""

    def wait(self) -> Report:
        """The next report."""

    def end(self, worker: Any) -> None:
        """End a worker."""


@dataclass
class _Unit:
    """A unit on its way. name: what it is, for messages; size: how far it moves the progress."""

    number: int
    digest: str
    name: str
    size: int
    path: Path
    failures: list[Failure | Lost] = field(default_factory=list)


class Dispatch:
    """The workers of one kind of work on a cluster; `folder` is where all of them see units and results."""

    def __init__(self, cluster: Cluster, work: Work, workers: int, folder: Path):
        self.cluster, self.work, self.folder = cluster, work, folder
        self._starting = {cluster.start(work) for _ in range(workers)}
        self._idle: list[Any] = []
        self._running: dict[Any, _Unit] = {}
        self._facts: dict[str, Any] | None = None
        self._ended = 0  # workers in a row that ended before they were ready
        self._begin()

    def _begin(self) -> None:
        self._again: deque[_Unit] = deque()
        self._done: dict[int, str] = {}  # number of a unit -> its digest; results wait on disk until it is their turn
        self._failed: list[_Unit] = []

    def close(self) -> None:
        """End all workers."""
        for worker in (*self._starting, *self._idle, *self._running):
            self.cluster.end(worker)

    def facts(self) -> dict[str, Any]:
        """Those of the first worker that is ready; a worker with others is refused."""
        while self._facts is None:
            self._hear()
        return dict(self._facts)

    def map(self, units: Iterable[Any]) -> Iterator[Any]:
        """The results in the order of the units, which are read as workers get idle.

        Raises ToolkitError for units that failed ATTEMPTS times, once all others are computed; for workers that cannot start,
        and where no result is heard of any more.
        """
        self._begin()
        identity = {"work": type(self.work).__name__, "version": __version__, **self.work.identity(), "facts": self.facts()}
        files = UnitFiles(self.folder, identity)
        new, count, more = self._new(units, files), 0, True
        while True:
            while self._idle and (more or self._again):
                unit = self._again.popleft() if self._again else next(new, None)
                if unit is None:
                    more = False
                else:
                    self._give(unit, files)
            while count in self._done:
                yield self.work.result(files.await_result(self._done.pop(count)))
                count += 1
            if not (more or self._again or self._running):
                break
            self._hear()
        if self._failed:
            raise self._refusal()

    def _new(self, units: Iterable[Any], files: UnitFiles) -> Iterator[_Unit]:
        """The units whose results are not there yet, written for a worker."""
        for number, unit in enumerate(units):
            text, size = packed_text(self.work.pack(unit)), self.work.size(unit)
            digest = digest_of(text)
            packed = files.read(digest)
            if packed is not None and self.work.is_there(packed):
                self._done[number] = digest
                self.work.moved(size)
            else:
                yield _Unit(number, digest, self.work.unit_name(unit), size, files.send(number, text))

    def _give(self, unit: _Unit, files: UnitFiles) -> None:
        worker = self._idle.pop()
        self._running[worker] = unit
        self.cluster.give(worker, unit.path, unit.digest, files.result_path(unit.digest))

    def _hear(self) -> None:
        """Wait for a report and do what follows from it."""
        worker, said = self.cluster.wait()
        lost = isinstance(said, Lost)
        if worker in self._starting:
            self._starting.remove(worker)
            if isinstance(said, Failure):
                self.cluster.end(worker)
                raise ToolkitError(said.message, said.hint, status=1)
            if lost:
                self._ended += 1
                if self._ended >= ATTEMPTS:
                    raise ToolkitError(f"workers end before they are ready: {said.message}", MEMORY, status=1)
            else:
                self._ended = 0
                self._ready(worker, said)
        else:
            unit = self._running.pop(worker)
            if not lost:
                self._idle.append(worker)
            self._after(unit, said)
        if lost:
            self.cluster.end(worker)
            self._starting.add(self.cluster.start(self.work))

    def _ready(self, worker: Any, facts: dict[str, Any]) -> None:
        if self._facts is None:
            self._facts = facts
        if facts != self._facts:
            self.cluster.end(worker)
            differing = ", ".join(name for name in {**facts, **self._facts} if facts.get(name) != self._facts.get(name))
            raise ToolkitError(f"workers differ in {differing}", "give every node the same files and kind of machine", status=1)
        self._idle.append(worker)

    def _after(self, unit: _Unit, said: Any) -> None:
        """A unit was computed, failed, or its worker was lost."""
        if not isinstance(said, Failure | Lost):
            unit.path.unlink(missing_ok=True)
            self._done[unit.number] = unit.digest
            self.work.moved(unit.size)
            return
        unit.failures.append(said)
        times = len(unit.failures)
        say(f"note: {self.work.name}, {unit.name}: attempt {times} of {ATTEMPTS} failed: {said.message}")
        (self._again if times < ATTEMPTS else self._failed).append(unit)

    def _refusal(self) -> ToolkitError:
        """The error that names the units that failed, with why; the hint is that of the first where all have one."""
        lasts = [unit.failures[-1] for unit in self._failed]
        problems = [f"{unit.name}: {last.message}" for unit, last in zip(self._failed, lasts, strict=True)]
        hints = {last.hint for last in lasts if isinstance(last, Failure)}
        hint = hints.pop() if len(hints) == 1 else ""
        resume = "all others are computed: the same command repeats these alone"
        message = f"{self.work.name}: {len(problems)} unit{'s' * (len(problems) > 1)} failed {ATTEMPTS} times"
        return ToolkitError(message, f"{hint}; {resume}" if hint else resume, problems=problems, status=1)
