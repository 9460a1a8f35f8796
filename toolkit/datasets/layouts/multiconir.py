"""MultiConIR: documents that meet ever fewer of a query's ten conditions, and queries with one to ten of them.

A CSV file a domain and task (`datasets/`), a row a query:

    Positive       the document that meets every condition
    HN1 .. HN10    documents that meet one condition less each
    Query10, Natural_Query10   tasks 2, 3 and 4: all ten conditions as a list, and in plain prose
    Query1 .. Query10          task 1: the first n conditions; HNn misses one of them

The modes of the entry say which columns are read. Sources: the authors' README and evaluation scripts; no data file was
read. That HN1 stands above HN2 follows from the paper's measures; that HNn meets 10 - n conditions is an assumption, of which
the measures of the entry need no more than the order.
"""

import hashlib
from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.core.modes import join_mode
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.data_files import read_table
from toolkit.datasets.group_data import Group, Part, as_candidates, as_qrels, topic_in_mode

NEEDED = ("name", "table")
CONDITIONS = 10
NEGATIVES = [f"HN{number}" for number in range(1, CONDITIONS + 1)]
# mode -> the column of its query; the documents that it is judged on, best first
COLUMNS = {"listed": "Query10", "natural": "Natural_Query10"} | {f"c{n}": f"Query{n}" for n in range(1, CONDITIONS + 1)}
JUDGED = {f"c{n}": ("Positive", f"HN{n}") for n in range(1, CONDITIONS + 1)}
TABLES = ("{table}",)
FOLDERS = (".", "MultiConIR")
EXPECTED = "{table}.csv"


def read(folder: Path, spec: BenchmarkSpec, group: Group) -> Part:
    """A domain of one task; queries are numbered from 1 in the order of the file.

    The label is the number of conditions that a document meets, 10 to 0; of two documents (task 1) 1 and 0. Candidates are the
    judged documents, in an order that says nothing of their labels. ToolkitError for an empty cell, with its row.
    """
    name, problems = group["name"], []
    docs: list[Doc] = []
    topics: dict[str, list[Topic]] = {mode: [] for mode in spec.modes}
    judged: dict[str, dict[str, dict[str, int]]] = {mode: {} for mode in spec.modes}
    for number, record in enumerate(read_table(folder, group["table"]), 1):
        core = f"{name}-{number}"
        for column in ("Positive", *NEGATIVES):
            docs.append(Doc(_doc_id(core, column), "", text := row_values.text(record, column).strip()))
            problems += [] if text else [f"{record.place}: nothing in {column!r}"]
        for mode in spec.modes:
            if not (text := row_values.text(record, COLUMNS[mode]).strip()):
                problems.append(f"{record.place}: nothing in {COLUMNS[mode]!r}")
            columns = JUDGED.get(mode, ("Positive", *NEGATIVES))
            topic = topic_in_mode(core, mode, text, original_id=str(number))
            topics[mode].append(topic)
            judged[mode][topic.query_id] = {_doc_id(core, each): len(columns) - place for place, each in enumerate(columns, 1)}
    row_values.refuse(folder, problems)
    qrels = {mode: as_qrels(judged[mode], join_mode(name, mode)) for mode in spec.modes}
    pools = {mode: {query_id: _shuffled(pool) for query_id, pool in judged[mode].items()} for mode in spec.modes}
    return Part(name, topics, qrels, docs, {mode: as_candidates(pool, "pool") for mode, pool in pools.items()})


def _doc_id(core: str, column: str) -> str:
    return f"{core}-{column.lower()}"


def _shuffled(doc_ids: dict[str, int]) -> list[str]:
    return sorted(doc_ids, key=lambda doc_id: hashlib.sha256(doc_id.encode()).hexdigest())
