"""Runs, topics and a judge make subtopic qrels, written with their metadata."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicSet, resolve_topics
from toolkit.benchmarks.recorded import recorded_topics
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.formats import read_run, write_metadata, write_qrels
from toolkit.formats.provenance import file_digest, metadata_of, topics_facts
from toolkit.judge.judging import Judged, judge_run
from toolkit.judge.pool import NOTHING, Row, pool, rows_of
from toolkit.judge.stance import Stances, pairs_of, stances, write_stances
from toolkit.models.judges import Judge, Plan
from toolkit.texts import Texts, texts_from

STDIN = "-"


@dataclass(frozen=True)
class Job:
    """Runs to judge: read, looked up and checked; neither texts nor the judge are touched yet.

    sources  the runs' files
    """

    runs: tuple[Run, ...]
    sources: tuple[str, ...]
    topics: TopicSet
    texts: Texts
    judge: Judge
    depth: int

    @cached_property
    def rows(self) -> list[Row]:
        """What is to be judged; ToolkitError for what is missing."""
        return rows_of(pool(self.runs, self.depth), self.topics, self.texts, self.judge.spec)

    @property
    def subtopics(self) -> dict[str, list[str]]:
        """Query id -> its perspectives, as qrels number them."""
        return {topic.query_id: [str(n) for n, _ in enumerate(topic.perspectives, 1)] for topic in self.topics.topics}

    def describe(self, output: str | Path) -> list[str]:
        """What judging would do, a line a step; where texts would have to be downloaded, without their number of tokens."""
        lines = [f"judge the best {self.depth} of each of {len(self.topics.topics)} questions of {', '.join(self.sources)}"]
        fetched = [source.fetch for part in self.topics.parts if (source := self.texts(part.group)).fetch]
        if fetched:
            lines.append(f"texts from {', '.join(dict.fromkeys(fetched))}; how much is asked is known with the texts")
        else:
            lines.append(planned(self.judge, self.judge.plan([row.pair for row in self.rows if row.pair])))
        return [*lines, f"write {output}"]

    def make(self, output: str | Path, metadata: Path | None) -> Judged:
        """Judge, then write the qrels and their metadata."""
        started = time.time()
        judged = judge_run(self.runs, self.topics, self.texts, self.judge, self.depth)
        write_qrels(judged.qrels, output)
        if metadata:
            facts = metadata_for(self, judged.qrels, judged.report, output, time.time() - started)
            write_metadata(metadata, facts)
        return judged


def plan_job(
    sources: Sequence[str],
    judge: Judge,
    *,
    topics: str | Sequence[str] | None = None,
    index: str | None = None,
    docs: str | None = None,
    depth: int = 10,
) -> Job:
    """Look everything up that judging will need.

    sources      runs' files, any form that `runs convert` reads; `-` is standard input
    topics       those that the first run was made with, as its metadata say, where none are named
    index, docs  where texts come from, see `toolkit.texts`
    """
    if not sources:
        raise ToolkitError("no run to judge", "tandem judge RUN --judge NAME")
    runs = tuple(read_run(source) for source in sources)
    found = resolve_topics(topics) if topics else recorded_topics(sources[0])
    return Job(runs, tuple(map(str, sources)), found, texts_from(found, index=index, docs=docs), judge, depth)


def planned(judge: Judge, plan: Plan) -> str:
    """How much a judge would be asked, in a line."""
    model = judge.spec.parameters.get("model") or judge.spec.checkpoint
    tokens = f", about {plan.tokens:,} tokens" if plan.requests else ""
    return f"{judge.spec.name} ({model}): {plan.pairs:,} pairs, {plan.cached:,} cached, {plan.requests:,} requests{tokens}"


def metadata_for(job: Job, qrels: Qrels, report: dict[str, Any], output: str | Path, seconds: float) -> dict[str, Any]:
    """The metadata of qrels, in the parts that a run's have."""
    runs = [
        {"name": source, "queries": len(run.query_ids), "lines": len(run)}
        | ({} if source == STDIN else {"sha256": file_digest(Path(source))})
        for source, run in zip(job.sources, job.runs, strict=True)
    ]
    data = {"topics": topics_facts(job.topics.name, job.topics.topics), "judged runs": runs}
    return _facts(job.judge, qrels, report, data, output, seconds)


def make_stances(topics: TopicSet, judge: Judge, output: str | Path, metadata: Path | None) -> Stances:
    """Ask which perspectives support, and write `query_id<TAB>n` with metadata."""
    started = time.time()
    found = stances(topics.topics, judge)
    write_stances(found, output)
    if metadata:
        counts = {"task": "stance", "decided": len(found.supporting), **found._asdict()}
        counts.pop("supporting")
        rows = Qrels.from_columns(list(found.supporting), [NOTHING] * len(found.supporting), list(found.supporting.values()))
        report = {"name": judge.spec.name, **judge.facts(), **counts}
        data = {"topics": topics_facts(topics.name, topics.topics)}
        write_metadata(metadata, _facts(judge, rows, report, data, output, time.time() - started))
    return found


def describe_stances(topics: TopicSet, judge: Judge, output: str | Path) -> list[str]:
    """What asking for stances would do."""
    return [planned(judge, judge.plan(pairs_of(topics.topics))), f"write {output}"]


def _facts(judge: Judge, lines: Any, report: dict, data: dict, output: str | Path, seconds: float) -> dict[str, Any]:
    file = None if str(output) == STDIN else Path(output)
    facts = metadata_of(lines, tag=judge.spec.name, method={"judging": [report]}, data=data, file=file, seconds=seconds)
    facts["data"]["qrels"] = facts["data"].pop("run")
    return facts


def say_what_is_odd(judge: Judge) -> None:
    """Notes on the prompt, and on what stayed without an answer."""
    if remark := judge.remark():
        say(f"note: {remark}")
    counts = judge.counts
    if counts.unjudged:
        say(
            f"note: {counts.unjudged:,} of {counts.pairs:,} pairs were asked in vain and are unjudged (-1): "
            "the same command asks them again"
        )
    if counts.unclear:
        say(f"note: {counts.unclear:,} answers are neither yes nor no and count as no")
