"""Which engine a job is computed by: a name becomes an executor, and with it the job is made."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.specs import ENGINE
from toolkit.engine import Executor, LocalExecutor
from toolkit.jobs.file_job import Job, Product, RunJob


@contextmanager
def opened(
    *,
    engine: str | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    gpus_per_worker: float | None = None,
    units: str | Path | None = None,
) -> Iterator[Executor]:
    """An engine for the jobs of a block: one connection, one cluster of this machine for all of them.

    engine              `local` (this process, the default), `ray` (workers on this machine), `ray:ADDRESS` (a cluster)
    workers             None for as many as the cluster has room for
    threads_per_worker  CPUs of a worker; of `local` the threads of models, None for all cores
    gpus_per_worker     None for one where the cluster has GPUs
    units               where all nodes see units and results until the output is there: a folder, or an address
                        (`s3://BUCKET/FOLDER`, `gs://...`); None for beside the output

    Raises ToolkitError for an engine that there is not, numbers without meaning, and an address that is none.
    """
    name, _, address = (engine or "local").partition(":")
    if name == "local" and not address:
        cluster = {"workers": workers, "gpus per worker": gpus_per_worker, "units": units}
        if given := [name for name, value in cluster.items() if value is not None]:
            raise ToolkitError(f"{' and '.join(given)} without a cluster", "name one with --engine ray")
        yield LocalExecutor(threads_per_worker)
        return
    if name != "ray":
        raise ToolkitError(f"no engine {engine!r}", "known: local, ray, ray:ADDRESS")
    from toolkit.engine.ray_engine import RayExecutor

    with RayExecutor(address, workers=workers, threads=threads_per_worker, gpus=gpus_per_worker, units=units) as executor:
        yield executor


def make(job: Job[Product], **engine: Any) -> Product:
    """Make what a job makes, by an engine as `opened` takes it. Raises ToolkitError as that and `make_by` do."""
    with opened(**engine) as executor:
        return make_by(executor, job)


def make_by(executor: Executor, job: Job[Product]) -> Product:
    """Make what a job makes, by an engine that is open. ToolkitError for what only this process can compute."""
    if not isinstance(executor, LocalExecutor):
        job.check_divisible()
    job.executor = executor
    return job.make()


def run_by(job: RunJob, **engine: Any) -> Run:
    """The one run that a job makes, under its tag."""
    [made] = make(job, **engine)
    return replace(made.run, tag=job.tag or made.run.tag)


def engine_of(how: dict[str, Any]) -> dict[str, Any]:
    """What `opened` takes, taken out of the options of a call."""
    return {name: how.pop(name) for name in ENGINE if name in how}
