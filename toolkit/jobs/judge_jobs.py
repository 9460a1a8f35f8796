"""Jobs of judges: runs to subtopic qrels, and questions to the perspectives that support them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.runs import Run
from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import say
from toolkit.datasets import TopicSet
from toolkit.datasets.recorded_topics import recorded_topics
from toolkit.engine.answers import divide_answers
from toolkit.files.formats import write_qrels
from toolkit.files.provenance import Output, Provenance, Recorded, topics_facts
from toolkit.files.runs.conversion import each_of
from toolkit.jobs.file_job import Job, Product, engine_of, make
from toolkit.models import choose_system
from toolkit.models.checkpoints.local_checkpoints import check_usable
from toolkit.models.judges import STANCE, SUPPORT, Judge, Plan, load_judge, read_shots
from toolkit.models.judges.loading import judge_prompt
from toolkit.retrieval.judge.agreement import RANDOM, read_labels
from toolkit.retrieval.judge.corrected_measures import Corrected, check_labelled, correct, measures_within
from toolkit.retrieval.judge.judging import Judged, Row, Stances, judge_run, pool, rows_of, sides_of, stances, write_stances
from toolkit.retrieval.steps import Tools, given_topics, recorded_run
from toolkit.retrieval.texts import downloads, texts_from

if TYPE_CHECKING:
    from toolkit.core.qrels import Qrels
    from toolkit.datasets.accepted import File, Loader, Precision, Runs, Topics
    from toolkit.models.checkpoints.own_systems import ChatModel


class AskingJob(Job[Product]):
    """A job that asks a judge about topics, whose answers are cached as they come."""

    judge: Judge
    topics: TopicSet

    def resumes(self) -> bool:
        """See `Job`."""
        return True

    def write_labels(
        self, write: Callable[[Path], None], report: Mapping[str, Any], counts: Mapping[str, int], started: float, **data: Any
    ) -> None:
        """Write labels with their record: the judge's report, the topics, and what else `data` says."""
        topics = topics_facts(self.topics.name, self.topics.topics, self.topics.folder)
        provenance = Provenance().step("judging", report).having(topics=topics, **data)
        self.output.write(write, provenance, tag=self.judge.spec.name, counts=counts, started=started, what="qrels")


class JudgeJob(AskingJob[Judged]):
    """Runs to judge, as `judge` takes them: read, looked up and checked; neither texts nor the judge are touched yet."""

    def __init__(
        self,
        sources: Any,
        judge: Judge,
        *,
        topics: Any = None,
        index: str | None = None,
        docs: str | None = None,
        depth: int = 10,
        output: str | Path | None = None,
        metadata: str | Path | None = None,
    ):
        self.inputs: tuple[Recorded[Run], ...] = tuple(recorded_run(each) for _, each in each_of(sources))
        if not self.inputs:
            raise ToolkitError("no run to judge", "tandem judge RUN --judge NAME")
        self.topics = given_topics(topics) if topics is not None else recorded_topics(self.inputs[0])
        self.texts = texts_from(self.topics, index=index, docs=docs)
        self.judge, self.depth, self.output = judge, depth, Output.at(output, metadata)

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
        if fetched := downloads(self.texts(part.group) for part in self.topics.parts):
            return [*lines, f"texts from {fetched}; the number of requests depends on the texts"]
        return [*lines, planned(self.judge, self.judge.plan([row.pair for row in self.rows if row.pair]))]

    def work(self, tools: Tools) -> Judged:
        """Judge."""
        divide_answers(self.judge, tools.executor)
        return judge_run(self.runs, self.topics, self.texts, self.judge, self.depth)

    def write(self, product: Judged, started: float) -> None:
        """The qrels with their record."""
        qrels, judged = product.qrels, [recorded.facts for recorded in self.inputs]
        counts = {"queries": len(qrels.query_ids), "lines": len(qrels)}
        self.write_labels(lambda path: write_qrels(qrels, path), product.report, counts, started, judged_runs=judged)


class Correction:
    """The measures of one run by a judge, to be corrected by people's labels: read and checked, nothing is judged yet.

    people    a file with their qrels
    measures  all that the depth allows, where none are named
    """

    def __init__(self, job: JudgeJob, people: str | Path, measures: Sequence[str] | None = None):
        if len(job.runs) > 1:
            raise ToolkitError("measures are corrected run by run", "name one run")
        self.job, self.labelled = job, read_labels(people)
        self.measures = measures_within(measures, job.depth)
        check_labelled(job.runs[0], job.subtopics, self.labelled, self.measures)

    def rows(self) -> list[Corrected]:
        """Judge, and correct."""
        job = self.job
        qrels = judge_run(job.runs, job.topics, job.texts, job.judge, job.depth).qrels
        return correct(job.runs[0], qrels, self.labelled, self.measures)


