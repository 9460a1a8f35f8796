"""instructir-mini: core queries with their instructions, passages and paraphrases, in readable YAML files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.group_data import Group, Part, as_qrels
from toolkit.datasets.layouts.instructir import FORMS, instructed, query_only
from toolkit.datasets.minis import entries, lacking, passage, refuse_twice

NEEDED = ("name",)


class _Core(NamedTuple):
    """A core query of the source. golds: one passage for each topic; paraphrases: other wordings of one of the topics."""

    topics: list[Topic]
    golds: list[Doc]
    paraphrases: list[Topic]


def read(spec: BenchmarkSpec, group: Group) -> Part:
    """A group, from `toolkit/datasets/corpora/<benchmark>/`: the instructed queries, a form of them, or the paraphrases.

    Raises ToolkitError, which names the file, where something is missing, said twice, or reworded that is not there.
    """
    cores = [_core(path, entry) for path, _, entry in entries(spec.name, "queries")]
    topics = [topic for core in cores for topic in core.topics]
    docs = [gold for core in cores for gold in core.golds]
    refuse_twice(spec.name, "query", (topic.query_id for topic in topics))
    refuse_twice(spec.name, "passage", (doc.doc_id for doc in docs))
    judged = {topic.query_id: {gold.doc_id: 1} for topic, gold in zip(topics, docs, strict=True)}
    name = group["name"]
    if name == "paraphrases":
        topics = [topic for core in cores for topic in core.paraphrases]
        judged = {topic.query_id: judged[topic.group_id] for topic in topics}
    elif name == "query-only":
        topics, judged = query_only(topics, judged)
    else:
        topics = [FORMS[name](topic) for topic in topics]
    qrels = as_qrels(judged, f"{spec.name}-{name}")
    return Part(name, {"": topics}, {"": qrels}, sorted(docs) if spec.corpus(name) == name else None)


def _core(path: Path, entry: Mapping[str, Any]) -> _Core:
    with lacking(path):
        core, query, instances = str(entry["number"]), entry["query"], entry["instances"]
        ids = [f"{core}_{number}" for number in range(1, len(instances) + 1)]
        topics = [instructed(i, core, query, instance["instruction"]) for i, instance in zip(ids, instances, strict=True)]
        reworded = f"{core}_{entry['paraphrases']['of']}"
        if reworded not in ids:
            raise ToolkitError(f"{path}: the paraphrases of query {core} are of {reworded}", f"it has {', '.join(ids)}")
        others = enumerate(entry["paraphrases"]["instructions"], 1)
        paraphrases = [instructed(f"{reworded}.{number}", reworded, query, instruction) for number, instruction in others]
        return _Core(topics, [passage(instance["gold"]) for instance in instances], paraphrases)
