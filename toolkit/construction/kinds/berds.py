"""BERDS: contested questions (`contested_questions`), and passages labelled for each of their perspectives (`perspectives`)."""

from dataclasses import dataclass
from pathlib import Path

from toolkit.construction.documents.built_benchmark import doc_of, write_benchmark
from toolkit.construction.documents.negatives import Adversarial, added_to
from toolkit.construction.queries.contested_questions import SEED_FILES, Personal, Perspectives, Questions, Sources
from toolkit.construction.queries.perspectives import Covered, Duplicates, Label, Passages, Review
from toolkit.construction.step_files import BuiltSteps
from toolkit.core.modes import Modes
from toolkit.datasets.own.own_new import Content

__all__ = ["SEED_FILES", "STEPS", "benchmark"]


@dataclass(frozen=True)
class AdversarialPassages(Adversarial):
    """Passages that reuse the question's words and hold no perspective on it."""

    query: str = "question"


STEPS = (Sources, Personal, Questions, Perspectives, Passages, Duplicates, Label, Review, Covered, AdversarialPassages)
MEASURES = ("MRecall@5", "MRecall@10", "PerspectiveP@1", "PerspectiveP@5", "PerspectiveP@10")


def benchmark(build: BuiltSteps, to: Path) -> None:
    """Questions with perspectives and a label of each passage for each of them; a group a file of the seeds.

    The documents are the passages that were labelled for some question, and those that a further step wrote, which hold none of
    its perspectives. Perspectives that no passage holds count, too.
    """
    last = build.config.names[-1]
    questions = build.passed(last)
    passages = {item.fields["doc_id"]: item for item in build.passed("duplicates")}
    wanted = sorted({doc_id for question in questions for doc_id in question.fields["labels"]})
    docs = [doc_of({"id": doc_id, **passages[doc_id].fields}) for doc_id in wanted]
    written = {entry["id"]: entry for question in questions for entry in added_to(question)}
    docs += map(doc_of, written.values())
    rows: list[dict[str, object]] = []
    lines: list[tuple[str, str, str, str]] = []  # of subtopic qrels: question, number of the perspective, passage, label
    for question in questions:
        perspectives = question.fields["perspectives"]
        condition = "binary" if len(perspectives) == 2 else "multi"  # the types that Kialo's data on the hub have
        row = {"id": question.id, "query": question.fields["question"], "group": question.fields["group"]}
        rows.append({**row, "condition": condition, "perspectives": perspectives})
        for doc_id, labels in question.fields["labels"].items():
            lines += ((question.id, str(number), doc_id, str(label)) for number, label in enumerate(labels, 1))
        for entry in added_to(question):
            lines += ((question.id, str(number), entry["id"], "0") for number in range(1, len(perspectives) + 1))
    made = {question.id: build.made[last][question.id] for question in questions} | dict.fromkeys(wanted, ())
    made |= {doc_id: entry["made"] for doc_id, entry in written.items()}
    write_benchmark(build, to, Content(docs, rows, {"": lines}), Modes(), made=made, measures=MEASURES)
