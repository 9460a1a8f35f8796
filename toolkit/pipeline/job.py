"""What puts the stages together: topics, an index and a system make a run, written with its metadata."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit import registry
from toolkit.benchmarks import TopicSet, resolve_topics
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.runs import Run, join_runs
from toolkit.core.specs import SystemSpec
from toolkit.formats import write_metadata, write_run
from toolkit.formats.provenance import run_metadata
from toolkit.index import Index, Source, find_index, own_name
from toolkit.registry.loader import did_you_mean
from toolkit.search import check_parameters, search

DEFAULT_HITS = 1000
BM25_DECIMALS = 6  # as Anserini writes them: 4 decimals, ties made strict in the 6th


@dataclass(frozen=True)
class Job:
    """A run to make: everything is looked up and checked, nothing is searched, built or downloaded yet.

    sources     where the index of each part of the topics comes from, parallel to `topics.parts`
    index_name  as the run's file name has it
    parameters  the system's, complete
    output      the run's file; None where it is not written
    metadata    the metadata's file without `.yaml`; None where they are not written
    """

    topics: TopicSet
    sources: tuple[Source, ...]
    index_name: str
    system: SystemSpec
    parameters: dict[str, Any]
    hits: int
    threads: int
    tag: str
    language: str | None = None
    output: Path | None = None
    metadata: Path | None = None

    def describe(self) -> list[str]:
        """What making the run does, a line a step."""
        lines = [
            f"search {len(part.topics)} topics of {self.topics.name} ({part.group}) with {source.plan}"
            for part, source in zip(self.topics.parts, self.sources, strict=True)
        ]
        given = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        lines.append(f"system {self.system.name} ({given}), {self.hits} hits, {self.threads} threads")
        return [*lines, f"write {self.output}" if self.output else "write nothing"]

    def run(self) -> Run:
        """Make it: indexes first (all of them, before anything is searched), then the search, then the files."""
        started = time.time()
        indexes = [source.open(self.threads) for source in self.sources]
        parts = [
            self._search(part.topics, index) for part, index in zip(self.topics.parts, indexes, strict=True) if part.topics
        ]
        if not parts:
            raise ToolkitError(f"{self.topics.name} has no topics", "check the file")
        run = join_runs(parts, tag=self.tag, source=self.topics.name)
        self._say_unjudged()
        if self.output:
            # ties keep Anserini's order: two scores may differ in 32 bits and not in 6 decimals
            write_run(run, self.output, tag=self.tag, decimals=BM25_DECIMALS, ties="file")
        if self.metadata:
            write_metadata(self.metadata, self._facts(run, indexes, time.time() - started))
        return run

    def _facts(self, run: Run, indexes: list[Index], seconds: float) -> dict[str, Any]:
        return run_metadata(
            tag=self.tag,
            system=self.system.name,
            parameters={**self.parameters, "hits": self.hits},
            topics_name=self.topics.name,
            topics=self.topics.topics,
            collection=self._collection(),
            indexes={index.name: index.facts() for index in indexes}.values(),
            run=run,
            file=None if str(self.output) == "-" else self.output,
            seconds=seconds,
        )

    def _collection(self) -> dict[str, str]:
        """The test collection in ir_metadata's words."""
        if self.topics.benchmark is None:
            return {}
        spec = self.topics.benchmark.spec
        catalog = spec.name if spec.layout == "ir_datasets" else None
        facts = {"name": spec.name, "source": spec.source.get("url"), "ir_datasets": catalog}
        return {name: value for name, value in facts.items() if value}

    def _search(self, topics: list, index: Index) -> Run:
        if self.language and index.language and self.language != index.language:
            raise ToolkitError(f"index {index.name} was made for language {index.language}", "leave --language out")
        language = index.language or self.language or "en"
        given = {**self.parameters, "hits": self.hits, "threads": self.threads, "language": language, "tag": self.tag}
        return search(topics, index.folder, **given)

    def _say_unjudged(self) -> None:
        own = self.topics.benchmark
        if own and {source.name for source in self.sources}.isdisjoint(own_name(own, group) for group in own.groups):
            judged, searched = own.spec.name, self.index_name
            say(f"note: {judged} has no judgments for the documents of {searched}: compare its runs with one another")


def make_run(
    topics: str,
    index: str | None = None,
    system: str = "bm25",
    *,
    hits: int = DEFAULT_HITS,
    threads: int | None = None,
    output: str | Path | None = None,
    tag: str | None = None,
    language: str | None = None,
    **parameters: Any,
) -> Run:
    """Search the topics of a name or file and return the run; with `output` it is written too, metadata beside it.

    index       a folder, a prebuilt index's name, or a benchmark; the topics' own corpora where none is named
    parameters  of the system, where they are not to be its defaults (`k1=1.2`, `rm3=True`)

    Raises ToolkitError for what cannot be looked up or made.
    """
    job = plan_run(topics, index, system, hits=hits, threads=threads, output=output, tag=tag, language=language, **parameters)
    return job.run()


def plan_run(
    topics: str,
    index: str | None = None,
    system: str = "bm25",
    *,
    hits: int = DEFAULT_HITS,
    threads: int | None = None,
    output: str | Path | None = None,
    metadata: str | Path | None = None,
    tag: str | None = None,
    language: str | None = None,
    **parameters: Any,
) -> Job:
    """Look everything up that `make_run` will need.

    output    may be `-`
    metadata  the metadata's file; beside the run where none is named
    """
    spec = registry.system(system)
    chosen = _parameters(spec, parameters)
    threads = threads or os.cpu_count() or 1
    check_parameters(chosen["k1"], chosen["b"], hits, threads)
    found = resolve_topics(topics)
    name = index or (found.benchmark.spec.name if found.benchmark else None)
    if name is None:
        raise ToolkitError(f"{topics} names no corpus to search", "name one with --index")
    where = find_index(name)
    sources = tuple(where(part.group) for part in found.parts)
    index_name = Path(name).resolve().name if Path(name).is_dir() else name.replace("/", "-")
    if metadata is None and output is not None and str(output) != "-":
        metadata = output
    return Job(
        topics=found,
        sources=sources,
        index_name=index_name,
        system=spec,
        parameters=chosen,
        hits=hits,
        threads=threads,
        tag=tag or spec.name,
        language=language,
        output=None if output is None else Path(output),
        metadata=None if metadata is None else Path(str(metadata).removesuffix(".yaml")),
    )


def _parameters(spec: SystemSpec, given: dict[str, Any]) -> dict[str, Any]:
    """The system's parameters with those that are given; ToolkitError for one that it has not."""
    if spec.kind != "bm25":
        raise ToolkitError(f"system {spec.name} is of kind {spec.kind}, which cannot search an index", "bm25 can")
    for name in given:
        if name not in spec.parameters:
            hint = f"{did_you_mean(name, spec.parameters)}known: {', '.join(spec.parameters)}"
            raise ToolkitError(f"system {spec.name} has no parameter {name!r}", hint)
    return {**spec.parameters, **{name: value for name, value in given.items() if value is not None}}


def run_name(job: Job) -> str:
    """`run.<topics>.<index>.<system>.trec`; the system is its name, then what differs from its defaults."""
    changed = {name: value for name, value in job.parameters.items() if value != job.system.parameters[name]}
    if job.hits != DEFAULT_HITS:
        changed["hits"] = job.hits
    parts = [name if value is True else f"{name}-{value}" for name, value in changed.items()]
    return ".".join(["run", job.topics.name, job.index_name, job.system.name, *parts, "trec"])
