"""Jobs of judges: runs to subtopic qrels, and questions to the perspectives that support them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from toolkit.benchmarks import TopicSet
from toolkit.benchmarks.recorded_topics import recorded_topics
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.runs import Run
from toolkit.formats import write_qrels
from toolkit.jobs.file_job import Job, Output
from toolkit.jobs.given import given_topics, recorded_run
from toolkit.judge.judging import Judged, judge_run
from toolkit.judge.pool import Row, pool, rows_of
from toolkit.judge.stance import Stances, pairs_of, stances, write_stances
from toolkit.models.judges import Judge, Plan
from toolkit.provenance import Provenance, Recorded, topics_facts
from toolkit.steps import Tools
from toolkit.texts import Texts, texts_from


@dataclass
class JudgeJob(Job[Judged]):
    """Runs to judge: read, looked up and checked; neither texts nor the judge are touched yet."""

    inputs: tuple[Recorded[Run], ...]
    topics: TopicSet
    texts: Texts
    judge: Judge
    depth: int
    output: Output = field(default_factory=Output)

    @property
    def runs(self) -> list[Run]:
        """The runs."""
        return [recorded.content for recorded in self.inputs]

    @cached_property
    def rows(self) -> list[Row]:
        """What is to be judged; ToolkitError for what is missing."""
        return rows_of(pool(self.runs, self.depth), self.topics, self.texts, self.judge.spec)

    @property
    def subtopics(self) -> dict[str, list[str]]:
        """Query id -> its perspectives, as qrels number them."""
        return {topic.query_id: [str(n) for n, _ in enumerate(topic.perspectives, 1)] for topic in self.topics.topics}

    def plan(self) -> list[str]:
        """What judging would do; where texts would have to be downloaded, without their number of tokens."""
        sources = ", ".join(recorded.source for recorded in self.inputs)
        lines = [f"judge the best {self.depth} of each of {len(self.topics.topics)} questions of {sources}"]
        fetched = [source.fetch for part in self.topics.parts if (source := self.texts(part.group)).fetch]
        if fetched:
            return [*lines, f"texts from {', '.join(dict.fromkeys(fetched))}; how much is asked is known with the texts"]
        return [*lines, planned(self.judge, self.judge.plan([row.pair for row in self.rows if row.pair]))]

    def work(self, tools: Tools) -> Judged:
        """Judge."""
        return judge_run(self.runs, self.topics, self.texts, self.judge, self.depth, tools.executor)

    def write(self, product: Judged, started: float) -> None:
        """The qrels with their record."""
        provenance = Provenance().step("judging", product.report)
        topics = topics_facts(self.topics.name, self.topics.topics)
        self.output.write(
            lambda path: write_qrels(product.qrels, path),
            provenance.having(topics=topics, judged_runs=[recorded.facts for recorded in self.inputs]),
            tag=self.judge.spec.name,
            counts={"queries": len(product.qrels.query_ids), "lines": len(product.qrels)},
            started=started,
            what="qrels",
        )


def judge_job(
    sources: Sequence[Any],
    judge: Judge,
    *,
    topics: Any = None,
    index: str | None = None,
    docs: str | None = None,
    depth: int = 10,
    output: str | Path | None = None,
    metadata: str | Path | None = None,
) -> JudgeJob:
    """Judge which perspectives the best documents of runs hold.

    sources      runs' files; `-` is standard input
    topics       those that the first run was made with, as its record says, where none are named
    index, docs  where texts come from, see `toolkit.texts`
    output       None writes nothing
    """
    if not sources:
        raise ToolkitError("no run to judge", "tandem judge RUN --judge NAME")
    read = tuple(map(recorded_run, sources))
    topic_set = given_topics(topics) if topics is not None else recorded_topics(read[0])
    return JudgeJob(read, topic_set, texts_from(topic_set, index=index, docs=docs), judge, depth, Output.at(output, metadata))


@dataclass
class StanceJob(Job[Stances]):
    """Questions with two perspectives: which of them supports the claim?"""

    topics: TopicSet
    judge: Judge
    output: Output

    def plan(self) -> list[str]:
        """How much would be asked."""
        return [planned(self.judge, self.judge.plan(pairs_of(self.topics.topics)))]

    def work(self, tools: Tools) -> Stances:
        """Ask."""
        return stances(self.topics.topics, self.judge)

    def write(self, product: Stances, started: float) -> None:
        """`query_id<TAB>n` with a record."""
        counts = {name: number for name, number in product._asdict().items() if name != "supporting"}
        report = {"name": self.judge.spec.name, **self.judge.facts(), "task": "stance", "decided": len(product.supporting)}
        provenance = Provenance().step("judging", {**report, **counts})
        self.output.write(
            lambda path: write_stances(product, path),
            provenance.having(topics=topics_facts(self.topics.name, self.topics.topics)),
            tag=self.judge.spec.name,
            counts={"queries": len(product.supporting), "lines": len(product.supporting)},
            started=started,
            what="qrels",
        )


def stance_job(topics: str, judge: Judge, *, output: str | Path | None = None, metadata: str | Path | None = None) -> StanceJob:
    """Which perspective of each question supports it; see `StanceJob`."""
    return StanceJob(given_topics(topics), judge, Output.at(output, metadata))


def planned(judge: Judge, plan: Plan) -> str:
    """How much a judge would be asked, in a line."""
    model = judge.spec.parameters.get("model") or judge.spec.checkpoint
    tokens = f", about {plan.tokens:,} tokens" if plan.requests else ""
    return f"{judge.spec.name} ({model}): {plan.pairs:,} pairs, {plan.cached:,} cached, {plan.requests:,} requests{tokens}"


def emit_warnings(judge: Judge) -> None:
    """Say what of the prompt is not as published, and which pairs have no answer."""
    if remark := judge.remark():
        say(f"note: {remark}")
    counts = judge.counts
    if counts.unjudged:
        say(
            f"warning: {counts.unjudged:,} of {counts.pairs:,} requests failed, their pairs are unjudged (-1): "
            "the same command asks them again"
        )
    if counts.unclear:
        say(f"note: {counts.unclear:,} answers are neither yes nor no and count as no")
