"""A cluster of this process: real workers, files and order of events, without Ray and without other processes."""

import copy
from collections import deque
from functools import partial
from unittest.mock import patch

from toolkit import __version__
from toolkit.core.system.progress import is_quiet, set_quiet
from toolkit.engine.dispatch import Lost, Report
from toolkit.engine.ray_engine import RayExecutor
from toolkit.engine.worker import Failure, Settings, UnitWorker


class Here:
    """Workers of this process that report in the order that `choose` says: the place of the next report among those due.

    lost    how often a worker is lost at its n-th unit (from 0), by the number of all units given so far
    unready  how many of the first workers end before they are ready
    nodes    where the workers are, one after the other
    full     nodes where no unit can be computed; `broken`: where nothing can be loaded
    """

    def __init__(
        self, choose=lambda count: 0, *, lost=(), unready=0, version=__version__, origins=(), nodes="", full="", broken=""
    ):
        self.choose, self.lost, self.unready, self.origins = choose, set(lost), unready, deque(origins)
        self.nodes, self.full, self.broken, self.where = deque(nodes), full, broken, []
        self.settings, self.kept = Settings(1, "/nowhere", version), []
        self.due, self.given, self.started, self.ended = [], [], 0, []

    def start(self, work):
        worker = UnitWorker()
        if self.nodes:
            worker.node = partial(str, self.nodes.popleft())
        self.started += 1
        if self.started <= self.unready:
            self.due.append(Report(worker, Lost("no memory")))
            return worker
        if worker.node() in self.broken:
            self.due.append(Report(worker, Failure(f"{worker.node()}: No space left on device")))
            return worker
        theirs = copy.copy(work)
        theirs.__dict__ = work.__getstate__()
        if self.origins:
            theirs.origin = self.origins.popleft()
        before = is_quiet()
        with patch("toolkit.engine.worker.gc"):  # all that this process has ever imported would be gone through for each worker
            self.due.append(Report(worker, worker.load(theirs, self.settings)))
        set_quiet(before)  # a worker makes its process quiet, and this one is the test's
        return worker

    def give(self, worker, files, number, digest):
        count = len(self.given)
        self.given.append(files.read_unit(number, digest))
        self.where.append(worker.node())
        if worker.node() in self.full:
            said = Failure(f"{worker.node()}: No space left on device")
        else:
            said = Lost("killed") if count in self.lost else worker.compute(files, number, digest)
        self.due.append(Report(worker, said))

    def wait(self, seconds):
        assert self.due, "nobody will ever report"
        return self.due.pop(self.choose(len(self.due)) % len(self.due))

    def keep(self, worker):
        self.kept.append(worker)

    def end(self, worker):
        self.ended.append(worker)


class HereExecutor(RayExecutor):
    """The engine with the workers of a `Here` cluster in place of Ray's; `units` counts what was given to them."""

    def __init__(self, workers=2, units=None, **cluster):
        super().__init__(workers=workers, units=units)
        self.how, self.units = cluster, 0

    def _cluster(self, work):
        return Here(**self.how), self.workers

    def _end_workers(self, **how):
        if self._dispatch:
            self.units += len(self._dispatch.cluster.given)
        super()._end_workers(**how)
