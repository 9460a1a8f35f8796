"""Which engine a job is computed by: a name becomes an executor, and with it the job is made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.specs import ENGINE
from toolkit.engine import LocalExecutor
from toolkit.jobs.file_job import Job, Product, RunJob


def make(
    job: Job[Product],
    *,
    engine: str | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    gpus_per_worker: float | None = None,
) -> Product:
    """Make what a job makes, by an engine.

    engine              `local` (this process, the default), `ray` (workers on this machine), `ray:ADDRESS` (a cluster, which
                        sees the folder of the output)
    workers             None for as many as the cluster has room for
    threads_per_worker  CPUs of a worker; of `local` the threads of models, None for all cores
    gpus_per_worker     None for one where the cluster has GPUs

    Raises ToolkitError for an engine that there is not, numbers without meaning, and what only this process can compute.
    """
    name, _, address = (engine or "local").partition(":")
    if name == "local" and not address:
        if given := [f"{what} per worker" if what != "workers" else what for what, value in _counts(workers, gpus_per_worker)]:
            raise ToolkitError(f"{' and '.join(given)} without a cluster", "name one with --engine ray")
        job.executor = LocalExecutor(threads_per_worker)
        return job.make()
    if name != "ray":
        raise ToolkitError(f"no engine {engine!r}", "known: local, ray, ray:ADDRESS")
    from toolkit.engine.ray_engine import RayExecutor

    job.check_divisible()
    with RayExecutor(address, workers=workers, threads=threads_per_worker, gpus=gpus_per_worker) as job.executor:
        return job.make()


def run_by(job: RunJob, **engine: Any) -> Run:
    """The one run that a job makes, under its tag."""
    [made] = make(job, **engine)
    return replace(made.run, tag=job.tag or made.run.tag)


def engine_of(how: dict[str, Any]) -> dict[str, Any]:
    """What `make` takes, taken out of the options of a call."""
    return {name: how.pop(name) for name in ENGINE if name in how}


def _counts(workers: int | None, gpus: float | None) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in (("workers", workers), ("gpus", gpus)) if value is not None]
