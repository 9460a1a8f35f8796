"""A folder from runs: their topics, the documents that they found first, and a line for each pair that is to be judged."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.modes import Modes
from toolkit.core.runs import Run, round_robin
from toolkit.datasets.benchmark import Benchmark
from toolkit.datasets.names import TopicPart, TopicSet
from toolkit.datasets.own.own_new import DEPTH, Content
from toolkit.datasets.own.own_qrels import UNJUDGED
from toolkit.datasets.recorded_topics import recorded_topics
from toolkit.files.provenance import read_recorded
from toolkit.files.runs.conversion import read_run


class Texts(Protocol):
    """The documents of one group of topics."""

    def find(self, ids: Sequence[str], /) -> Mapping[str, Doc]:
        """Document id -> document."""


def from_runs(
    paths: Sequence[str | Path],
    texts: Callable[[TopicSet], Callable[[str], Texts]],
    *,
    topics: TopicSet | None = None,
    depth: int = DEPTH,
) -> tuple[Content, Modes]:
    """What the runs found, and the modes that their queries have.

    texts   where the documents of topics' groups are
    topics  that the runs were made with; those that their records name, where none are given
    depth   documents of each query and run that are pooled, round by round; they are the corpus

    Labels that the topics' benchmark has are kept; the other pairs wait with `?`.
    Raises ToolkitError where the runs are of different topics, or find nothing of them.
    """
    check_counts(depth=depth)
    recorded = [read_recorded(path, read_run) for path in paths]
    sets = [topics] if topics else [recorded_topics(one) for one in recorded]
    if len({(one.name, one.folder) for one in sets}) > 1:
        names = ", ".join(dict.fromkeys(one.name for one in sets))
        raise ToolkitError(f"the runs are of different topics: {names}", "name runs of the same topics, or --topics")
    asked = sets[0]
    modes, pools = _modes(asked), _pools([one.content for one in recorded], depth)
    if not pools.keys() & {topic.query_id for topic in asked.topics}:
        raise ToolkitError(f"no run has a query of {asked.name}", "name the topics that they were made with: --topics")
    docs: dict[str, Doc] = {}
    read = texts(asked)
    for part in asked.parts:
        wanted = list(dict.fromkeys(doc_id for topic in part.topics for doc_id in pools.get(topic.query_id, ())))
        docs |= read(part.group).find(wanted) if wanted else {}
    rows = [row for part in asked.parts for row in _rows(part, modes, len(asked.parts) > 1)]
    return Content(docs.values(), rows, _judged(asked, modes, pools)), modes


def _modes(topics: TopicSet) -> Modes:
    named = {topic.mode for topic in topics.topics} - {""}
    if isinstance(topics.benchmark, Benchmark):
        return topics.benchmark.spec.modes.only(named)
    if named:
        raise ToolkitError(f"{topics.name}: nothing says what its modes mean", "name a benchmark's topics")
    return Modes()


def _pools(runs: Sequence[Run], depth: int) -> dict[str, list[str]]:
    """Query id -> the first documents of every run, round by round."""
    lists = [{query_id: [doc.doc_id for doc in docs[:depth]] for query_id, docs in run.rankings()} for run in runs]
    ids = dict.fromkeys(query_id for ranking in lists for query_id in ranking)
    return {query_id: round_robin([ranking.get(query_id, []) for ranking in lists], depth * len(runs)) for query_id in ids}


def _rows(part: TopicPart, modes: Modes, several: bool) -> list[dict[str, Any]]:
    """Rows of topics.jsonl, one a query over all its modes."""
    rows: dict[str, dict[str, Any]] = {}
    for topic in part.topics:
        facts = {"id": topic.base_id, "query": topic.query or topic.text, "group": part.group if several else ""}
        facts |= {"core": topic.group_id, "condition": topic.condition}
        facts |= {"perspectives": list(topic.perspectives), "wordings": dict(topic.wordings)}
        row = rows.setdefault(topic.base_id, {key: value for key, value in facts.items() if value})
        if modes and (topic.instruction or modes[topic.mode] != "base"):
            row.setdefault("instructions", {})[topic.mode] = topic.instruction
        elif not modes and topic.instruction:
            row["instruction"] = topic.instruction
    return list(rows.values())


def _judged(topics: TopicSet, modes: Modes, pools: Mapping[str, Sequence[str]]) -> dict[str, list[tuple[str, str, str, str]]]:
    """Mode -> the pairs of the pools with the labels that are known of them."""
    judged: dict[str, list[tuple[str, str, str, str]]] = {mode: [] for mode in modes or ("",)}
    for part in topics.parts:
        known: dict[tuple[str, str], list[tuple[str, int]]] = {}
        has_labels = isinstance(topics.benchmark, Benchmark) and topics.benchmark.has_qrels(part.group)
        for mode in (modes or ("",)) if has_labels else ():
            for row in topics.benchmark.qrels(part.group, mode):
                known.setdefault((row.query_id, row.doc_id), []).append((row.iteration, row.relevance))
        for topic in part.topics:
            for doc_id in pools.get(topic.query_id, ()):
                labels = known.get((topic.query_id, doc_id), [("0", UNJUDGED.decode())])
                judged[topic.mode] += [(topic.base_id, iteration, doc_id, str(label)) for iteration, label in labels]
    return judged
