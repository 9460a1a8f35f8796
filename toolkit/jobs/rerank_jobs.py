"""The job that reranks: a run and its topics, as its record or the user names them."""

from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.datasets import TopicSet
from toolkit.datasets.candidates import CANDIDATES, benchmark_candidates
from toolkit.datasets.recorded_topics import recorded_topics
from toolkit.files.provenance import Output
from toolkit.jobs.file_job import RunJob, stem_of
from toolkit.retrieval.instructions import topics_sent
from toolkit.retrieval.rerank import Rerank
from toolkit.retrieval.steps import Made, Results, given_topics, made_of, recorded_run
from toolkit.retrieval.texts import texts_from


def rerank_job(
    run: Any,
    reranker: Rerank,
    *,
    topics: Any = None,
    index: str | None = None,
    docs: str | None = None,
    output: str | Path | None = None,
    metadata: str | Path | None = None,
    tag: str | None = None,
    instruction: str = "full",
) -> RunJob:
    """Rerank a run.

    run          its file, `-`, or `candidates` for the benchmark's own; None for what the system's recipe takes
    topics       those that the run was made with, as its record says, where none are named
    index, docs  where texts come from, see `toolkit.retrieval.texts`
    output       None writes nothing

    Raises ToolkitError.
    """
    source = run if run is not None else reranker.spec.parameters.get("run")
    if source is None:
        raise ToolkitError("no run to rerank", "name one with --run, or take the benchmark's candidates (--run candidates)")
    read = None if isinstance(source, str) and source == CANDIDATES else recorded_run(source)
    if topics is None and (read is None or not read.source):
        what = "candidates are" if read is None else "run is"
        raise ToolkitError(f"no record says which topics the {what} of", "name them with --topics")
    topic_set = given_topics(topics) if topics is not None else recorded_topics(read)
    made = _benchmarks_own(topic_set) if read is None else made_of(read)
    inputs = Results(
        topic_set, topics_sent(topic_set, instruction), instruction, texts_from(topic_set, index=index, docs=docs), (made,)
    )
    return RunJob(inputs, reranker, Output.at(output, metadata), tag or reranker.spec.name)


def rerank_name(job: RunJob) -> str:
    """`run.<topics>.<index>.<system>.rerank-NAME.trec`: the name of the run that is reranked, extended."""
    source, instruction = job.inputs.one.source, job.inputs.instruction
    stem = stem_of(source) if source not in (CANDIDATES, "-") else f"run.{job.inputs.topics.name}.{stem_of(source)}"
    return ".".join([stem, job.step.name, *([instruction] if instruction != "full" else []), "trec"])


def _benchmarks_own(topics: TopicSet) -> Made:
    run = benchmark_candidates(topics)
    facts = {"of": topics.benchmark.spec.name, "queries": len(run.query_ids), "lines": len(run)}
    return Made(run, source=CANDIDATES, facts=facts)
