"""What all work that makes a file has in common: dry run, the output's name, partial results, engine, timing, file, record."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.specs import ENGINE
from toolkit.core.system.files import is_stream
from toolkit.core.system.progress import say
from toolkit.engine import Executor, LocalExecutor
from toolkit.files.formats import write_run
from toolkit.files.provenance import Output
from toolkit.files.store.keyed_cache import KeyedCache
from toolkit.files.texts.lines import check_ids
from toolkit.retrieval.steps import Made, Results, Step, Tools, given_runs

if TYPE_CHECKING:
    from toolkit.datasets.accepted import File, RunForm

Product = TypeVar("Product")
FOLDER = "runs"  # where runs go whose file nobody names
SUFFIXES = (".gz", ".zst", ".trec", ".txt", ".run", ".res", ".json", ".jsonl", ".parquet")


class Job(ABC, Generic[Product]):
    """Work that ends in a file with a record. Everything is looked up and checked when it is made; nothing is done yet."""

    output: Output
    executor: Executor = LocalExecutor()

    @abstractmethod
    def plan(self) -> list[str]:
        """What the work would do, a line a step, without the output."""

    @abstractmethod
    def work(self, tools: Tools) -> Product:
        """Do it."""

    @abstractmethod
    def write(self, product: Product, started: float) -> None:
        """Write what was made, with its record."""

    def warnings(self) -> list[str]:
        """What a user should know before the work begins."""
        return []

    def resumes(self) -> bool:
        """Whether the same job, interrupted now, would find something of what it has done."""
        return any(_partial_files(self.output.path))

    def check_divisible(self) -> None:
        """Raise ToolkitError where workers of a cluster cannot do it."""

    def describe(self) -> list[str]:
        """What a dry run prints."""
        return [*self.plan(), self.output.plan]

    def make(self) -> Product:
        """Do the work and write what it made. An interrupted job resumes with the partial results beside the output."""
        started = time.time()
        for line in self.warnings():
            say(line)
        try:
            with self.executor.job(self.output.path), partial_results(self.output.path) as cache:
                product = self.work(Tools(cache, self.executor))
                self.write(product, started)
        except KeyboardInterrupt as end:
            if self.resumes():
                end.add_note("the same command resumes")
            raise
        return product


@contextmanager
def partial_results(output: Path | None) -> Iterator[Callable[[str], KeyedCache] | None]:
    """Yield what opens a cache beside an output, `.NAME.partial`, removed when the block ends well; None for streams."""
    if output is None or is_stream(output):
        yield None
        return
    opened: list[KeyedCache] = []

    def open_cache(identity: str) -> KeyedCache:
        """A cache for what `identity` computes: a file for each step, which would remove one another's entries in one."""
        place = output.with_name(f".{output.name}.partial{len(opened) or ''}")
        opened.append(KeyedCache(place, "partial results", identity))
        return opened[-1]

    try:
        yield open_cache
    finally:
        for cache in opened:
            cache.close()
    for path in _partial_files(output):
        path.unlink(missing_ok=True)


def _partial_files(output: Path | None) -> list[Path]:
    """All partial results beside an output: a pipeline of more steps may have been abandoned before."""
    if output is None or is_stream(output) or not output.parent.exists():
        return []
    name = re.compile(re.escape(f".{output.name}.partial") + r"\d*(-wal|-shm)?")
    return [path for path in output.parent.iterdir() if name.fullmatch(path.name)]


@dataclass
class RunJob(Job[tuple[Made, ...]]):
    """Topics or runs to runs, by steps.

    inputs  what the first step is applied to
    step    one, or several as a pipeline
    output  of one run; `place` names the files of several
    tag     of the run; the steps' own where it is empty
    """

    inputs: Results
    step: Step
    output: Output = field(default_factory=Output)
    tag: str = ""

    def __post_init__(self):
        if self.tag:
            check_ids("tag", [self.tag])
        self.step.prepare(self.inputs)

    def plan(self) -> list[str]:
        """Of every step."""
        changed = [f"instructions: {self.inputs.instruction}"] if self.inputs.instruction != "full" else []
        return [*changed, *self.step.plan(self.inputs)]

    def resumes(self) -> bool:
        """See `Job`."""
        return super().resumes() or any(step.is_cached for step in self.step.single)

    def warnings(self) -> list[str]:
        """Of every step."""
        return self.step.warnings(self.inputs)

    def work(self, tools: Tools) -> tuple[Made, ...]:
        """The runs."""
        return self.step.apply(self.inputs, tools).runs

    def place(self, made: Made) -> Output:
        """Where a run goes."""
        return self.output

    def write(self, product: tuple[Made, ...], started: float) -> None:
        """Every run with its record."""
        for made in product:
            run, tag = made.run, self.tag or made.run.tag
            write = partial(write_run, run, tag=tag, **self.step.written)
            counts = {"queries": len(run.query_ids), "lines": len(run)}
            self.place(made).write(write, made.provenance, tag=tag, counts=counts, started=started)


def runs_job(
    step: Step,
    runs: Sequence[Any] | Mapping[str, Any],
    *,
    output: str | Path | None = None,
    metadata: str | Path | None = None,
    tag: str = "",
) -> RunJob:
    """Runs, as files or in any form, to runs by a step (`Fuse`, `Pool`, ...). ToolkitError for what cannot be read."""
    return RunJob(Results(runs=tuple(given_runs(runs))), step, Output.at(output, metadata), tag or "")


def stem_of(source: str | Path) -> str:
    """`runs/bm25.trec.gz` -> `bm25`; `-` is `stdin`."""
    stem = "stdin" if str(source) == "-" else Path(source).name
    while (suffix := Path(stem).suffix) in SUFFIXES:
        stem = stem.removesuffix(suffix)
    return stem


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
    """The one run that a job makes, under its tag, with its record."""
    [made] = make(job, **engine)
    record = {"method": made.provenance.method, "data": made.provenance.data}
    return replace(made.run, tag=job.tag or made.run.tag, record=record)


def engine_of(how: dict[str, Any]) -> dict[str, Any]:
    """What `opened` takes, taken out of the options of a call."""
    return {name: value for name in ENGINE if (value := how.pop(name, None)) is not None}


def fuse(
    runs: Sequence[RunForm] | Mapping[str, RunForm],
    method: str = "rrf",
    *,
    hits: int = 1000,
    output: File | None = None,
    tag: str | None = None,
) -> Run:
    """Fuse two or more runs, a list or `{name: run}`.

    method  `rrf`, `rrf:k=60`, `minmax`, `minmax:0.3,0.7`; see `toolkit.retrieval.fuse.fuse`

    Raises ToolkitError.
    """
    from toolkit.retrieval.fuse import Fuse

    return run_by(runs_job(Fuse(method=method, hits=hits), runs, output=output, tag=tag))
