"""IFIR: expert queries whose instructions have up to three levels, each of which asks for more than the one before.

MTEB's repositories (`if-ir/<set>`), which have no uninstructed mode:

    corpus        _id, title, text
    queries       _id, text; the level is the `v1`, `v2` or `v3` in the id (MTEB's own rule)
    instruction   query-id, instruction; without this table a text is query and instruction in one
    default       query-id, corpus-id, score

The authors' folder (`datasets/<set>/`):

    <set>-corpus  _id, title, text
    test_data     _id, text, corpus: [{_id}], instructions: [{level, instruction, rel: places in corpus}]

where the query alone is judged by what each of its instructions asks for, so that the base mode has it once an instruction; or,
without `test_data`, as their BEIR scripts read it:

    <set>-query   _id (`<query>_<level>`; level 0 is the query alone), text
    <set>-qrel    query-id, corpus-id, score

Sources: MTEB's tasks and loader, the authors' `src/utils/dataset.py`, `src/offline_ndcg.py`, `beir/eval_with_faiss.py`. No file
of the hub was read: whether ids and texts are as assumed is checked when a copy is taken, and its notes say what was found.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from toolkit.core.modes import join_mode
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.data_files import Record, folder_with, has_table, read_table
from toolkit.datasets.group_data import Group, Part, as_qrels, topic_in_mode

NEEDED = ("name", "repository", "revision", "subset")
BASE, UNLEVELLED = "base", "instruct"
JUDGED = ("default", "qrels/test", "qrels")
AUTHORS_CORPUS, AUTHORS_QUERY, AUTHORS_QREL = AUTHORS = ("{subset}-corpus", "{subset}-query", "{subset}-qrel")
TABLES = ("corpus", "queries", "instruction", *JUDGED, "test_data", *AUTHORS)
EXPECTED = "{subset}/test_data.json with {subset}/{subset}-corpus.jsonl"
LEVEL = re.compile(r"v([123])")


def find(root: Path, group: Group) -> Path | None:
    """The set's folder, `datasets/<set>/`, or the local copy itself."""
    queries = ("queries", "test_data", AUTHORS_QUERY.format_map(group))
    return folder_with(root, group, queries, (group["subset"], f"datasets/{group['subset']}", "."))


@dataclass
class _Query:
    """A query in one mode. core: what its levels share; query, instruction: empty where the text is both in one."""

    published: str
    core: str
    mode: str
    text: str
    query: str
    instruction: str
    judged: Mapping[str, int]


def read(folder: Path, spec: BenchmarkSpec, group: Group, *, stored: bool = False) -> Part:
    """A set. Modes: `base` where the copy has it; `level1` to `level3`, or `instruct` where a set has no levels.

    All that cannot be right (an id of two levels, a level that the set does not have, a query without text or judgment, an
    unknown document) is one ToolkitError with file and line of each problem.
    """
    name, problems, notes = group["name"], [], []
    table = "corpus" if has_table(folder, "corpus") else AUTHORS_CORPUS.format_map(group)
    known, docs = row_values.corpus(folder, table, problems, stored=stored)
    if has_table(folder, "test_data"):
        queries = list(_from_test_data(folder, group, known, problems, notes))
    elif has_table(folder, "queries"):
        queries = list(_from_mteb(folder, group, known, problems, notes))
    else:
        queries = list(_from_beir(folder, group, known, problems))
    for query in queries:
        what = [what for what, there in (("text", query.text.strip()), ("judgment", query.judged)) if not there]
        problems += (f"{folder}: query {query.published} has no {each}" for each in what)
    row_values.refuse(folder, problems)
    modes = (BASE, UNLEVELLED, "level1", "level2", "level3")
    topics: dict[str, list[Topic]] = {mode: [] for mode in modes}
    judged: dict[str, dict[str, Mapping[str, int]]] = {mode: {} for mode in modes}
    for query in queries:
        core = {"group_id": f"{name}-{query.core}", "original_id": query.published}
        topic = topic_in_mode(f"{name}-{query.published}", query.mode, query.query, query.instruction, text=query.text, **core)
        topics[query.mode].append(topic)
        judged[query.mode][topic.query_id] = query.judged
    if not stored and (empty := sum(not doc.text.strip() for doc in docs)):
        notes.append(f"{empty} documents have no text; the authors' own index leaves them out, MTEB's does not")
    qrels = {mode: as_qrels(judged[mode], join_mode(name, mode)) for mode in modes}
    return Part(name, topics, qrels, docs, notes=tuple(f"{name}: {note}" for note in notes))


read_copy = partial(read, stored=True)


