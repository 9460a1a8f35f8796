"""berds-mini: questions with their perspectives and passages, in readable YAML files, each of which belongs to one group."""

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.specs import BenchmarkSpec
from toolkit.datasets.group_data import Group, Part
from toolkit.datasets.layouts.berds import as_topic
from toolkit.datasets.minis import entries, lacking, passage, refuse_twice

NEEDED = ("name",)
DATA_SET = "mini"  # as in BERDS, ids are `<data set>-<id>`


def read(spec: BenchmarkSpec, group: Group) -> Part:
    """The questions of a group, from `toolkit/datasets/corpora/<benchmark>/`. One corpus holds the passages of all groups.

    `Part.published["expansions"]` has (name, text) pairs by query id, as for BERDS itself.
    Raises ToolkitError, which names the file, where something is missing, given twice, or held that is no perspective.
    """
    name, ids, docs, topics, labels, expansions = group["name"], [], [], [], [], {}
    for path, source, entry in entries(spec.name, "questions"):
        with lacking(path):
            query_id, perspectives = f"{DATA_SET}-{entry['id']}", tuple(entry["perspectives"])
            topic = as_topic(query_id, entry["question"], perspectives, original_id=str(entry["id"]))
            ids.append(query_id)
            docs += [passage(row) for row in entry["passages"]]
            numbers, rows = range(1, len(perspectives) + 1), entry["passages"]
            if unknown := [(row["id"], odd) for row in rows if (odd := set(row["holds"]).difference(numbers))]:
                what = f"passage {unknown[0][0]} holds {', '.join(map(str, unknown[0][1]))}"
                raise ToolkitError(f"{path}: {what}", f"the question has perspectives 1 to {len(perspectives)}")
            pairs = [(row, number) for row in rows for number in numbers]
            own = [Qrel(query_id, str(row["id"]), int(number in row["holds"]), str(number)) for row, number in pairs]
            written = tuple((expansion["name"], expansion["text"]) for expansion in entry["expansions"])
            if source["group"] == name:
                topics.append(topic)
                labels += own  # one for every pair of one of its passages and one of its perspectives
                expansions[query_id] = written
    refuse_twice(spec.name, "question", ids)
    docs.sort()
    refuse_twice(spec.name, "passage", (doc.doc_id for doc in docs))
    qrels, corpus = Qrels.from_rows(labels, f"{spec.name}-{name}"), docs if spec.corpus(name) == name else None
    return Part(name, {"": topics}, {"": qrels}, corpus, published={"expansions": expansions})
