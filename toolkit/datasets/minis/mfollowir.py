"""mfollowir-mini: one readable YAML file a language, with queries and instructions in that language and in English."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.modes import join_mode
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.system.files import corpora
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.topics import Topic
from toolkit.datasets.group_data import Group, Part, as_candidates, part_name, topic_in_mode
from toolkit.datasets.layouts.followir import checks
from toolkit.datasets.minis import check_numbers, lacking, passage, refuse_twice

__all__ = ["NEEDED", "checks", "read"]

NEEDED = ("name", "language")
INSTRUCTIONS = {"og": "narrative", "changed": "changed"}  # mode -> the source's key
CANDIDATES_OF_OTHERS = 6  # documents of other topics among the candidates of a topic


def read(spec: BenchmarkSpec, group: Group) -> Part:
    """A language, from `toolkit/datasets/corpora/<benchmark>/<language>.yaml`. A group that shares the documents of another
    (`corpus`) asks for them in English.

    A topic's own documents are judged in both modes. Its candidates are these and some of other topics, in an order that
    tells nothing (that of a hash), the same in both modes and in both groups of a language.
    Raises ToolkitError, which names the file, where something is missing, numbered wrongly or given twice.
    """
    language, suffix = group.get("corpus", group["name"]), "_en" if "corpus" in group else ""
    path = corpora(spec.name, f"{language}.yaml")
    with lacking(path):
        sources = read_yaml(path)["topics"]
        docs = [passage(entry) for source in sources for entry in source["documents"]]
        name, prefix = group["name"], part_name(group["name"])
        topics = {mode: [_topic(source, prefix, mode, suffix) for source in sources] for mode in INSTRUCTIONS}
        qrels = {mode: Qrels.from_rows(_judged(sources, topics[mode], mode), join_mode(prefix, mode)) for mode in INSTRUCTIONS}
    check_numbers(str(path), sources)
    refuse_twice(str(path), "document", (doc.doc_id for doc in docs))
    ranked = [_candidates(f"{language}-{source['number']}", source, docs) for source in sources]
    ids = {mode: [topic.query_id for topic in of_mode] for mode, of_mode in topics.items()}
    runs = {mode: as_candidates(dict(zip(ids[mode], ranked, strict=True)), "candidates") for mode in INSTRUCTIONS}
    return Part(name, topics, qrels, None if "corpus" in group else docs, runs)


def _topic(source: Mapping[str, Any], prefix: str, mode: str, suffix: str) -> Topic:
    published, query = f"{source['number']:02d}", source[f"query{suffix}"]
    instruction = source[f"{INSTRUCTIONS[mode]}{suffix}"]
    return topic_in_mode(f"{prefix}-{published}", mode, query, instruction, original_id=join_mode(published, mode))


def _judged(sources: Sequence[Mapping[str, Any]], topics: Sequence[Topic], mode: str) -> Iterator[Qrel]:
    for source, topic in zip(sources, topics, strict=True):
        yield from (Qrel(topic.query_id, str(entry["id"]), entry[mode]) for entry in source["documents"])


def _candidates(key: str, source: Mapping[str, Any], docs: Sequence[Doc]) -> list[str]:
    judged = {str(entry["id"]) for entry in source["documents"]}
    order = sorted((doc.doc_id for doc in docs), key=lambda doc_id: sha256(f"{key} {doc_id}".encode()).digest())
    taken = judged.union([doc_id for doc_id in order if doc_id not in judged][:CANDIDATES_OF_OTHERS])
    return [doc_id for doc_id in order if doc_id in taken]
