"""Units of work: what a job is divided into, the same for every engine and any number of workers."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from toolkit import __version__
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.specs import ObjectSpec, SystemSpec

Unit = TypeVar("Unit")
Result = TypeVar("Result")


class Work(ABC, Generic[Unit, Result]):
    """What is done with each unit. The result of a unit depends on the unit and on `identity` and `facts` alone.

    On this machine it is called with a unit. Workers elsewhere have a copy of it without what `LOADED` names, load that once,
    and are given packed units: plain values that JSON holds, as are packed results. Bulk is written by `compute` as files (also
    in folders of their own) into `folder`, which is another one for each unit there: they are moved, compared with their
    SHA-256, and lie in the `folder` of this process when `result` is called. Names of files differ from unit to unit.

    folder   of the files that `compute` writes; work that writes none has no such attribute
    advance  is called with how much of a unit is done, in what `size` counts
    """

    LOADED: tuple[str, ...] = ()  # attributes that stay in this process: models, caches, the units' own data
    MODEL = ""  # the one of LOADED that a worker loads, and that its next work takes over where `loads` is equal

    name: str
    folder: Path
    advance: Callable[[int], Any] | None = None

    def pack(self, unit: Unit) -> Any:
        """A unit as plain values: itself, where it is made of nothing else."""
        return unit

    @abstractmethod
    def compute(self, packed: Any) -> Any:
        """The packed result of a packed unit."""

    def result(self, packed: Any) -> Result:
        """A packed result as `map` gives it."""
        return packed

    def facts(self) -> dict[str, Any]:
        """What results depend on and only a loaded model knows: plain values, the same on every worker."""
        return {}

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """What results depend on and is known before anything is loaded, as plain values."""

    def loads(self) -> Any:
        """What `MODEL` depends on, to be compared with that of other work."""
        return None

    def take_over(self, before: Work | None) -> None:
        """Take the model that other work of this process has loaded, where it is the same."""
        if self.MODEL and before and before.MODEL == self.MODEL and before.loads() == self.loads():
            setattr(self, self.MODEL, getattr(before, self.MODEL))

    def size(self, unit: Unit) -> int:
        """How far a unit that is done moves the progress."""
        return len(unit)

    def unit_name(self, unit: Unit) -> str:
        """What a unit is, for messages."""
        return f"a unit of {self.size(unit):,}"

    def memory(self, device: str) -> int | None:
        """Bytes that a worker needs that loads for `cpu` or a GPU; None where nobody knows before."""
        return None

    @property
    def uses_gpu(self) -> bool:
        """Whether a worker computes on a GPU where it has one."""
        return False

    def moved(self, done: int) -> None:
        """Tell `advance`, where there is one."""
        if self.advance:
            self.advance(done)

    def __call__(self, unit: Unit) -> Result:
        """The result of a unit, computed here."""
        return self.result(self.compute(self.pack(unit)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: None if name in (*self.LOADED, "advance") else value for name, value in self.__dict__.items()}


class ModelWork(Work[Unit, Result]):
    """Work by a model that each worker loads itself.

    spec     the system; None for a model of a server that no entry describes
    loading  how it is loaded: `device`, `precision`, `batch_size`, ...
    """

    spec: SystemSpec | None
    loading: Mapping[str, Any]

    def loads(self) -> Any:
        """See `Work`."""
        return self.spec, dict(self.loading)

    def memory(self, device: str) -> int | None:
        """See `Work`."""
        from toolkit.models.checkpoints.local_checkpoints import memory_of

        return memory_of(self.spec, self.loading.get("precision"), device) if self.spec else None

    @property
    def uses_gpu(self) -> bool:
        """See `Work`."""
        return self.spec is not None and self.spec.loader != "endpoint" and self.loading.get("device") != "cpu"


def identity_of(work: Work, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What results of a work depend on beside the unit; `facts` are those of whoever computes."""
    return {"work": type(work).__name__, "version": __version__, **work.identity(), "facts": facts}


class Executor(Protocol):
    """Who computes units. sees_files: whether that is on machines which see the folders beside the output."""

    sees_files: bool

    def job(self, output: Path | None) -> AbstractContextManager[Any]:
        """The block in which a job that writes `output` is done: what was computed lies beside it until the block ends well."""

    def facts(self, work: Work) -> dict[str, Any]:
        """`work.facts()`, of whoever computes."""

    def map(self, compute: Callable[[Unit], Result], units: Iterable[Unit]) -> Iterator[Result]:
        """The results, in the order of the units. An engine of several workers takes `Work` alone."""


class LocalExecutor:
    """This process, one unit after another.

    threads  that models compute with; None for all cores. The last bits of their numbers may depend on it
    """

    threads: int | None = None
    sees_files = True

    def __init__(self, threads: int | None = None):
        check_counts(threads=threads)
        self.threads = threads

    def job(self, output: Path | None) -> AbstractContextManager[Any]:
        """See `Executor`; jobs have their own caches of partial results."""
        if self.threads is not None:
            set_threads(self.threads)
        return nullcontext()

    def facts(self, work: Work) -> dict[str, Any]:
        """See `Executor`."""
        return work.facts()

    def map(self, compute: Callable[[Unit], Result], units: Iterable[Unit]) -> Iterator[Result]:
        """See `Executor`."""
        return map(compute, units)


def set_threads(number: int) -> None:
    """Let models of this process compute with so many threads: torch, FAISS and the libraries under them."""
    global _threads
    _threads = number
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(number)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(number)


_threads: int | None = None


def threads_set() -> int | None:
    """What `set_threads` has set last; None where all cores may be taken."""
    return _threads


def units_of(items: Sequence[Unit], size: int) -> Iterator[Sequence[Unit]]:
    """The items in units of a fixed size; the last may be smaller."""
    return (items[start : start + size] for start in range(0, len(items), size))


def folder_of(work: Work) -> Path | None:
    """Where the files belong that a work's `compute` writes; None where it writes none."""
    return getattr(work, "folder", None)


def refuse_object(spec: SystemSpec) -> None:
    """Raise ToolkitError for a system that is an object of this process: workers load theirs by a name."""
    if isinstance(spec, ObjectSpec):
        hint = "name what makes it, `python:module:factory`, which every node can import"
        raise ToolkitError(f"{spec.name} is an object of this process, which workers do not have", hint)
