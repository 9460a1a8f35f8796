"""instructir-mini: core queries with their instructions, passages and paraphrases, in readable YAML files."""

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.group_data import Group, Part, as_qrels
from toolkit.datasets.layouts.instructir import FORMS, instructed, query_only
from toolkit.datasets.minis import entries, lacking, passage, refuse_twice

NEEDED = ("name",)


def read(spec: BenchmarkSpec, group: Group) -> Part:
    """A group, from `toolkit/datasets/corpora/<benchmark>/`: the instructed queries, a form of them, or the paraphrases.

    Raises ToolkitError, which names the file, where something is missing, said twice, or reworded that is not there.
    """
    topics: list[Topic] = []
    docs: list[Doc] = []  # one for each topic
    paraphrases: list[Topic] = []  # other wordings of one topic of each core query
    for path, _, entry in entries(spec.name, "queries"):
        with lacking(path):
            core, query, instances = str(entry["number"]), entry["query"], entry["instances"]
            ids = [f"{core}_{number}" for number in range(1, len(instances) + 1)]
            topics += [instructed(i, core, query, instance["instruction"]) for i, instance in zip(ids, instances, strict=True)]
            reworded = f"{core}_{entry['paraphrases']['of']}"
            if reworded not in ids:
                raise ToolkitError(f"{path}: the paraphrases of query {core} are of {reworded}", f"it has {', '.join(ids)}")
            others = enumerate(entry["paraphrases"]["instructions"], 1)
            paraphrases += [instructed(f"{reworded}.{number}", reworded, query, other) for number, other in others]
            docs += [passage(instance["gold"]) for instance in instances]
    refuse_twice(spec.name, "query", (topic.query_id for topic in topics))
    refuse_twice(spec.name, "passage", (doc.doc_id for doc in docs))
    judged = {topic.query_id: {gold.doc_id: 1} for topic, gold in zip(topics, docs, strict=True)}
    name = group["name"]
    if name == "paraphrases":
        topics = paraphrases
        judged = {topic.query_id: judged[topic.group_id] for topic in topics}
    elif name == "query-only":
        topics, judged = query_only(topics, judged)
    else:
        topics = [FORMS[name](topic) for topic in topics]
    qrels = as_qrels(judged, f"{spec.name}-{name}")
    return Part(name, {"": topics}, {"": qrels}, sorted(docs) if spec.corpus(name) == name else None)
