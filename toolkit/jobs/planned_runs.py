"""Several runs, one after the other: what is there and up to date is not made again, and one that fails ends no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import say
from toolkit.engine import Executor
from toolkit.jobs.file_job import Job, make_by
from toolkit.jobs.up_to_date import why_outdated


@dataclass(frozen=True)
class PlannedRun:
    """One run: a system's on a benchmark, or of a reranker over such a run.

    name    of the run, its tag and its file
    job     makes the job; of a reranker only once the run that it reranks is there
    before  the run that is reranked
    outdated  why the file is not what the job would make, empty where it is; of a run `why_outdated` says it
    """

    benchmark: str
    name: str
    path: Path
    job: Callable[[], Job]
    before: PlannedRun | None = None
    outdated: Callable[[], str] | None = None

    @property
    def is_ready(self) -> bool:
        """Whether what it is made of is there."""
        return self.before is None or self.before.path.exists()


@dataclass(frozen=True)
class Failure:
    """What could not be done, and why."""

    what: str
    error: ToolkitError


def reason_to_make(run: PlannedRun) -> str:
    """Why a run has to be made, empty where it is there as it would be made now. ToolkitError where it cannot be made."""
    return run.outdated() if run.outdated else why_outdated(run.job(), run.path)


def make_run(run: PlannedRun, failures: list[Failure], executor: Executor) -> bool:
    """Make a run that is not there or out of date; whether it is there then, and as it should be. What fails is added.

    executor  who computes: one for all runs, see `toolkit.jobs.file_job.opened`
    """
    if run.before and any(failure.what == str(run.before.path) for failure in failures):
        say(f"{run.path}: left out, as the run that it reranks is not there")
        return False
    with recorded(str(run.path), failures):
        reason = reason_to_make(run)
        say(f"{run.path}: {reason or 'up to date'}")
        if reason:
            make_by(executor, run.job())
        return True
    return False


@contextmanager
def recorded(what: str, failures: list[Failure]) -> Iterator[None]:
    """Put what a block raises among the failures: that of one system, a bug in its own code too, ends no other's work."""
    try:
        yield
    except ToolkitError as error:
        failures.append(Failure(what, error))
    except Exception as error:
        failed = ToolkitError(f"{type(error).__name__}: {error}", "make this run alone with --debug to see where", status=1)
        failures.append(Failure(what, failed))