class StanceJob(AskingJob[Stances]):
    """Questions with two perspectives: which of them supports the claim?"""

    def __init__(self, topics: Any, judge: Judge, *, output: str | Path | None = None, metadata: str | Path | None = None):
        if topics is None:
            raise ToolkitError("no questions are named", "name them with --topics")
        self.topics, self.judge, self.output = given_topics(topics), judge, Output.at(output, metadata)

    def plan(self) -> list[str]:
        """How much would be asked."""
        return [planned(self.judge, self.judge.plan(sides_of(self.topics.topics)))]

    def work(self, tools: Tools) -> Stances:
        """Ask."""
        divide_answers(self.judge, tools.executor)
        return stances(self.topics.topics, self.judge)

    def write(self, product: Stances, started: float) -> None:
        """`query_id<TAB>n` with a record."""
        unclear = {name: number for name, number in product._asdict().items() if name != "supporting"}
        report = {"name": self.judge.spec.name, **self.judge.facts(), "task": "stance", "decided": len(product.supporting)}
        counts = dict.fromkeys(("queries", "lines"), len(product.supporting))
        self.write_labels(lambda path: write_stances(product, path), {**report, **unclear}, counts, started)


TASKS = {"support": SUPPORT, "stance": STANCE}


def judge_of(
    name: Any,
    *,
    systems: Sequence[str | Path] = (),
    recipe: str | None = None,
    shots: str | None = None,
    task: str = "support",
    **how: Any,
) -> Judge:
    """The judge of a name (an entry of the registry, a folder, a Hugging Face id), or of an object.

    shots  a file with labelled examples; `task`: one of `TASKS`; `how`: what `toolkit.models.judges.load_judge` takes beside
           it (None is not given)

    Raises ToolkitError for what cannot be used, before anything is loaded.
    """
    if name in (None, RANDOM):
        hint = "--judge NAME; `tandem systems list --kind judge` names them"
        raise ToolkitError("no judge is named" if name is None else "guesses are only for --score", hint)
    spec = choose_system(name, files=systems, recipe=recipe, kind="judge")
    given = {option: value for option, value in how.items() if value is not None}
    check_counts(batch_size=given.get("batch_size"))
    trust = bool(given.get("trust_remote_code"))
    check_usable(spec, loader=given.get("loader"), device=given.get("device"), trust_remote_code=trust)
    return load_judge(spec, task=TASKS[task], shots=read_shots(shots) if shots else (), **given)


def prompt_shown(
    name: str | None,
    *,
    systems: Sequence[str | Path] = (),
    recipe: str | None = None,
    shots: str | None = None,
    task: str = "support",
    prompt: str | None = None,
    prompts: str | None = None,
) -> str:
    """The prompt that a judge would be sent, the task's own where no judge is named; ToolkitError for one that reads none."""
    examples = read_shots(shots) if shots else ()
    spec = choose_system(name, files=systems, recipe=recipe, kind="judge") if name else SystemSpec("any", "", "judge")
    chosen = judge_prompt(spec, task=TASKS[task], prompt=prompt, prompts=prompts, shots=examples)
    if chosen is None:
        hint = "only judges that are language models have a prompt"
        raise ToolkitError(f"{spec.name} is a classifier: it is sent no prompt", hint)
    return chosen.titled()


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
        failed = f"{counts.unjudged:,} of {counts.pairs:,} requests failed, their pairs are unjudged (-1)"
        say(f"warning: {failed}: the same command repeats them")
    if counts.unclear:
        say(f"note: {counts.unclear:,} answers are neither yes nor no and count as no")


def judge(
    runs: Runs,
    system: str | Path | ChatModel,
    *,
    topics: Topics | None = None,
    depth: int = 10,
    index: str | None = None,
    docs: str | None = None,
    prompt: str | None = None,
    prompts: File | None = None,
    shots: str | None = None,
    seed: int | None = None,
    systems: Sequence[File] = (),
    recipe: str | None = None,
    device: str | None = None,
    precision: Precision | None = None,
    batch_size: int | None = None,
    trust_remote_code: bool = False,
    loader: Loader | None = None,
    concurrency: int | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    replay: bool | None = None,
    engine: str | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    gpus_per_worker: float | None = None,
    units: File | None = None,
    output: File | None = None,
    metadata: File | None = None,
) -> Qrels:
    """Which perspectives the best `depth` documents of each question hold: subtopic qrels (1 holds, 0 does not, -1 unjudged).

    runs    one, or several in a list or by name, whose best documents are judged together
    system  a name, or an object with `generate` (see `tandem.ChatModel`)
    topics  questions with perspectives; those that the first run's record names, where none are given
    shots   a file of labelled examples; prompts  a folder of published ones; seed  of sampled answers

    Raises ToolkitError.
    """
    how = dict(locals())
    made_by, runs = engine_of(how), how.pop("runs")
    of_job = {name: how.pop(name) for name in ("topics", "index", "docs", "depth", "output", "metadata")}
    loaded = judge_of(how.pop("system"), **how)
    judged = make(JudgeJob(runs, loaded, **of_job), **made_by)
    emit_warnings(loaded)
    return judged.qrels