def _from_mteb(folder: Path, group: Group, docs: row_values.Known, problems: list[str], notes: list[str]) -> Iterator[_Query]:
    rows = row_values.by_id(folder, "queries", ("_id", "id"), "query", problems)
    table = next((name for name in JUDGED if has_table(folder, name)), JUDGED[0])
    judged = row_values.judgments(folder, table, rows, docs, problems)
    apart = rows
    if has_table(folder, "instruction"):
        apart = row_values.by_id(folder, "instruction", ("query-id",), "the instruction of query", problems)
        problems += (f"{record.place}: unknown query {each}" for each, record in apart.items() if each not in rows)
    notes.append("no mode base: MTEB's copy has the instructed queries alone")
    if all("instruction" not in record.values for record in apart.values()):
        notes.append("query and instruction are one text: templates that take them apart get the text as it is")
    if group.get("levels"):
        notes.append("core queries are the ids without their v1, v2 or v3: an assumption, as the published ids were not seen")
    unlevelled = 0
    for query_id, record in rows.items():
        if not judged[query_id]:
            continue  # as MTEB: what nobody judged is no query of the test
        core, mode = query_id, UNLEVELLED
        if group.get("levels"):
            found = sorted(set(LEVEL.findall(query_id)))
            if len(found) > 1:
                problems.append(f"{record.place}: {query_id} names the levels {' and '.join(found)}")
            unlevelled += not found
            core, mode = LEVEL.sub("", query_id).strip("-_.") or query_id, f"level{found[0]}" if found else UNLEVELLED
        query, text = "", row_values.text(record, "text").strip()
        instruction = row_values.optional(apart[query_id], "instruction").strip() if query_id in apart else ""
        if instruction:
            query, text = text, f"{text} {instruction}"
        yield _Query(query_id, core, mode, text, query, instruction, judged[query_id])
    if unlevelled:
        notes.append(f"{unlevelled} ids name no level: they are in mode {UNLEVELLED}")


def _from_test_data(
    folder: Path, group: Group, docs: row_values.Known, problems: list[str], notes: list[str]
) -> Iterator[_Query]:
    seen: dict[str, int] = {}
    for record in read_table(folder, "test_data"):
        core, query = row_values.identifier(record, "_id", "id"), row_values.text(record, "text").strip()
        pool = [row_values.identifier(Record(record.place, row), "_id", "id") for row in _mappings(record, "corpus", problems)]
        problems += [f"{record.place}: unknown document {each}" for each in pool if docs is not None and each not in docs]
        for given in _mappings(record, "instructions", problems):
            mode = _mode(str(given.get("level")), group)
            instruction, places = given.get("instruction"), given.get("rel")
            if mode is None or not isinstance(instruction, str) or not instruction.strip():
                wrong = f"level {given.get('level')!r} with {str(instruction)[:40]!r}"
                problems.append(f"{record.place}: query {core} has no instruction of a known level: {wrong}")
                continue
            if not isinstance(places, list) or not all(type(place) is int and 0 <= place < len(pool) for place in places):
                problems.append(f"{record.place}: `rel` of query {core} is not a list of places in its `corpus`")
                continue
            published = f"{core}_{given['level']}"
            seen[published] = seen.get(published, 0) + 1
            if seen[published] > 1:
                published = f"{published}.{seen[published]}"
            judged = {doc_id: int(place in places) for place, doc_id in enumerate(pool)}
            yield _Query(published, core, BASE, query, query, "", judged)
            instruction = instruction.strip()
            yield _Query(published, core, mode, f"{query} {instruction}", query, instruction, judged)
    if again := sum(times > 1 for times in seen.values()):
        notes.append(f"{again} queries have several instructions of a level: the second is `<query>_<level>.2`")


def _mode(level: str, group: Group) -> str | None:
    """The mode of a level as `test_data` writes it: 0 is the one instruction of a set without levels."""
    if group.get("levels"):
        return f"level{level}" if level in ("1", "2", "3") else None
    return UNLEVELLED if level == "0" else None


def _mappings(record: Record, name: str, problems: list[str]) -> list[Mapping[str, Any]]:
    values = record.values.get(name)
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        problems.append(f"{record.place}: expected a list of objects in {name!r}, found {str(values)[:40]}")
        return []
    return values


def _from_beir(folder: Path, group: Group, docs: row_values.Known, problems: list[str]) -> Iterator[_Query]:
    rows = row_values.by_id(folder, AUTHORS_QUERY.format_map(group), ("_id", "id"), "query", problems)
    judged = row_values.judgments(folder, AUTHORS_QREL.format_map(group), rows, docs, problems)
    for query_id, record in rows.items():
        core, _, level = query_id.rpartition("_")
        level = level[:1]  # as the authors' script: one character after the last _
        mode = BASE if level == "0" else _mode(level, group) if group.get("levels") else UNLEVELLED
        if not core or not level.isdigit() or mode is None:
            problems.append(f"{record.place}: {query_id} is no id of a level (<query>_<level>)")
            continue
        text = row_values.text(record, "text").strip()
        yield _Query(query_id, core, mode, text, text if mode == BASE else "", "", judged[query_id])
