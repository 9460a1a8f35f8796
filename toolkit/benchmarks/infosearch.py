"""InfoSearch as it is published: one folder a dimension, with a corpus, queries, and qrels for each mode.

The layout is that of MTEB's data sets (`corpus`, `queries`, `qrels_og`, `qrels_changed`, `qrels_reversed`), as files on
disk or as a hub repository holds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolkit.benchmarks.parts import Part, Row, assemble
from toolkit.benchmarks.tables import Record, read_table
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError

PUBLISHED = {"ori": "og", "ins": "changed", "rev": "reversed"}  # our mode -> the name in columns and configurations
TABLES = ("corpus", "queries", *(f"qrels_{mode}" for mode in PUBLISHED.values()))


def read_dimension(folder: Path, name: str) -> Part:
    """A dimension from a folder in the published layout, without candidates.

    All that cannot be right (a duplicate id, an unknown document or query in qrels, a query without a gold document)
    is one ToolkitError with file and line of each problem. Columns that nobody knows are fine.
    """
    problems: list[str] = []
    docs = _docs(folder, problems)
    queries = _queries(folder, problems)
    judgments = {mode: _qrels(folder, mode, queries, docs, problems) for mode in PUBLISHED}
    problems += [
        f"{record.place}: query {query_id} has no gold document (relevant in qrels_og and in qrels_changed)"
        for query_id, record in queries.items()
        if not _golds(judgments, query_id)
    ]
    if problems:
        hint = "compare the copy with the published one; nothing of it was kept"
        if len(problems) == 1:
            raise ToolkitError(problems[0], hint)
        raise ToolkitError(f"{folder} has {len(problems)} problems", hint, problems=problems)
    notes = _Notes()
    rows = [_row(query_id, record, judgments, notes) for query_id, record in queries.items()]
    return assemble(name, tuple(PUBLISHED), rows, list(docs.values()), notes.lines(name))


class _Notes:
    """What was put right, and how often."""

    def __init__(self):
        self.repeated, self.without = 0, 0

    def lines(self, name: str) -> Iterator[str]:
        if self.repeated:
            yield f"{name}: {self.repeated} instructions began with their core query; it was taken off"
        if self.without:
            yield f"{name}: {self.without} instructions are empty"


def _text(record: Record, *names: str) -> str:
    """The value of the first of these columns that is there."""
    for name in names:
        if record.values.get(name) is not None:
            return str(record.values[name])
    raise ToolkitError(f"{record.place}: no column {' or '.join(map(repr, names))}", "see docs/guides/benchmarks.md")


def _docs(folder: Path, problems: list[str]) -> dict[str, Doc]:
    docs: dict[str, Doc] = {}
    for record in read_table(folder, "corpus"):
        doc = Doc(_text(record, "_id", "id"), str(record.values.get("title") or ""), _text(record, "text"))
        if doc.doc_id in docs:
            problems.append(f"{record.place}: document {doc.doc_id} for the second time")
        docs[doc.doc_id] = doc
    return docs


def _queries(folder: Path, problems: list[str]) -> dict[str, Record]:
    queries: dict[str, Record] = {}
    for record in read_table(folder, "queries"):
        query_id = _text(record, "_id", "id")
        if query_id in queries:
            problems.append(f"{record.place}: query {query_id} for the second time")
        queries[query_id] = record
    return queries


def _qrels(
    folder: Path, mode: str, queries: Mapping[str, Any], docs: Mapping[str, Any], problems: list[str]
) -> dict[str, dict[str, int]]:
    """query id -> document id -> relevance, in the order of the file."""
    judged: dict[str, dict[str, int]] = {query_id: {} for query_id in queries}
    for record in read_table(folder, f"qrels_{PUBLISHED[mode]}"):
        query_id, doc_id, score = (_text(record, name) for name in ("query-id", "corpus-id", "score"))
        if query_id not in queries:
            problems.append(f"{record.place}: unknown query {query_id}")
        elif doc_id not in docs:
            problems.append(f"{record.place}: unknown document {doc_id}")
        elif doc_id in judged[query_id]:
            problems.append(f"{record.place}: query {query_id} and document {doc_id} for the second time")
        elif not score.lstrip("-").isdecimal():
            problems.append(f"{record.place}: score {score!r} is no whole number")
        else:
            judged[query_id][doc_id] = int(score)
    return judged


def _golds(judgments: Mapping[str, Mapping[str, Mapping[str, int]]], query_id: str) -> set[str]:
    relevant = [{doc for doc, label in judgments[mode][query_id].items() if label > 0} for mode in ("ori", "ins")]
    return relevant[0] & relevant[1]


def _row(query_id: str, record: Record, judgments: Mapping[str, Mapping[str, Mapping[str, int]]], notes: _Notes) -> Row:
    query = _text(record, "text").strip()
    return Row(
        original_id=query_id,
        query=query,
        condition=str(record.values.get("condition") or ""),
        # in the original mode the release repeats an instruction that asks for nothing; ours is the core query alone
        instructions={mode: _instruction(record, query, mode, notes) for mode in ("ins", "rev")},
        judgments={mode: judgments[mode][query_id] for mode in judgments},
    )


def _instruction(record: Record, query: str, mode: str, notes: _Notes) -> str:
    """The instruction alone: its own column in later releases; in others it may begin with the core query."""
    column = f"instruction_{PUBLISHED[mode]}"
    instruction = _text(record, f"only_{column}", column).strip()
    rest = instruction.removeprefix(query)
    if query and rest != instruction and not rest[:1].isalnum():
        notes.repeated += 1
        instruction = rest.strip()
    notes.without += not instruction
    return instruction
