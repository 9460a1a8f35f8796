"""FollowTable as it is released: tables to be found for a query, with instructions that keep some of its relevant tables.

    data/<D>/tables/<id>.txt              a table each, in Markdown or HTML
    data/<D>/query_instruction.json       query, query_positive; outs: instruction, instruction_type, instruction_positive
    data/FollowTable/<D>/                 the same queries in InstructIR's form: queries (`<instruction> [SEP] <query>`),
                                          only_queries, qrels/test and qrels/for_only_query_test; corpus, where it is there

`og` is the query alone and `changed` the query with an instruction; what the instruction drops of the query's tables is judged
0 there. Core queries are told apart by their published numbers: in WQT two have the text of another. A table is its file's
text; the column `title` of `corpus` repeats a line of it, and is left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import join_mode
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.templates import SEPARATOR
from toolkit.core.topics import Topic
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.data_files import Record, folder_with, has_table, read_table
from toolkit.datasets.group_data import Group, Part, as_qrels, part_name, topic_in_mode

NEEDED = ("name", "folder")
TABLES = ("corpus", "queries", "qrels", "base_qrels")  # what `unpack` gives
EXPECTED = "data/{folder}/query_instruction.json or data/FollowTable/{folder}/queries.jsonl"
FOLDERS = ("data", ".", "FollowTable/data")
MODES = ("og", "changed")


def find(root: Path, group: Group) -> Path | None:
    """The folder that has the set's own, in either form."""
    return folder_with(root, group, (f"FollowTable/{group['folder']}/queries", f"{group['folder']}/query_instruction"), FOLDERS)


def unpack(source: Path, group: Group) -> dict[str, Iterable[dict[str, Any]]]:
    """The tables of a copy: the queries from InstructIR's form, where it is there, the texts from either."""
    read_queries = _instructir if has_table(source, f"FollowTable/{group['folder']}/queries") else _own
    return dict(zip(TABLES, (_texts(source, group), *read_queries(source, group)), strict=True))


def _texts(source: Path, group: Group) -> Iterator[dict[str, str]]:
    """The corpus in InstructIR's form, else a file a table, by name. ToolkitError where neither is there."""
    name = group["folder"]
    if has_table(source, table := f"FollowTable/{name}/corpus"):
        for record in read_table(source, table):
            yield {"_id": row_values.identifier(record, "_id"), "text": row_values.text(record, "text")}
        return
    paths = sorted((source / name / "tables").glob("*.txt"))
    if not paths:
        raise ToolkitError(f"{source} has neither {table}.jsonl nor {name}/tables/", "take the whole `data` of the repository")
    for path in paths:
        try:
            yield {"_id": path.stem, "text": path.read_text(encoding="utf-8")}
        except UnicodeDecodeError as error:
            raise ToolkitError(f"{path}: no UTF-8", "get the file again") from error


Rows = list[dict[str, Any]]


def _instructir(source: Path, group: Group) -> tuple[Rows, Rows, Rows]:
    """Queries and both tables of judgments, line by line."""
    folder = f"FollowTable/{group['folder']}"
    problems: list[str] = []
    cores = row_values.by_id(source, f"{folder}/only_queries", ("_id",), "query", problems)
    queries = []
    for query_id, record in row_values.by_id(source, f"{folder}/queries", ("_id",), "query", problems).items():
        core = query_id.rpartition("_")[0]
        instruction, separator, query = row_values.text(record, "text").rpartition(SEPARATOR)
        if core not in cores or not separator or query != row_values.text(cores[core], "text"):
            problems.append(f"{record.place}: {query_id} is no instruction and one of the queries, `{SEPARATOR}` between them")
        about = record.values.get("metadata")
        kind = about.get("instruction_type", "") if isinstance(about, dict) else ""
        queries.append({"_id": query_id, "core": core, "query": query, "instruction": instruction, "type": str(kind)})
    row_values.refuse(source / folder, problems)
    judged = (list(read_table(source, f"{folder}/qrels/{name}")) for name in ("test", "for_only_query_test"))
    qrels, base = ([dict(record.values) for record in records] for records in judged)
    return queries, qrels, base


def _own(source: Path, group: Group) -> tuple[Rows, Rows, Rows]:
    """The same from the authors' file, in which queries and instructions have their places, from 0, as ids."""
    queries: Rows = []
    qrels: Rows = []
    base: Rows = []
    for number, record in enumerate(read_table(source, f"{group['folder']}/query_instruction")):
        outs = record.values.get("outs")
        if not isinstance(outs, list) or not all(isinstance(out, dict) for out in outs):
            raise ToolkitError(f"{record.place}: expected a list of objects in 'outs'", "get the file again")
        query = row_values.text(record, "query")
        base += _positives(str(number), record, "query_positive") if outs else []
        for place, out in enumerate(outs):
            own = Record(f"{record.place}, instruction {place}", out)
            query_id, instruction = f"{number}_{place}", row_values.text(own, "instruction")
            kind = row_values.optional(own, "instruction_type")
            queries.append({"_id": query_id, "core": str(number), "query": query, "instruction": instruction, "type": kind})
            qrels += _positives(query_id, own, "instruction_positive")
    return queries, qrels, base


