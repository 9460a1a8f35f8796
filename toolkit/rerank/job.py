"""A run, topics and a reranker make another run, written with its metadata."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicSet, resolve_topics
from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run, join_runs
from toolkit.formats import read_any_run, read_metadata, write_metadata, write_run
from toolkit.formats.provenance import file_digest, metadata_of, topics_digest, topics_facts
from toolkit.rerank.method import Reranking
from toolkit.rerank.texts import Texts, texts_from

CANDIDATES = "candidates"
SUFFIXES = (".gz", ".zst", ".trec", ".txt", ".run")


@dataclass(frozen=True)
class Job:
    """A run to rerank: everything is read, looked up and checked, but neither texts nor the model are touched yet.

    run       the candidates; `source` is their file, or `candidates` for the benchmark's
    texts     see `toolkit.rerank.texts`
    output    the new run's file; None where it is not written
    metadata  the metadata's file without `.yaml`; None where they are not written
    """

    run: Run
    source: str
    topics: TopicSet
    method: Reranking
    texts: Texts
    tag: str
    output: Path | None = None
    metadata: Path | None = None

    def describe(self) -> list[str]:
        """What making the run does, a line a step."""
        method, spec = self.method, self.method.spec
        parts = method.parts(self.run, self.topics, self.texts)
        documents = sum(len(found) for _, _, found, _ in parts)
        asked = ", ".join(f"{count:,} {what}" for what, count in method.plan(parts).items())
        recipe = f", recipe {spec.recipe}" if spec.recipe else ""
        size = f", {spec.size} parameters" if spec.size else ""
        given = "".join(f", {name} {value}" for name, value in spec.parameters.items())
        queries = len(self.run.query_ids)
        return [
            f"rerank the best {method.depth} of each of {queries} queries of {self.source}, {method.tail} the tail",
            f"texts of {documents:,} documents from {', '.join(dict.fromkeys(place for *_, place in parts))}",
            f"system {spec.name}{recipe} ({spec.kind}{size}{given}): {asked}; scores: {method.scores}",
            f"write {self.output}" if self.output else "write nothing",
        ]

    def make(self) -> Run:
        """Rerank, then write the files. A run that was interrupted goes on with the scores kept beside the output."""
        started = time.time()
        kept = self._kept()
        run, report = self.method.apply(self.run, self.topics, self.texts, tag=self.tag, kept=kept)
        if self.output:
            write_run(run, self.output, tag=self.tag)
        if self.metadata:
            write_metadata(self.metadata, self._facts(run, report, time.time() - started))
        if kept:
            kept.unlink(missing_ok=True)
        return run

    def _kept(self) -> Path | None:
        if self.output is None or str(self.output) == "-":
            return None
        return self.output.with_name(f".{self.output.name}.scores")

    def _facts(self, run: Run, report: dict[str, Any], seconds: float) -> dict[str, Any]:
        file = None if str(self.output) == "-" else self.output
        data = {"topics": topics_facts(self.topics.name, self.topics.topics), "candidates": self._candidates()}
        method = {"reranking": [report]}
        before = read_metadata(self.source) if self.source not in (CANDIDATES, "-") else None
        if before:
            method = {**{key: before["method"][key] for key in ("retrieval", "fusion") if key in before["method"]}, **method}
            data |= {key: before["data"][key] for key in ("test collection", "indexes") if key in before["data"]}
        return metadata_of(run, tag=self.tag, method=method, data=data, file=file, seconds=seconds)

    def _candidates(self) -> dict[str, Any]:
        counts = {"queries": len(self.run.query_ids), "lines": len(self.run)}
        if self.source == CANDIDATES:
            return {"of": self.topics.benchmark.spec.name, **counts}
        if self.source == "-":
            return {"of": "standard input", **counts}
        return {"file": Path(self.source).name, "sha256": file_digest(Path(self.source)), **counts}


def plan_rerank(
    run: str | None,
    method: Reranking,
    *,
    topics: str | None = None,
    index: str | None = None,
    docs: str | None = None,
    output: str | Path | None = None,
    metadata: str | Path | None = None,
    tag: str | None = None,
) -> Job:
    """Look everything up that reranking will need.

    run          a run's file (any form that `runs convert` reads), `-`, or `candidates` for the benchmark's own; None for what
                 the system's recipe takes
    topics       those that the run was made with, as its metadata say where none are named
    index, docs  where texts come from, see `toolkit.rerank.texts`
    output       may be `-`; a name in `runs/` where it is None
    metadata     their file; beside the run where none is named

    Raises ToolkitError.
    """
    source = run or method.spec.parameters.get("run")
    if source is None:
        raise ToolkitError("no run to rerank", "name one with --run, or take the benchmark's candidates (--run candidates)")
    source = str(source)
    candidates = None if source == CANDIDATES else read_any_run(source)
    found = resolve_topics(topics) if topics else _recorded_topics(source)
    output = Path("runs", _name(source, found, method)) if output is None else Path(output)
    if metadata is None and str(output) != "-":
        metadata = output
    return Job(
        run=benchmark_candidates(found) if candidates is None else candidates,
        source=source,
        topics=found,
        method=method,
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


def _recorded_topics(source: str) -> TopicSet:
    """The topics that a run's metadata name, if they still are what they were."""
    metadata = read_metadata(source) if source not in (CANDIDATES, "-") else None
    recorded = (metadata or {}).get("data", {}).get("topics", {})
    hint = "name them with --topics"
    if "name" not in recorded:
        raise ToolkitError(f"nothing says which topics {source} was made with", hint)
    try:
        found = resolve_topics(recorded["name"])
    except ToolkitError as error:
        raise ToolkitError(
            f"{source} was made with topics {recorded['name']}, which are not found by that name", hint
        ) from error
    if topics_digest(found.topics) != recorded.get("sha256"):
        raise ToolkitError(f"{source} was made with other topics than {recorded['name']} has now", hint)
    return found


def _name(source: str, topics: TopicSet, method: Reranking) -> str:
    """`run.<topics>.<index>.<system>.rerank-NAME.trec`: the run's own name goes on."""
    if source in (CANDIDATES, "-"):
        stem = f"run.{topics.name}.{'stdin' if source == '-' else source}"
    else:
        stem = Path(source).name
        while (suffix := Path(stem).suffix) in SUFFIXES:
            stem = stem.removesuffix(suffix)
    return f"{stem}.{method.name}.trec"
