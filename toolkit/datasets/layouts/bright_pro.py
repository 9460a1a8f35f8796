"""BRIGHT-Pro: questions whose gold documents are each of one aspect of the answer; aspects have a weight of 1, 2 or 3.

    examples/<task>    id, query, gold_ids
    documents/<task>   id, content
    aspects/<task>     id (`<task>-<example id>-a<n>`), content, weight, supporting_docs

as the hub has it (a configuration with a split a task) or the authors' local mirror (a JSON file each). `supporting_docs` says
which documents an aspect has. Sources: the authors' `bright_pro_data.py` and README. Neither file of the hub was read.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.data_files import Record
from toolkit.datasets.group_data import Group, Part

NEEDED = ("name", "repository", "revision", "subset")
EXAMPLES, DOCUMENTS, ASPECTS = TABLES = ("examples/{subset}", "documents/{subset}", "aspects/{subset}")
PATTERNS = ("*{subset}*",)
EXPECTED = "examples/{subset}.json with documents/ and aspects/"
SUFFIX = re.compile(r"-(?:a|aspect-)\d+$")
NO_ASPECT = "0"  # the subtopic of gold documents that no aspect names


def read(folder: Path, spec: BenchmarkSpec, group: Group, *, stored: bool = False) -> Part:
    """A task. The n-th aspect of a question is its perspective n and subtopic n of the qrels, whose `weights` are as published.

    All that cannot be right (a question without text or gold document, an aspect of no question or without a weight, an unknown
    document) is one ToolkitError with each problem's place.
    """
    name, problems = group["name"], []
    known, docs = row_values.corpus(folder, DOCUMENTS.format_map(group), problems, stored=stored)
    examples = row_values.by_id(folder, EXAMPLES.format_map(group), ("id",), "question", problems)
    aspects = _aspects(folder, group, examples, problems)
    topics, rows, weights, outside, beside = [], [], {}, 0, 0
    for original, record in examples.items():
        gold = dict.fromkeys(_ids(record, "gold_ids", known, problems))
        query, query_id = row_values.text(record, "query").strip(), f"{name}-{original}"
        if not query or not gold:
            problems.append(f"{record.place}: question {original} has no {'gold document' if query else 'text'}")
        left = dict(gold)
        for number, aspect in enumerate(aspects[original], 1):
            weights[query_id, str(number)] = _weight(aspect, problems)
            for doc_id in _ids(aspect, "supporting_docs", known, problems):
                if doc_id in gold:
                    rows.append(Qrel(query_id, doc_id, 1, str(number)))
                    left.pop(doc_id, None)
                beside += doc_id not in gold
        if left:  # relevant, and of no weight among the aspects
            rows += (Qrel(query_id, doc_id, 1, NO_ASPECT) for doc_id in left)
            weights[query_id, NO_ASPECT] = 0.0
            outside += len(left)
        texts = tuple(row_values.text(aspect, "content").strip() for aspect in aspects[original])
        topics.append(Topic(query_id, query, query=query, group_id=query_id, original_id=original, perspectives=texts))
    row_values.refuse(folder, problems)
    counts = {"gold documents are of no aspect": outside, "documents of aspects are not gold: left out": beside}
    notes = tuple(f"{name}: {count} {what}" for what, count in counts.items() if count)
    qrels = replace(Qrels.from_rows(rows, f"bright-pro-{name}"), weights=weights)
    return Part(name, {"": topics}, {"": qrels}, docs, notes=notes)


read_copy = partial(read, stored=True)


def _aspects(folder: Path, group: Group, examples: Mapping[str, Record], problems: list[str]) -> dict[str, list[Record]]:
    """The aspects of each question, in the order of the file."""
    of: dict[str, list[Record]] = {original: [] for original in examples}
    for aspect_id, record in row_values.by_id(folder, ASPECTS.format_map(group), ("id",), "aspect", problems).items():
        original = SUFFIX.sub("", aspect_id).removeprefix(f"{group['subset']}-")
        if original not in of or not SUFFIX.search(aspect_id):
            problems.append(f"{record.place}: {aspect_id} is the aspect of no question (<task>-<question>-a<n>)")
        else:
            of[original].append(record)
    problems += (f"{examples[each].place}: question {each} has no aspect" for each, found in of.items() if not found)
    return of


def _weight(record: Record, problems: list[str]) -> float:
    value = record.values.get("weight")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1000:
        problems.append(f"{record.place}: weight {value!r} is no number above 0")
        return 1.0
    return float(value)


def _ids(record: Record, name: str, docs: row_values.Known, problems: list[str]) -> list[str]:
    """The ids that a column lists; whole numbers are ids too, and an aspect may have none."""
    values = record.values.get(name)
    if isinstance(values, list):
        values = [str(value) if type(value) is int else value for value in values]
    return row_values.id_list(Record(record.place, {name: [] if values is None else values}), name, docs, problems)
