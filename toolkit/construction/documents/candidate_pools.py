"""Documents pooled from the runs of several systems: what FollowIR's systems rerank, and which passages BERDS judges.

A search is over the seeds' own documents: an index where `build.yaml` names one, else the corpora of the benchmark, or files.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from toolkit.construction.queries.seeds import INDEX
from toolkit.construction.tools import Tools
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.modes import Modes
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.system.files import temporary_folder
from toolkit.core.system.progress import silenced
from toolkit.core.topics import Topic
from toolkit.datasets import TopicPart, TopicSet, resolve_topics
from toolkit.datasets.own.own_new import Content, new_folder

ALL = "all"  # the part of topics whose documents are files


def check_pool(step: str, systems: Sequence[str], runs: Sequence[str], **counts: int) -> None:
    """ToolkitError where a step pools nothing, and for numbers below 1."""
    check_counts(**counts)
    if not systems and not runs:
        raise ToolkitError(f"step {step}: nothing is pooled", "name systems of the registry, or files of runs")


def searched(
    topics: Mapping[str, Sequence[Topic]], tools: Tools, systems: Sequence[str], runs: Sequence[Path], hits: int
) -> list[Run]:
    """The runs of systems of the registry over topics, and those of files.

    topics  group of the seeds, over whose documents they are searched -> topics
    hits    documents of each topic

    Raises ToolkitError for an unknown system, for files that are no runs, and where the seeds have no documents.
    """
    from toolkit.files.formats import read_run
    from toolkit.jobs import search_job
    from toolkit.jobs.file_job import run_by

    found = [read_run(path) for path in runs]
    if not systems:
        return found
    index = tools.seeds.local(tools.seeds.given[INDEX]) if INDEX in tools.seeds.given else None
    with temporary_folder(tools.folder, ".search.", ".part") if _are_files(tools) else nullcontext() as folder:
        if folder:
            rows = [{"id": topic.query_id, "query": topic.text} for part in topics.values() for topic in part]
            new_folder(folder / "draft", Content(tools.seeds.docs(), rows), Modes())
            asked = resolve_topics(str(folder / "draft"))
        else:
            parts = [TopicPart(group, [replace(topic, mode="") for topic in part]) for group, part in topics.items()]
            asked = TopicSet("seeds", parts, None if INDEX in tools.seeds.given else tools.seeds.topic_set.benchmark)
        return [run_by(search_job(asked, index, system, hits=hits, systems=tools.systems)) for system in systems] + found


def pooled(runs: Sequence[Run], core: Mapping[str, str], size: int) -> dict[str, list[str]]:
    """Core query -> the first `size` different documents of its queries in all runs, round by round
    (`toolkit.evaluation.run_checks.pool`).

    core  query id -> core query; other queries of the runs are left out
    """
    from toolkit.evaluation.run_checks.pool import pool

    variants: list[Run] = []
    for run in runs:  # each as one for each variant of a core query, all under the core queries' ids
        rounds: list[list[ScoredDoc]] = []
        taken: dict[str, int] = {}
        for query_id, ranking in run.rankings():
            if query_id in core:
                number = taken[core[query_id]] = taken.get(core[query_id], -1) + 1
                rounds += [[]] if number == len(rounds) else []
                rounds[number] += (doc._replace(query_id=core[query_id]) for doc in ranking)
        variants += (Run.from_rows(rows, tag=run.tag) for rows in rounds)
    if not variants:
        return {}
    with silenced():  # that pools of small collections are small
        found = pool(variants, size=size)
    return {query_id: [doc.doc_id for doc in ranking] for query_id, ranking in found.rankings()}


def seed_group(tools: Tools) -> str:
    """The group of the seeds over whose documents questions are searched that none of the seeds' own is: the only one there is.

    Raises ToolkitError where the seeds' benchmark has several corpora.
    """
    if _are_files(tools) or INDEX in tools.seeds.given:
        return ALL
    topics = tools.seeds.topic_set
    groups = {topics.benchmark.spec.corpus(part.group): part.group for part in topics.parts} if topics.benchmark else {}
    if len(groups) != 1:
        hint = "name one group of the benchmark, an index, or files: seeds: {docs: F}"
        raise ToolkitError(f"the seeds have {len(groups)} corpora", hint)
    return next(iter(groups.values()))


def _are_files(tools: Tools) -> bool:
    return "docs" in tools.seeds.given and INDEX not in tools.seeds.given