def _positives(query_id: str, record: Record, column: str) -> Rows:
    names = record.values.get(column)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ToolkitError(f"{record.place}: expected a list of names in {column!r}", "get the file again")
    return [{"query-id": query_id, "corpus-id": name.removesuffix(".txt"), "score": 1} for name in names]


def read(folder: Path, spec: BenchmarkSpec, group: Group, *, stored: bool = False) -> Part:
    """A set from its copy's tables. A judgment that stands twice counts once, which a note says.

    All that cannot be right (an unknown table, an instruction without a table that it keeps, one that keeps what is not
    relevant to its query) is one ToolkitError with file and line of each problem.
    """
    problems: list[str] = []
    known, docs = row_values.corpus(folder, "corpus", problems, stored=stored)
    queries = row_values.by_id(folder, "queries", ("_id",), "query", problems)
    cores = dict.fromkeys(row_values.text(record, "core") for record in queries.values())
    kept, lines = _judged(folder, "qrels", queries, known, problems)
    relevant, base_lines = _judged(folder, "base_qrels", cores, known, problems)
    prefix = part_name(group["name"])
    topics: dict[str, list[Topic]] = {mode: [] for mode in MODES}
    labels: dict[str, dict[str, dict[str, int]]] = {mode: {} for mode in MODES}
    for query_id, record in queries.items():
        core, query, instruction = (row_values.text(record, name) for name in ("core", "query", "instruction"))
        if not kept[query_id] or not kept[query_id].keys() <= relevant[core].keys():
            problems.append(f"{record.place}: {query_id} keeps no table, or one that its query does not have")
        base = f"{prefix}-{query_id}"
        shared = {"group_id": f"{prefix}-{core}", "condition": row_values.optional(record, "type")}
        alone = topic_in_mode(base, "og", query, original_id=core, **shared)
        text = f"{query} {instruction}"
        changed = topic_in_mode(base, "changed", query, instruction, text=text, original_id=query_id, **shared)
        topics["og"].append(alone)
        topics["changed"].append(changed)
        labels["og"][alone.query_id] = relevant[core]
        labels["changed"][changed.query_id] = {doc_id: int(doc_id in kept[query_id]) for doc_id in relevant[core]}
    row_values.refuse(folder, problems)
    counted = {"lines": lines, "distinct": sum(map(len, kept.values())), "base": base_lines}
    twice = lines - counted["distinct"]
    notes = [f"{group['name']}: {twice} of {lines} judgments stand twice in the release"] if twice else []
    qrels = {mode: as_qrels(labels[mode], join_mode(prefix, mode)) for mode in MODES}
    return Part(group["name"], topics, qrels, docs, notes=tuple(notes), published=counted)


read_copy = partial(read, stored=True)


def _judged(
    folder: Path, table: str, queries: Mapping[str, Any], known: Any, problems: list[str]
) -> tuple[dict[str, dict[str, int]], int]:
    """Query -> its positives, and how many lines the table has."""
    judged: dict[str, dict[str, int]] = {query_id: {} for query_id in queries}
    lines = 0
    for lines, record in enumerate(read_table(folder, table), 1):  # noqa: B007
        query_id, doc_id = row_values.identifier(record, "query-id"), row_values.identifier(record, "corpus-id")
        if query_id not in judged or row_values.label(record) != 1 or (known is not None and doc_id not in known):
            problems.append(f"{record.place}: an unknown query or table, or a score other than 1")
        else:
            judged[query_id][doc_id] = 1
    return judged, lines


def checks(part: Part, group: Group) -> Iterator[tuple[str, str]]:
    """Lines of judgments as released, those that differ, those of queries alone; and that every instruction drops a table."""
    found = part.published
    off = [f"{n} {what} expected, {found[what]} found" for what, n in group["judgments"].items() if n != found[what]]
    yield "judgments", "; ".join(off)
    dropped = {row.query_id for row in part.qrels["changed"] if not row.relevance}
    idle = [topic.query_id for topic in part.topics["changed"] if topic.query_id not in dropped]
    yield "tables dropped", f"{len(idle)} instructions drop none ({', '.join(idle[:3])})" if idle else ""
