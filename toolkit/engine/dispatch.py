"""Units to workers and results back in order, whoever the workers are: what ends, fails or is lost is given to others."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import progress, say, tell
from toolkit.engine.places import SEEN_LATE, Place
from toolkit.engine.unit_files import UnitFiles, digest_of, packed_text
from toolkit.engine.units import Work, folder_of, identity_of
from toolkit.engine.worker import Failure, Ready

if TYPE_CHECKING:
    from toolkit.engine.ray_engine import RayCluster

MEMORY = "is there enough memory for a model a worker? fewer --workers take less"
ATTEMPTS = 3  # of a unit, of workers that end before they are ready, and of a node where units fail
TICK = 5.0  # seconds between looks at the cluster while nobody reports
PATIENCE = 180.0  # seconds for which what fails on one node waits for workers that start


class Lost(NamedTuple):
    """A worker is there no more: why, for people."""

    message: str


class Report(NamedTuple):
    """What a worker says: `Ready`, a number of bytes when a unit is done, `Failure`, `Lost`."""

    worker: Any
    said: Any


@dataclass
class _Unit:
    """A unit on its way.

    name    what it is, for messages
    size    how far it moves the progress
    node    where it is; `failed`: where it has, the `last` time why
    """

    number: int
    digest: str
    name: str
    size: int
    node: str = ""
    failed: list[str] = field(default_factory=list)
    last: Failure | Lost | None = None


class Dispatch:
    """The workers of one kind of work on a cluster; `place` is where all of them see units and results."""

    def __init__(self, cluster: RayCluster, work: Work, workers: int, place: Place):
        self.cluster, self.work, self.place = cluster, work, place
        self._starting: set[Any] = set()
        for _ in range(workers):
            self._start()
        self._nodes: dict[Any, str] = {}  # of the workers that are ready
        self._idle: list[Any] = []
        self._running: dict[Any, _Unit] = {}
        self._facts: dict[str, Any] | None = None
        self._processors: set[str] = set()
        self._ended = 0  # workers in a row that ended before they were ready
        self._trouble: Counter[str] = Counter()  # node -> units in a row that failed there, and nowhere else
        self._units = self._moved = 0  # units that are done, and the sizes of those that these workers computed
        self._since: float | None = None  # the first unit was given
        self._begin()

    def _begin(self) -> None:
        self._more = True  # units to be read
        self._again: list[_Unit] = []
        self._computed: deque[_Unit] = deque()  # whose results are not collected yet
        self._done: dict[int, str] = {}  # number of a unit -> its digest; results lie in the place until it is their turn
        self._failed: list[_Unit] = []

    def close(self, *, keep: bool = False) -> None:
        """End all workers; those that are idle may be kept for other work."""
        for worker in (*self._starting, *self._nodes):
            if keep and worker in self._idle:
                self.cluster.keep(worker)
            else:
                self.cluster.end(worker)

    def facts(self) -> dict[str, Any]:
        """Those of the first worker that is ready; a worker with others is refused."""
        if self._facts is None:
            with progress(f"{self.work.name}, workers start", unit="ready"):
                while self._facts is None:
                    self._hear()
        return dict(self._facts)

    def map(self, units: Iterable[Any]) -> Iterator[Any]:
        """The results in the order of the units, which are read as workers get idle.

        Raises ToolkitError for units that failed ATTEMPTS times, once all others are computed; for workers that cannot start,
        and where no result is heard of any more.
        """
        self._begin()
        files = UnitFiles(self.place, identity_of(self.work, self.facts()))
        new, count = self._new(units, files), 0
        while True:
            for worker in list(self._idle):
                if unit := self._next(worker, new):
                    self._idle.remove(worker)
                    self._running[worker] = unit
                    unit.node, self._since = self._nodes[worker], self._since or time.monotonic()
                    self.cluster.give(worker, files, unit.number, unit.digest)
            before = len(self._again)
            while self._computed:  # once all workers have their next unit
                self._collect(self._computed.popleft(), files)
            self._tell()
            while count in self._done:
                yield self.work.result(self._result(files, self._done.pop(count)))
                count += 1
            if len(self._again) > before:
                continue
            if not (self._more or self._again or self._running):
                break
            self._hear()
        if self._failed:
            problems = [f"{unit.name}: {unit.last.message}" for unit in self._failed]
            hints = {unit.last.hint for unit in self._failed if isinstance(unit.last, Failure)}
            hint = hints.pop() if len(hints) == 1 else ""  # where all have one
            message = f"{self.work.name}: {len(problems)} unit{'s' * (len(problems) > 1)} failed {ATTEMPTS} times"
            resume = "all others are computed: the same command repeats these alone"
            raise ToolkitError(message, f"{hint}; {resume}" if hint else resume, problems=problems, status=1)

    def _new(self, units: Iterable[Any], files: UnitFiles) -> Iterator[_Unit]:
        """The units whose results are not there yet, written for a worker."""
        for number, unit in enumerate(units):
            text, size = packed_text(self.work.pack(unit)), self.work.size(unit)
            digest = digest_of(text)
            try:
                files.collect(digest, folder_of(self.work))
            except (FileNotFoundError, ValueError):  # not there, or damaged
                files.send(number, text)
                yield _Unit(number, digest, self.work.unit_name(unit), size)
            else:
                self._finish(number, digest, size)

    def _finish(self, number: int, digest: str, size: int) -> None:
        self._done[number] = digest
        self._units += 1
        self.work.moved(size)

    def _next(self, worker: Any, new: Iterator[_Unit]) -> _Unit | None:
        """What a worker is given: a unit that failed, on other nodes while there are any or may be, else a new one."""
        node, trusted = self._nodes[worker], self._trusted()
        if node not in trusted:
            return None
        for unit in self._again:
            if node not in unit.failed or (trusted.issubset(unit.failed) and not self._awaited()):
                self._again.remove(unit)
                return unit
        unit = next(new, None)
        self._more = unit is not None
        return unit

    def _trusted(self) -> set[str]:
        """The nodes that get units: those without trouble; where each has some, all of them, unless other workers start."""
        nodes = set(self._nodes.values())
        if sound := {node for node in nodes if self._trouble[node] < ATTEMPTS}:
            return sound
        return set() if self._awaited() else nodes

    def _awaited(self) -> bool:
        """Whether other workers are about to come."""
        return bool(self._starting) and time.monotonic() - self._last_start < PATIENCE

    def _collect(self, unit: _Unit, files: UnitFiles) -> None:
        """The result of a unit is done where it is seen, and its files are here; else that was an attempt."""
        try:
            files.collect(unit.digest, folder_of(self.work), SEEN_LATE)
        except FileNotFoundError:
            hint = "name an output in a folder that all nodes share, or a place with --units"
            self._repeat(unit, Failure(f"the result is not seen in {files.place}, where a worker wrote it", hint))
        except ValueError as error:
            self._repeat(unit, Failure(str(error)))
        else:
            files.remove_unit(unit.number)
            self._finish(unit.number, unit.digest, unit.size)
            self._moved += unit.size
            self._trouble[unit.node] = 0

    def _result(self, files: UnitFiles, digest: str) -> Any:
        try:
            return files.result(digest)
        except (FileNotFoundError, ValueError) as error:
            raise ToolkitError(f"{error}", "the same command computes it again", status=1) from error

    def _hear(self) -> None:
        """Wait for a report, but no longer than TICK, and do what follows from it."""
        report = self.cluster.wait(TICK)
        if report is None:
            self._tell()
            return
        worker, said = report
        if worker in self._starting:
            self._starting.remove(worker)
            self._started(worker, said)
        else:
            unit = self._running.pop(worker)
            if isinstance(said, Failure | Lost):
                self._repeat(unit, said)
            else:
                self._computed.append(unit)
            if isinstance(said, Lost):
                del self._nodes[worker]
                self.cluster.end(worker)
            else:
                self._idle.append(worker)
        if isinstance(said, Lost):
            self._start()

    def _start(self) -> None:
        self._starting.add(self.cluster.start(self.work))
        self._last_start = time.monotonic()

    def _started(self, worker: Any, said: Ready | Failure | Lost) -> None:
        """A worker is ready, or will never be."""
        if isinstance(said, Ready):
            self._ended = 0
            self._ready(worker, said)
            return
        self.cluster.end(worker)
        if isinstance(said, Failure):
            if not (self._starting or self._nodes):
                raise ToolkitError(said.message, said.hint, status=1)
            say(f"note: {self.work.name}: a worker could not start: {said.message}")
            return
        self._ended += 1
        if self._ended >= ATTEMPTS:
            raise ToolkitError(f"workers end before they are ready: {said.message}", MEMORY, status=1)

    def _ready(self, worker: Any, said: Ready) -> None:
        if self._facts is None:
            self._facts = said.facts
        if said.facts != self._facts:
            self.cluster.end(worker)
            names = {**said.facts, **self._facts}
            differing = ", ".join(name for name in names if said.facts.get(name) != self._facts.get(name))
            raise ToolkitError(f"workers differ in {differing}", "give every node the same files and libraries", status=1)
        if self._processors and said.processor not in self._processors:
            known = ", ".join(sorted(self._processors))
            say(f"note: {said.node} computes with {said.processor}, others with {known}: last digits depend on who computed")
        self._processors.add(said.processor)
        self._nodes[worker] = said.node
        self._idle.append(worker)

    def _repeat(self, unit: _Unit, said: Failure | Lost) -> None:
        """A unit failed, or its worker was lost. Where it fails on another node too, it is no node's fault."""
        unit.failed.append(unit.node)
        unit.last, times, node = said, len(unit.failed), unit.node
        say(f"note: {self.work.name}, {unit.name}: attempt {times} of {ATTEMPTS} failed: {said.message}")
        (self._again if times < ATTEMPTS else self._failed).append(unit)
        if len(set(unit.failed)) == 1:
            self._trouble[node] += 1
            if self._trouble[node] == ATTEMPTS and len(self._trusted()) < len(set(self._nodes.values())):
                say(f"note: {node} gets no more units while other nodes compute theirs: {ATTEMPTS} failed there in a row")
        elif times == 2:
            self._trouble[unit.failed[0]] -= 1

    def _tell(self) -> None:
        """Units, workers and pace, beside the progress of the work."""
        failed = f", {len(self._failed):,} failed" if self._failed else ""
        workers = f"{len(self._nodes):,} of {len(self._nodes) + len(self._starting):,} workers"
        seconds = time.monotonic() - self._since if self._since else 0
        tell(f"{self._units:,} units done{failed}, {workers}", self._moved / seconds if seconds else 0.0)
