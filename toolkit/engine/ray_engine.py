"""The Ray engine: a worker is an actor, with a model of its own; which of them computes a unit changes nothing."""

from __future__ import annotations

import hashlib
import math
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from toolkit import __version__
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.system.files import UNITS, is_stream, temporary_folder
from toolkit.core.system.progress import say
from toolkit.engine.dispatch import Dispatch, Lost, Report
from toolkit.engine.places import Place
from toolkit.engine.ray_session import RaySession
from toolkit.engine.unit_files import UnitFiles, mark, unmark
from toolkit.engine.units import Result, Unit, Work
from toolkit.engine.worker import Failure, Settings, UnitWorker

ANSWERS = 10  # seconds for which a worker that was kept may take to say that it is there


class RayExecutor:
    """Units are computed by the workers of a Ray cluster.

    address  see `RaySession`
    workers  how many; None for as many as the cluster has room for
    threads  CPUs of a worker, which its model computes with
    gpus     of a worker; None for one where the cluster has GPUs and the work uses them
    units    a `Place` for units and results, in a folder for each output; None for a folder beside the output
    """

    def __init__(
        self,
        address: str = "",
        *,
        workers: int | None = None,
        threads: int | None = None,
        gpus: float | None = None,
        units: str | Path | None = None,
    ):
        check_counts(workers=workers, threads_per_worker=threads)
        if gpus is not None and not (0 <= gpus < math.inf and (gpus <= 1 or gpus == int(gpus))):
            raise ToolkitError(f"gpus per worker is {gpus:g}", "a fraction of one GPU, or a whole number of them")
        if address.startswith("ray://"):
            hint = "name HOST:PORT of the head (6379), and start the command on a node of the cluster"
            raise ToolkitError(f"{address} is for Ray's client, which sees none of this machine's files", hint)
        self.address, self.workers, self.threads, self.gpus = address, workers, threads or 1, gpus
        self._session: RaySession | None = None
        self._dispatch: Dispatch | None = None
        self._work: Work | None = None
        self._kept = KeptWorkers()
        self._units = None if units is None else Place(units)
        self._place: Place | None = None
        self._mark = ""
        self.sees_files = units is None

    @contextmanager
    def job(self, output: Path | None) -> Iterator[None]:
        """See `Executor`: units and results lie in `units`, else in `.NAME.units` beside the output."""
        streams = output is None or is_stream(output)
        if streams and self.address and self._units is None:
            hint = "name one with --output, or a place with --units"
            raise ToolkitError("no file to write, beside which the workers' results can lie", hint)
        self._mark = ""
        alone = streams and self._units is None
        with temporary_folder(Path(tempfile.gettempdir()), UNITS) if alone else nullcontext() as folder:
            self._place = place = Place(folder) if alone else self._place_of(None if streams else output)
            try:
                yield
            except BaseException:
                self._end_workers()
                self._kept.end()
                if streams and self._mark:
                    remove_units(place)
                elif self._mark:
                    unmark(place)
                raise
            else:
                self._end_workers(keep=True)
                if self._mark:
                    remove_units(place)
            finally:
                self._place = None

    def _place_of(self, output: Path | None) -> Place:
        """Where units and results of what makes a file or folder lie until it is there; None for a stream."""
        if self._units is None:
            return Place(output.absolute().with_name(f".{output.name}.units"))
        if output is None:
            return self._units / f"{secrets.token_hex(8)}.units"
        whose = hashlib.sha256(str(output.absolute()).encode()).hexdigest()[:12]
        return self._units / f"{re.sub(r'[^A-Za-z0-9._-]', '-', output.name)}.{whose}.units"

    def facts(self, work: Work) -> dict[str, Any]:
        """See `Executor`."""
        return self._workers(work).facts()

    def map(self, compute: Callable[[Unit], Result], units: Iterable[Unit]) -> Iterator[Result]:
        """See `Executor`."""
        if not isinstance(compute, Work):
            raise ToolkitError("this step is not divided among workers", "leave --engine out")
        return self._workers(compute).map(units)

    def close(self) -> None:
        """End the workers and the connection."""
        self._end_workers()
        self._kept.end()
        if self._session:
            self._session.close()
            self._session = None

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _workers(self, work: Work) -> Dispatch:
        if self._work is not work:
            self._end_workers(keep=True)
            self._mark = self._mark or mark(self._place)
            cluster, count = self._cluster(work)
            self._dispatch, self._work = Dispatch(cluster, work, count, self._place), work
        return self._dispatch

    def _end_workers(self, *, keep: bool = False) -> None:
        """End the workers; those that are idle may be kept for the next work that needs the same of a node."""
        if self._dispatch:
            self._dispatch.close(keep=keep)
        self._dispatch = self._work = None

    def _cluster(self, work: Work) -> tuple[RayCluster, int]:
        """What workers are asked for, and how many of them."""
        if self._session is None:
            cpus = (self.workers or max(1, (os.cpu_count() or 1) // self.threads)) * self.threads
            self._session = RaySession(self.address, cpus, 0 if self.gpus == 0 else None)
        nodes = self._session.nodes()
        some = any(node.get("GPU") for node in nodes)
        needs = {"CPU": self.threads, "GPU": (1 if some and work.uses_gpu else 0) if self.gpus is None else self.gpus}
        needs["memory"] = work.memory("cuda:0" if needs["GPU"] else "cpu") or 0
        room = sum(room_of(node, needs) for node in nodes)
        if not room:
            wanted = ", ".join(f"{amount:,} {name}" for name, amount in needs.items() if amount)
            message = f"no node of the cluster has {wanted} for a worker"
            raise ToolkitError(message, "ask for less, or take larger nodes", status=1)
        if self.workers and self.workers > room:
            say(f"note: the cluster has room for {room} of {self.workers} workers; the others start as soon as it has more")
        self._kept.fit(needs)
        settings = Settings(self.threads, os.getcwd(), __version__, self._place, self._mark)
        return RayCluster(needs, settings, self._session, self._kept), self.workers or room


def remove_units(place: Place) -> None:
    """Remove what is needed no more; what the job made is there whether or not that can be done."""
    try:
        place.remove_all()
    except (ToolkitError, OSError) as error:
        say(f"warning: units and results could not be removed: {error}")


def room_of(node: dict[str, float], needs: dict[str, float]) -> int:
    """How many workers a node has room for."""
    return int(min((node.get(name, 0) / amount for name, amount in needs.items() if amount), default=0))


class RayWorker(UnitWorker):
    """One that knows its node: a machine may have several."""

    def node(self) -> str:
        """`HOST (node 1a2b3c4d)`."""
        import ray

        return f"{super().node()} (node {ray.get_runtime_context().get_node_id()[:8]})"


class KeptWorkers:
    """Actors that are idle after their work: to start one takes seconds, and to load a model may take minutes."""

    def __init__(self) -> None:
        self._needs: dict[str, float] = {}
        self.actors: list[Any] = []

    def fit(self, needs: dict[str, float]) -> None:
        """End those that have other resources than the next work needs, which may need theirs."""
        if needs != self._needs:
            self.end()
        self._needs = needs

    def take(self) -> Any | None:
        """One that still answers, if there is one."""
        if not self.actors:
            return None
        import ray

        while self.actors:
            actor = self.actors.pop()
            try:
                ray.get(actor.node.remote(), timeout=ANSWERS)
                return actor
            except (ray.exceptions.RayError, TimeoutError):
                ray.kill(actor)
        return None

    def end(self) -> None:
        """End all."""
        if not self.actors:
            return  # Ray may not be installed
        import ray

        for actor in self.actors:
            ray.kill(actor)
        self.actors = []


class RayCluster:
    """Starts workers, which are actors, and hears from them, see `Dispatch`. Ray itself restarts none."""

    def __init__(self, needs: dict[str, float], settings: Settings, session: RaySession, kept: KeptWorkers):
        import ray

        options = {"num_cpus": needs["CPU"], "num_gpus": needs["GPU"], "max_restarts": 0, "max_task_retries": 0}
        if needs["memory"]:
            options["memory"] = needs["memory"]
        self._ray, self._actor = ray, ray.remote(RayWorker).options(scheduling_strategy="SPREAD", **options)
        self._needs, self._settings, self._session, self._kept = needs, settings, session, kept
        self._waiting: dict[Any, Any] = {}  # what a worker will say -> the worker

    def start(self, work: Work) -> Any:
        """A new worker, which reports when it is ready."""
        worker = self._kept.take() or self._actor.remote()
        self._waiting[worker.load.remote(work, self._settings)] = worker
        return worker

    def give(self, worker: Any, files: UnitFiles, number: int, digest: str) -> None:
        """Let a worker compute a unit of these files, on which it reports."""
        self._waiting[worker.compute.remote(files, number, digest)] = worker

    def wait(self, seconds: float) -> Report | None:
        """The next report, or None after so long. Raises ToolkitError where the cluster itself is lost."""
        self._session.check(lambda node: room_of(node, self._needs) > 0)
        ready, _ = self._ray.wait(list(self._waiting), num_returns=1, timeout=seconds)
        if not ready:
            return None
        worker = self._waiting.pop(ready[0])
        errors = self._ray.exceptions
        try:
            return Report(worker, self._ray.get(ready[0]))
        except errors.RayTaskError as error:
            return Report(worker, Failure(" ".join(str(error.cause).split()) or type(error.cause).__name__))
        except errors.RayError as error:
            text = " ".join(str(error).split())
            if isinstance(error, errors.OutOfMemoryError) or "low on memory" in text:
                return Report(worker, Lost("the worker was ended because its node ran out of memory"))
            return Report(worker, Lost(f"the worker ended ({text[:160]})"))

    def keep(self, worker: Any) -> None:
        """Keep a worker that is idle for other work."""
        self._kept.actors.append(worker)

    def end(self, worker: Any) -> None:
        """End a worker."""
        for reference in [reference for reference, of in self._waiting.items() if of is worker]:
            del self._waiting[reference]
        self._ray.kill(worker)
