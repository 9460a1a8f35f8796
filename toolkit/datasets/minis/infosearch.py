"""infosearch-mini: one readable YAML file a dimension."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.modes import BASE, INSTRUCTED, REVERSED, Modes
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.system.files import corpora
from toolkit.core.system.yaml_json import read_yaml
from toolkit.datasets.group_data import Group, Part, Row, assemble
from toolkit.datasets.minis import check_numbers, lacking, refuse_twice

NEEDED = ("name",)
KEYS = {INSTRUCTED: "ins", REVERSED: "rev"}  # role of a mode -> the source's key


def read(spec: BenchmarkSpec, group: Group) -> Part:
    """One dimension, from `toolkit/datasets/corpora/<benchmark>/<dimension>.yaml`."""
    return read_source(corpora(spec.name, f"{group['name']}.yaml"), spec.modes)


def read_source(path: Path, modes: Modes) -> Part:
    """A dimension as it is written by hand: topics with their rows (condition, instructions, gold document) and adversarial
    documents, and documents that are relevant to none of them.

    A row's gold document is what its instruction asks for, the gold documents of the core query's other rows are its
    instruction negatives. Adversarial documents use the words of the core query and are relevant in no mode. All modes judge
    the same pairs; the unrelated documents are judged in none. How an adversarial or unrelated document is written
    (`condition`) is for scripts/check_minis.
    Raises ToolkitError, which names the file, where something is missing, numbered wrongly or given twice.
    """
    source = read_yaml(path)
    with lacking(path):
        name, topics, unrelated = source["dimension"], source["topics"], source["unrelated"]
        check_numbers(name, topics)
        rows = [row for number, topic in enumerate(topics, 1) for row in _rows(name, number, topic, modes)]
        judged = [entry for topic in topics for entry in [*(row["gold"] for row in topic["rows"]), *topic["adversarial"]]]
        docs = [_doc(entry) for entry in [*judged, *unrelated]]
    refuse_twice(str(path), "document", (doc.doc_id for doc in docs))
    # relevant documents come first in the file: documents are ordered by their ids
    return assemble(name, tuple(modes), rows, sorted(docs))


def _rows(dimension: str, number: int, topic: Mapping[str, Any], modes: Modes) -> list[Row]:
    golds = [str(row["gold"]["id"]) for row in topic["rows"]]
    others = {str(entry["id"]): 0 for entry in topic["adversarial"]}
    rows = []
    for gold, (place, row) in zip(golds, enumerate(topic["rows"], 1), strict=True):
        judged = {
            BASE: dict.fromkeys(golds, 1) | others,
            INSTRUCTED: {doc_id: int(doc_id == gold) for doc_id in golds} | others,
            REVERSED: {doc_id: int(doc_id != gold) for doc_id in golds} | others,
        }
        labels = {mode: judged[role] for mode, role in modes.items()}
        instructions = {mode: _one_line(row[KEYS[modes[mode]]]) for mode in modes.of(*KEYS)}
        original, query, condition = f"{dimension}-{number:03d}-{place}", _one_line(topic["query"]), str(row["condition"])
        rows.append(Row(original, query, condition, instructions, labels))
    return rows


def _doc(entry: Mapping[str, Any]) -> Doc:
    return Doc(str(entry["id"]), _one_line(entry.get("title") or ""), str(entry["text"]).strip())


def _one_line(text: str) -> str:
    return " ".join(str(text).split())
