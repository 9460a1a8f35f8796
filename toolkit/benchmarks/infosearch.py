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

    All that cannot be right (a duplicate id, an unknown document or query in qrels, a query without text, without a gold
    document or without reversed judgments) is one ToolkitError with file and line of each problem. Columns that nobody
    knows are fine.
    """
    problems: list[str] = []
    docs = _docs(folder, problems)
    queries = _queries(folder, problems)
    judgments = {mode: _qrels(folder, mode, queries, docs, problems) for mode in PUBLISHED}
    for query_id, record in queries.items():
        if not _text(record, "text").strip():
            problems.append(f"{record.place}: query {query_id} has no text")
        if not _golds(judgments, query_id):
            problems.append(
                f"{record.place}: query {query_id} has no gold document (relevant in qrels_og and in qrels_changed)"
            )
        if not judgments["rev"][query_id]:
            problems.append(f"{record.place}: query {query_id} is not in qrels_reversed")
    if problems:
        hint = "compare the copy with the published one; nothing of it was kept"
        if len(problems) == 1:
            raise ToolkitError(problems[0], hint)
        raise ToolkitError(f"{folder} has {len(problems)} problems", hint, problems=problems)
    notes = _Notes(sum(len(_pairs_apart(judgments, query_id)) for query_id in queries))
    rows = [_row(query_id, record, judgments, notes) for query_id, record in queries.items()]
    return assemble(name, tuple(PUBLISHED), rows, list(docs.values()), notes.lines(name))


class _Notes:
    """What was put right or is odd, and how often."""

    def __init__(self, pairs_apart: int):
        self.repeated, self.without, self.pairs_apart = 0, 0, pairs_apart

    def lines(self, name: str) -> Iterator[str]:
        if self.repeated:
            yield f"{name}: {self.repeated} instructions began with their core query; it was taken off"
        if self.without:
            yield f"{name}: {self.without} instructions are empty"
        if self.pairs_apart:
            yield f"{name}: {self.pairs_apart} pairs of query and document are not judged in all three modes"


def _text(record: Record, *names: str) -> str:
    """The value of the first of these columns that is there."""
    for name in names:
        if (value := record.values.get(name)) is not None:
            if isinstance(value, str):
                return value
            raise ToolkitError(f"{record.place}: expected text in {name!r}, found {value!r}", "get the file again")
    what = "nothing in column" if any(name in record.values for name in names) else "no column"
    columns = f"its columns: {', '.join(record.values)}"
    raise ToolkitError(f"{record.place}: {what} {' or '.join(map(repr, names))}", columns)


def _optional(record: Record, name: str) -> str:
    """The value of a column that a row need not have."""
    return "" if record.values.get(name) is None else _text(record, name)


def _id(record: Record, *names: str) -> str:
    """An id is text always; some files have whole numbers."""
    name = next((name for name in names if type(record.values.get(name)) is int), None)
    value = str(record.values[name]) if name else _text(record, *names)
    if value.split() != [value]:
        raise ToolkitError(f"{record.place}: the id {value!r} is empty or holds white space", "run files could not hold it")
    return value


def _label(record: Record) -> int | None:
    """A relevance: a whole number, which some files write as 1.0; None where it is something else."""
    score = record.values.get("score")
    try:
        value = float(_text(record, "score") if score is None else score)
    except (TypeError, ValueError):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**31 else None


def _docs(folder: Path, problems: list[str]) -> dict[str, Doc]:
    docs: dict[str, Doc] = {}
    for record in read_table(folder, "corpus"):
        doc = Doc(_id(record, "_id", "id"), _optional(record, "title"), _text(record, "text"))
        if doc.doc_id in docs:
            problems.append(f"{record.place}: document {doc.doc_id} for the second time")
        docs[doc.doc_id] = doc
    return docs


def _queries(folder: Path, problems: list[str]) -> dict[str, Record]:
    queries: dict[str, Record] = {}
    for record in read_table(folder, "queries"):
        query_id = _id(record, "_id", "id")
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
        query_id, doc_id, label = _id(record, "query-id"), _id(record, "corpus-id"), _label(record)
        if query_id not in queries:
            problems.append(f"{record.place}: unknown query {query_id}")
        elif doc_id not in docs:
            problems.append(f"{record.place}: unknown document {doc_id}")
        elif doc_id in judged[query_id]:
            problems.append(f"{record.place}: query {query_id} and document {doc_id} for the second time")
        elif label is None:
            problems.append(f"{record.place}: score {record.values['score']!r} is no whole number")
        else:
            judged[query_id][doc_id] = label
    return judged


def _golds(judgments: Mapping[str, Mapping[str, Mapping[str, int]]], query_id: str) -> set[str]:
    relevant = [{doc for doc, label in judgments[mode][query_id].items() if label > 0} for mode in ("ori", "ins")]
    return relevant[0] & relevant[1]


def _pairs_apart(judgments: Mapping[str, Mapping[str, Mapping[str, int]]], query_id: str) -> set[str]:
    """The documents of a query that some mode judges and another does not."""
    judged = [set(labels[query_id]) for labels in judgments.values()]
    return set.union(*judged) - set.intersection(*judged)


def _row(query_id: str, record: Record, judgments: Mapping[str, Mapping[str, Mapping[str, int]]], notes: _Notes) -> Row:
    query = _text(record, "text").strip()
    return Row(
        original_id=query_id,
        query=query,
        condition=_optional(record, "condition"),
        # in the original mode the release repeats an instruction that asks for nothing; ours is the core query alone
        instructions={mode: _instruction(record, query, mode, notes) for mode in ("ins", "rev")},
        judgments={mode: judgments[mode][query_id] for mode in judgments},
        released={"ori": _without(query, _optional(record, f"instruction_{PUBLISHED['ori']}").strip())},
    )


def _instruction(record: Record, query: str, mode: str, notes: _Notes) -> str:
    """The instruction alone: its own column in later releases; in others it may begin with the core query."""
    column = f"instruction_{PUBLISHED[mode]}"
    published = _text(record, f"only_{column}", column).strip()
    instruction = _without(query, published)
    notes.repeated += instruction != published
    notes.without += not instruction
    return instruction


def _without(query: str, instruction: str) -> str:
    """An instruction without the core query that it begins with; what only begins a longer word stays."""
    rest = instruction.removeprefix(query)
    return rest.strip() if query and rest != instruction and not rest[:1].isalnum() else instruction
