"""berds-mini: questions with their perspectives and passages, in readable YAML files, each of which belongs to one group."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.group_data import Group, Part
from toolkit.datasets.layouts.berds import as_topic
from toolkit.datasets.minis import entries, lacking, passage, refuse_twice

NEEDED = ("name",)
DATA_SET = "mini"  # as in BERDS, ids are `<data set>-<id>`


class _Question(NamedTuple):
    """A question of the source. labels: one for every pair of one of its passages and one of its perspectives."""

    group: str
    topic: Topic
    docs: list[Doc]
    labels: list[Qrel]
    expansions: tuple[tuple[str, str], ...]


def read(spec: BenchmarkSpec, group: Group) -> Part:
    """The questions of a group, from `toolkit/datasets/corpora/<benchmark>/`. One corpus holds the passages of all groups.

    `Part.published["expansions"]` has (name, text) pairs by query id, as for BERDS itself.
    Raises ToolkitError, which names the file, where something is missing, given twice, or held that is no perspective.
    """
    questions = [_question(*entry) for entry in entries(spec.name, "questions")]
    refuse_twice(spec.name, "question", (question.topic.query_id for question in questions))
    docs = sorted(doc for question in questions for doc in question.docs)
    refuse_twice(spec.name, "passage", (doc.doc_id for doc in docs))
    name = group["name"]
    of_group = [question for question in questions if question.group == name]
    return Part(
        name,
        {"": [question.topic for question in of_group]},
        {"": Qrels.from_rows((label for question in of_group for label in question.labels), f"{spec.name}-{name}")},
        docs if spec.corpus(name) == name else None,
        published={"expansions": {question.topic.query_id: question.expansions for question in of_group}},
    )


def _question(path: Path, source: Mapping[str, Any], entry: Mapping[str, Any]) -> _Question:
    with lacking(path):
        query_id, perspectives = f"{DATA_SET}-{entry['id']}", tuple(entry["perspectives"])
        topic = as_topic(query_id, entry["question"], perspectives, original_id=str(entry["id"]))
        docs = [passage(row) for row in entry["passages"]]
        numbers = range(1, len(perspectives) + 1)
        labels = []
        for row in entry["passages"]:
            if unknown := set(row["holds"]).difference(numbers):
                what = f"passage {row['id']} holds {', '.join(map(str, unknown))}"
                raise ToolkitError(f"{path}: {what}", f"the question has perspectives 1 to {len(perspectives)}")
            labels += [Qrel(query_id, str(row["id"]), int(number in row["holds"]), str(number)) for number in numbers]
        expansions = tuple((written["name"], written["text"]) for written in entry["expansions"])
        return _Question(source["group"], topic, docs, labels, expansions)
