"""A run, topics and a reranker make another run, written with its metadata."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.benchmarks import TopicSet, resolve_topics
from toolkit.benchmarks.recorded import recorded_topics
from toolkit.core.errors import ToolkitError, three
from toolkit.core.progress import say
from toolkit.core.runs import Run, join_runs
from toolkit.formats import read_metadata, read_run, write_metadata, write_run
from toolkit.formats.ids import check_ids
from toolkit.formats.provenance import file_digest, metadata_of, topics_digest, topics_facts
from toolkit.instructions import as_asked
from toolkit.rerank.candidates import wanted_ids
from toolkit.rerank.kept import place_beside
from toolkit.rerank.method import Reranking
from toolkit.texts import Texts, texts_from

CANDIDATES = "candidates"
STAGE = ("run", "depth", "tail", "scores")  # what a recipe says of reranking, and a user may say otherwise
SUFFIXES = (".gz", ".zst", ".trec", ".txt", ".run")


@dataclass(frozen=True)
class Job:
    """A run to rerank: everything is read, looked up and checked, but neither texts nor the model are touched yet.

    run       the candidates; `source` is their file, or `candidates` for the benchmark's
    first     of the candidates: what they are (`data`), and what their own metadata say of them (`metadata`, or None)
    topics    as their source has them
    asked     the same as the reranker is given them (`instruction`, see `toolkit.instructions`)
    texts     see `toolkit.texts`
    output    the new run's file; None where it is not written
    metadata  the metadata's file without `.yaml`; None where they are not written
    """

    run: Run
    source: str
    first: First
    topics: TopicSet
    asked: TopicSet
    method: Reranking
    texts: Texts
    tag: str
    instruction: str = "full"
    output: Path | None = None
    metadata: Path | None = None

    def describe(self) -> list[str]:
        """What making the run does, a line a step."""
        method, spec = self.method, self.method.spec
        recipe = f", recipe {spec.recipe}" if spec.recipe else ""
        size = f", {spec.size} parameters" if spec.size else ""
        of_model = {name: value for name, value in spec.parameters.items() if name not in STAGE}
        given = "".join(f", {name} {value}" for name, value in of_model.items())
        texts, asked = self._plan()
        queries = len(self.run.query_ids)
        return [
            f"rerank the best {method.depth} of each of {queries} queries of {self.source}, {method.tail} the tail",
            f"texts of {texts}",
            *([f"instructions: {self.instruction}"] if self.instruction != "full" else []),
            f"system {spec.name}{recipe} ({spec.kind}{size}{given}): {asked}; scores: {method.scores}",
            f"write {self.output}" if self.output else "write nothing",
        ]

    def _plan(self) -> tuple[str, str]:
        """Whose texts are read and how much is asked of the model; without the texts, where they would be downloaded."""
        fetched = dict.fromkeys(source.fetch for part in self.topics.parts if (source := self.texts(part.group)).fetch)
        if fetched:
            documents = len(wanted_ids(self.run, self.method.depth))
            return f"{documents:,} documents from {', '.join(fetched)}", "how much is asked is known with the texts"
        parts = self.method.parts(self.run, self.asked, self.texts)
        documents, places = sum(len(part.texts) for part in parts), dict.fromkeys(part.place for part in parts)
        asked = ", ".join(f"{count:,} {what}" for what, count in self.method.plan(parts).items())
        return f"{documents:,} documents from {', '.join(places)}", asked

    def make(self) -> Run:
        """Rerank, then write the files. A run that was interrupted goes on with the scores kept beside the output."""
        started = time.time()
        kept = place_beside(self.output)
        self._say_what_is_odd()
        run, report = self.method.apply(self.run, self.asked, self.texts, tag=self.tag, kept=kept)
        if self.output:
            write_run(run, self.output, tag=self.tag)
        if self.metadata:
            write_metadata(self.metadata, self._facts(run, report, time.time() - started))
        if kept:
            kept.unlink(missing_ok=True)
        return run

    def _say_what_is_odd(self) -> None:
        without = {topic.query_id for topic in self.topics.topics}.difference(self.run.query_ids)
        if without:
            asked = len(self.topics.topics)
            say(f"note: {self.source} has no documents for {len(without)} of {asked} topics ({three(without)})")
        searched = self.first.method.get("instruction", self.instruction)
        if searched != self.instruction:
            now = "their own" if self.instruction == "full" else self.instruction
            say(f"note: {self.source} was searched with instruction {searched}; the topics are reranked with {now}")

    def _facts(self, run: Run, report: dict[str, Any], seconds: float) -> dict[str, Any]:
        file = None if str(self.output) == "-" else self.output
        topics, first = topics_facts(self.topics.name, self.topics.topics), self.first
        steps = {key: first.method[key] for key in ("retrieval", "fusion", "candidates") if key in first.method}
        # of a run that was reranked before, all steps
        method = {**steps, "reranking": [*first.method.get("reranking", ()), report]}
        if self.instruction != "full":
            method["instruction"] = self.instruction
            topics[self.instruction] = {"sha256": topics_digest(self.asked.topics)}
        data = {key: first.data[key] for key in ("test collection", "indexes") if key in first.data}
        data |= {"topics": topics, "candidates": first.facts}
        return metadata_of(run, tag=self.tag, method=method, data=data, file=file, seconds=seconds)


class First(NamedTuple):
    """Where the candidates are from.

    facts         for the new run's metadata
    method, data  what their own metadata say of how they were found; empty where they have none
    """

    facts: dict[str, Any]
    method: Mapping[str, Any]
    data: Mapping[str, Any]


def first_stage(run: Run, source: str, topics: TopicSet) -> First:
    """What is known of a run that is to be reranked: read before anything is written, perhaps to the same place."""
    counts = {"queries": len(run.query_ids), "lines": len(run)}
    if source == CANDIDATES:
        return First({"of": topics.benchmark.spec.name, **counts}, {}, {})
    if source == "-":
        return First({"of": "standard input", **counts}, {}, {})
    metadata = read_metadata(source)
    method, data = _part(metadata, "method"), _part(metadata, "data")
    searched = {"instruction": method["instruction"]} if "instruction" in method else {}
    digest = {"sha256": file_digest(Path(source))} if Path(source).is_file() else {}  # a pipe is read once
    return First({"file": Path(source).name, **digest, **counts, **searched}, method, data)


def plan_rerank(
    run: str | None,
    method: Reranking,
    *,
    topics: str | Sequence[str] | None = None,
    index: str | None = None,
    docs: str | None = None,
    output: str | Path | None = None,
    metadata: str | Path | None = None,
    tag: str | None = None,
    instruction: str = "full",
) -> Job:
    """Look everything up that reranking will need.

    run          a run's file (any form that `runs convert` reads), `-`, or `candidates` for the benchmark's own; None for what
                 the system's recipe takes
    topics       those that the run was made with, as its metadata say where none are named
    index, docs  where texts come from, see `toolkit.texts`
    output       may be `-`; a name in `runs/` where it is None
    metadata     their file; beside the run where none is named
    instruction  what the topics' instructions become, see `toolkit.instructions`

    Raises ToolkitError.
    """
    source = run or method.spec.parameters.get("run")
    if source is None:
        raise ToolkitError("no run to rerank", "name one with --run, or take the benchmark's candidates (--run candidates)")
    source = str(source)
    candidates = None if source == CANDIDATES else read_run(source)
    found = resolve_topics(topics) if topics else recorded_topics(source)
    check_ids("tag", [tag or method.spec.name])
    output = Path("runs", _name(source, found, method, instruction)) if output is None else Path(output)
    if metadata is None and str(output) != "-":
        metadata = output
    for place in (output, metadata):
        if place and Path(place).is_dir():
            raise ToolkitError(f"{place} is a folder, not a file", "name a file in it")
    read = benchmark_candidates(found) if candidates is None else candidates
    return Job(
        run=read,
        source=source,
        first=first_stage(read, source, found),
        topics=found,
        asked=as_asked(found, instruction),
        method=method,
        instruction=instruction,
        texts=texts_from(found, index=index, docs=docs),
        tag=tag or method.spec.name,
        output=output,
        metadata=None if metadata is None else Path(str(metadata).removesuffix(".yaml")),
    )


def benchmark_candidates(topics: TopicSet) -> Run:
    """What a benchmark gives to be reranked, for each of the topics. ToolkitError where it gives nothing."""
    benchmark = topics.benchmark
    if benchmark is None:
        raise ToolkitError(f"{topics.name} is a file, which has no candidates", "name a benchmark's topics, or a run")
    runs, without = [], []
    for part in topics.parts:
        for mode in dict.fromkeys(topic.mode for topic in part.topics):
            run = benchmark.scoreddocs(part.group, mode)
            wanted = [topic.query_id for topic in part.topics if topic.mode == mode]
            runs += [run.select(wanted)] if run is not None else []
            without += [f"{part.group} {mode}".strip()] if run is None else []
    if without:
        message = f"{benchmark.spec.name} has no candidates on this machine for {three(without)}"
        raise ToolkitError(
            message, f"`tandem benchmarks show {benchmark.spec.name}` says what it has; or name a run with --run"
        )
    return join_runs(runs, source=f"the candidates of {benchmark.spec.name}")


def _part(metadata: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    """A part of metadata; empty where they have none, or another tool's something else."""
    part = (metadata or {}).get(name)
    return part if isinstance(part, Mapping) else {}


def _name(source: str, topics: TopicSet, method: Reranking, instruction: str) -> str:
    """`run.<topics>.<index>.<system>.rerank-NAME.trec`: the run's own name goes on."""
    if source in (CANDIDATES, "-"):
        stem = f"run.{topics.name}.{'stdin' if source == '-' else source}"
    else:
        stem = Path(source).name
        while (suffix := Path(stem).suffix) in SUFFIXES:
            stem = stem.removesuffix(suffix)
    odd = f".{instruction}" if instruction != "full" else ""
    return f"{stem}.{method.name}{odd}.trec"
