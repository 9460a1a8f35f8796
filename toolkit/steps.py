"""Steps: a run is made of topics or of runs, one step after another. Each step is a class beside its algorithm.

A step is looked up and checked when it is made; nothing is loaded before it is applied. Steps are composed with `>>`:
`Retrieve("bm25") >> Rerank("bge-reranker-v2-m3", depth=50)`. `toolkit.jobs` reads what they are applied to and writes what
they make.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from toolkit.core.errors import ToolkitError
from toolkit.provenance import Provenance

if TYPE_CHECKING:
    from toolkit.benchmarks import TopicSet
    from toolkit.core.runs import Run
    from toolkit.store.keyed_cache import KeyedCache
    from toolkit.texts import Texts

Unit = TypeVar("Unit")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Made:
    """A run with what made it.

    source  the file that it was read from, or of the run that it was made of; empty for one made of topics
    facts   what the record of a run made of this one says of it, see `toolkit.provenance.Recorded`
    slots   what tells it from other runs of one job, for their files' names
    """

    run: Run
    provenance: Provenance = field(default_factory=Provenance)
    source: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    slots: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """What a step is applied to, and what it gives.

    topics       as their source has them; None where only runs are known
    asked        the same as systems are given them (see `toolkit.instructions`)
    instruction  what became of the topics' instructions: `full`, `none`, `placebo`, ...
    texts        where the texts of documents are; None where no step reads them
    runs         the runs so far; empty before anything was searched
    """

    topics: TopicSet | None = None
    asked: TopicSet | None = None
    instruction: str = "full"
    texts: Texts | None = None
    runs: tuple[Made, ...] = ()

    @property
    def one(self) -> Made:
        """The only run. ToolkitError where there are none or several: the step takes one."""
        if len(self.runs) != 1:
            raise ToolkitError(f"{len(self.runs)} runs where one is needed", "fuse several first")
        return self.runs[0]

    def with_run(self, run: Run, provenance: Provenance) -> Results:
        """With this run in place of those before."""
        source = self.runs[0].source if self.runs else ""
        return replace(self, runs=(Made(run, provenance, source),))


class Executor(Protocol):
    """Who computes the units that the work of a step is divided into; the result of a unit depends on the unit alone."""

    def map(self, compute: Callable[[Unit], Result], units: Iterable[Unit]) -> Iterator[Result]:
        """The results, in the order of the units."""


class LocalExecutor:
    """This process, one unit after another."""

    def map(self, compute: Callable[[Unit], Result], units: Iterable[Unit]) -> Iterator[Result]:
        """See `Executor`."""
        return map(compute, units)


def units_of(items: Sequence[Unit], size: int) -> Iterator[Sequence[Unit]]:
    """The items in units of a fixed size; the last may be smaller."""
    return (items[start : start + size] for start in range(0, len(items), size))


@dataclass(frozen=True)
class Tools:
    """What a step may use while it is applied.

    cache     identity of what computes -> a cache of partial results beside the output; None where nothing is resumed
    executor  who computes units
    """

    cache: Callable[[str], KeyedCache] | None = None
    executor: Executor = field(default_factory=LocalExecutor)


class Step(ABC):
    """One kind of work on runs.

    name  the step's part of a run's file name, with what is not its default (`rerank-NAME.depth-50`)
    tag   the same without parameters: the run's tag is made of it
    """

    name: str
    tag: str

    def prepare(self, results: Results) -> None:  # noqa: B027 (most steps have nothing to look up)
        """Look up and check all that applying needs, so that it is refused before anything is done; nothing is loaded."""

    @abstractmethod
    def plan(self, results: Results) -> list[str]:
        """What applying the step would do, a line each: requests, texts, what is cached."""

    @abstractmethod
    def apply(self, results: Results, tools: Tools) -> Results:
        """Do it."""

    @property
    def reads_texts(self) -> bool:
        """Whether it needs the texts of documents."""
        return False

    @property
    def written(self) -> Mapping[str, Any]:
        """How its run is written, see `toolkit.formats.write_run`."""
        return {}

    def warnings(self, results: Results) -> list[str]:
        """What a user should know before it is applied."""
        return []

    def __rshift__(self, other: Step) -> Pipeline:
        return Pipeline([*_steps(self), *_steps(other)])


class Pipeline(Step):
    """Steps one after another, as one step."""

    def __init__(self, steps: Sequence[Step]):
        self.steps = tuple(steps)

    @property
    def name(self) -> str:
        """`bm25.rerank-NAME`."""
        return ".".join(filter(None, [step.name for step in self.steps]))

    @property
    def tag(self) -> str:
        """The same without parameters."""
        return ".".join(filter(None, [step.tag for step in self.steps]))

    def prepare(self, results: Results) -> None:
        """Of each step."""
        for step in self.steps:
            step.prepare(results)

    def plan(self, results: Results) -> list[str]:
        """Of each step; a later one knows only what there is before the first is applied."""
        first, *others = self.steps
        unknown = replace(results, runs=())
        return [*first.plan(results), *(line for step in others for line in step.plan(unknown))]

    def apply(self, results: Results, tools: Tools) -> Results:
        """One after another."""
        for step in self.steps:
            results = step.apply(results, tools)
        return results

    @property
    def reads_texts(self) -> bool:
        """Whether one of them does."""
        return any(step.reads_texts for step in self.steps)

    @property
    def written(self) -> Mapping[str, Any]:
        """As the last one says."""
        return self.steps[-1].written

    def warnings(self, results: Results) -> list[str]:
        """Of all."""
        return [line for step in self.steps for line in step.warnings(results)]


def _steps(step: Step) -> Sequence[Step]:
    return step.steps if isinstance(step, Pipeline) else (step,)
