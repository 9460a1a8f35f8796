"""Steps: a run is made of topics or of runs, one step after another. Each step is a class beside its algorithm.

A step is looked up and checked when it is made; nothing is loaded before it is applied. Steps are composed with `>>`:
`Retrieve("bm25") >> Rerank("bge-reranker-v2-m3", depth=50)`. What a user gives them, in any form, is read by `given_topics`
and `given_runs`; `toolkit.jobs` writes what they make.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import say
from toolkit.datasets import Benchmark, TopicPart, TopicSet, resolve_topics
from toolkit.engine import Executor, LocalExecutor
from toolkit.files.provenance import Provenance, Recorded, read_recorded, topics_digest, topics_facts
from toolkit.files.texts.topics import topics_from_rows
from toolkit.retrieval.instructions import topics_sent

if TYPE_CHECKING:
    from toolkit.core.runs import Run
    from toolkit.files.store.keyed_cache import KeyedCache
    from toolkit.retrieval.texts import Texts

TOPICS = (
    "topics are a name, a file, several of them, a DataFrame (query_id, query, instruction, ...), {query_id: text}, or Topics"
)


@dataclass(frozen=True)
class Made:
    """A run with what made it.

    source  the file that it was read from, or of the run that it was made of; empty for one made of topics
    facts   what the record of a run made of this one says of it, see `toolkit.files.provenance.Recorded`
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
    sent         the same as systems are sent them (see `toolkit.retrieval.instructions`)
    instruction  what became of the topics' instructions: `full`, `none`, `placebo`, ...
    texts        where the texts of documents are; None where no step reads them
    runs         the runs so far; empty before anything was searched
    """

    topics: TopicSet | None = None
    sent: TopicSet | None = None
    instruction: str = "full"
    texts: Texts | None = None
    runs: tuple[Made, ...] = ()

    @property
    def one(self) -> Made:
        """The only run. ToolkitError where there are none or several: the step takes one."""
        if len(self.runs) != 1:
            raise ToolkitError(f"{len(self.runs)} runs where one is needed", "fuse several first")
        return self.runs[0]

    def topics_facts(self) -> dict[str, Any]:
        """What a record says of the topics, and of what their instructions became."""
        facts = topics_facts(self.topics.name, self.topics.topics, self.topics.folder)
        changed = {"sha256": topics_digest(self.sent.topics)} if self.instruction != "full" else None
        return facts | ({self.instruction: changed} if changed else {})

    def with_run(self, run: Run, provenance: Provenance) -> Results:
        """With this run in place of those before."""
        return replace(self, runs=(Made(run, provenance, self.runs[0].source if self.runs else ""),))


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

    name   the step's part of a run's file name, with what is not its default (`rerank-NAME.depth-50`)
    tag    the same without parameters: the run's tag is made of it
    index  what it searches, where a user has named it: the texts of documents are there
    """

    name: str
    tag: str
    index: str | None = None

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
        """How its run is written, see `toolkit.files.formats.write_run`."""
        return {}

    @property
    def is_cached(self) -> bool:
        """Whether what it computes is cached in TANDEM_HOME as it comes: answers of a language model, vectors."""
        return False

    def warnings(self, results: Results) -> list[str]:
        """What a user should know before it is applied."""
        return []

    @property
    def single(self) -> Sequence[Step]:
        """The steps that it is made of, in their order; itself where it is of none."""
        return [self]

    def __rshift__(self, other: Step) -> Pipeline:
        return Pipeline([*_steps(self), *_steps(other)])

    def __call__(self, topics: Any, *, instruction: str = "full", docs: str | None = None) -> Run:
        """`(Retrieve("bm25") >> Rerank("NAME"))("infosearch-mini")`: the run made of topics, see `results_of`."""
        results = results_of(self, topics, instruction, docs)
        self.prepare(results)
        for line in self.warnings(results):
            say(line)
        return self.apply(results, Tools()).one.run


class Composite(Step):
    """Steps as one step. steps: those that it is made of; none where it is applied to runs that are given."""

    steps: Sequence[Step] = ()

    @property
    def index(self) -> str | None:
        """That of the first."""
        return self.steps[0].index if self.steps else None

    @property
    def single(self) -> Sequence[Step]:
        """Those of each."""
        return [one for step in self.steps for one in step.single] or [self]

    @property
    def reads_texts(self) -> bool:
        """Whether one of them does."""
        return any(step.reads_texts for step in self.steps)

    def prepare(self, results: Results) -> None:
        """Of each."""
        for step in self.steps:
            step.prepare(results)

    def warnings(self, results: Results) -> list[str]:
        """Of all."""
        return [line for step in self.steps for line in step.warnings(results)]


class Pipeline(Composite):
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
    def written(self) -> Mapping[str, Any]:
        """As the last one says."""
        return self.steps[-1].written


def _steps(step: Step) -> Sequence[Step]:
    return step.steps if isinstance(step, Pipeline) else (step,)


def given_topics(value: Any) -> TopicSet:
    """The topics of a name or file, of several, or those that a DataFrame, a mapping or a list holds.

    Raises ToolkitError for anything else, for what is not found, and for an id that comes twice.
    """
    if isinstance(value, TopicSet):
        return value
    if isinstance(value, str | Path | Benchmark):
        return resolve_topics(str(value))
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("records")
    if isinstance(value, Mapping):
        value = [{"query_id": query_id, "query": text} for query_id, text in value.items()]
    if not isinstance(value, Sequence) or not value:
        raise ToolkitError(f"no topics: {type(value).__name__}", TOPICS)
    if all(isinstance(one, str | Path) for one in value):
        return resolve_topics([str(one) for one in value])
    return TopicSet("topics", [TopicPart("all", topics_from_rows(value))], None)


def results_of(step: Step, topics: Any, instruction: str = "full", docs: str | None = None) -> Results:
    """What a step that begins with a search is applied to; texts come from the file `docs`, else from what is searched.

    Topics as for `given_topics`, instruction as in `toolkit.retrieval.instructions`. Raises ToolkitError.
    """
    topic_set, texts = given_topics(topics), None
    if step.reads_texts:
        from toolkit.retrieval.texts import texts_from

        texts = texts_from(topic_set, index=step.index if docs is None else None, docs=docs)
    return Results(topic_set, topics_sent(topic_set, instruction), instruction, texts)


def given_run(value: Any) -> Made:
    """A run's file with what its record says, or a run in any form of `toolkit.files.runs.conversion.as_run`."""
    if isinstance(value, Made):
        return value
    return made_of(recorded_run(value))


def given_runs(value: Any) -> list[Made]:
    """Several runs, as `toolkit.files.runs.conversion.each_of` takes them; a name is the run's tag."""
    from toolkit.files.runs.conversion import each_of

    made = [(name, given_run(each)) for name, each in each_of(value)]
    return [replace(each, run=replace(each.run, tag=name or each.run.tag)) for name, each in made]


def recorded_run(value: Any) -> Recorded:
    """The same as a file's content with its record; a run in memory has none."""
    from toolkit.files.runs.conversion import as_run, read_run

    return read_recorded(value, read_run) if isinstance(value, str | Path) else Recorded("", as_run(value))


def made_of(recorded: Recorded) -> Made:
    """What was read, as steps take it."""
    source = recorded.source or recorded.content.source or "the run given"
    return Made(recorded.content, recorded.provenance, source, recorded.facts)
