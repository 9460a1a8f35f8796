"""The topics of a folder: a row a query with its instructions (`topics.jsonl`), or a file a mode in any form of topics."""

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, Modes
from toolkit.core.system.yaml_json import Malformed, decode_json
from toolkit.core.topics import Topic
from toolkit.datasets.group_data import topic_in_mode
from toolkit.datasets.own.remarks import Remarks
from toolkit.files.formats import read_topics
from toolkit.files.texts.lines import read_bytes, text_lines
from toolkit.registry.loader import NAME, did_you_mean

ONE_GROUP = "all"  # what the only group is called
KEYS = ("id", "query", "instruction", "instructions", "group", "core", "condition", "perspectives", "wordings", "title")
IDS = ("id", "_id", "query_id", "qid")


class Place(NamedTuple):
    """Where a query stands."""

    path: Path
    line: int


@dataclass(frozen=True)
class OwnTopics:
    """What the files say.

    topics  group -> mode -> its queries; the groups in the order in which they come
    places  base id -> where it stands
    groups  base id -> its group
    lost    how many rows (or whole files) could not be read as a query: so many ids that others name may be theirs
    """

    topics: Mapping[str, Mapping[str, list[Topic]]] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    lost: float = 0


@dataclass
class _Query:
    """A query, as its row or its files have it."""

    place: Place
    base_id: str
    query: str
    group: str = ""
    core: str = ""
    texts: dict[str, str] = field(default_factory=dict)  # mode -> what a system is given
    instructions: dict[str, str] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)  # further fields of Topic
    undeclared: Sequence[str] = ()  # modes of instructions where the benchmark has none


def from_rows(path: Path, modes: Modes, remarks: Remarks, ignored: Sequence[str] = ()) -> OwnTopics:
    """The queries of `topics.jsonl`, each posed in every mode. ignored: modes whose instructions are passed over."""
    queries: dict[str, _Query] = {}
    said, rows = len(remarks), 0
    for line, row in _rows(path, remarks):
        rows += 1
        if (query := _query(Place(path, line), row, modes, remarks, ignored)) is None:
            continue
        if (first := queries.get(query.base_id)) is not None:
            remarks.problem(path, line, f"query {query.base_id} again, first on line {first.place.line}", "ids are unique")
        else:
            queries[query.base_id] = query
    if not queries and len(remarks) == said:
        remarks.problem(path, 0, "no topics in it", 'a line is {"id": "q1", "query": "..."}')
    if not modes and not ignored and (undeclared := [query for query in queries.values() if query.undeclared]):
        named = ", ".join(dict.fromkeys(mode for query in undeclared for mode in query.undeclared))
        what = f"{len(undeclared):,} queries from here on have instructions ({named}), benchmark.yaml has no modes"
        remarks.problem(*undeclared[0].place, what, "declare them: modes: {base: base, pos: instructed}")
    broken = {remark.line for remark in remarks[said:]} - {query.place.line for query in queries.values()}
    return replace(_assembled(list(queries.values()), modes, remarks), lost=len(broken) if rows else math.inf)


def from_files(files: Sequence[tuple[Path, str, str]], modes: Modes, remarks: Remarks) -> OwnTopics:
    """The queries of a file a mode (and group): (path, group, mode). Ids carry their mode or, in every file, none."""
    queries: dict[str, _Query] = {}
    posed: dict[str, set[str]] = {}
    unread: set[str] = set()
    for path, group, mode in files:
        try:
            topics = read_topics(path)
        except ToolkitError as error:
            remarks.of_error(path, error)
            unread.add(mode)
            continue
        ending = f"-{mode}" if mode and all(topic.query_id.endswith(f"-{mode}") for topic in topics) else ""
        for topic in topics:
            base = topic.query_id.removesuffix(ending)
            found = {"condition": topic.condition, "perspectives": topic.perspectives, "wordings": topic.wordings}
            word = re.search(rf"(?<![\w.-]){re.escape(topic.query_id)}(?![\w.-])", _text_of(path))
            place = Place(path, _text_of(path).count("\n", 0, word.start()) + 1 if word else 0)
            query = queries.setdefault(base, _Query(place, base, topic.query, group, topic.group_id, more=found))
            if query.group != group:
                remarks.problem(*place, f"query {base} is in {query.place.path.name} too", "a query is in one group")
            query.texts[mode], query.instructions[mode] = topic.text, topic.instruction
            posed.setdefault(base, set()).add(mode)
    there = {mode for _, _, mode in files}
    for mode in [mode for mode in modes if mode not in there]:
        folder, ending = files[0][0].parent, files[0][0].name.rpartition(f".{files[0][2]}.")[2]
        remarks.problem(folder, 0, f"there are no topics of mode {mode}", f"write topics.{mode}.{ending}")
    for base, known in posed.items():
        for mode in [mode for mode in modes if mode in there and mode not in known and mode not in unread]:
            remarks.problem(*queries[base].place, f"query {base} is not in mode {mode}", "pose it in every mode")
    return replace(_assembled(list(queries.values()), modes, remarks), lost=math.inf if unread else 0)


@functools.lru_cache(maxsize=1)
def _text_of(path: Path) -> str:
    return read_bytes(path).decode(errors="replace")


def _rows(path: Path, remarks: Remarks) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        lines = list(text_lines(read_bytes(path), str(path)))
    except ToolkitError as error:
        remarks.of_error(path, error)
        return
    for number, line in lines:
        try:
            row = decode_json(line)
        except Malformed as error:
            remarks.problem(path, number, f"not JSON: {error}", "every line is one JSON object")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            remarks.problem(path, number, f"expected an object, found {line.strip()[:40]}", "every line is one JSON object")


def _query(place: Place, row: Mapping[str, Any], modes: Modes, remarks: Remarks, ignored: Sequence[str]) -> _Query | None:
    """The query of a row; None where it has no id. What is wrong with it goes to `remarks`."""

    def wrong(what: str, todo: str) -> None:
        remarks.problem(*place, what, todo)

    base = next((row[name] for name in IDS if row.get(name) not in (None, "")), "")
    base = str(base) if type(base) is int else base
    if not isinstance(base, str) or base.split() != [base]:
        wrong(f"the id {base!r} is no id" if base else "no id", 'ids are texts without white space: "id": "q1"')
        return None
    if (mode := modes.split(base)[1]) and base not in modes:
        base = base.removesuffix(f"-{mode}")
        wrong(f"the id {base}-{mode} carries the mode {mode}", f"write {base}: the mode is added")
    text = row.get("query", row.get("text", row.get("title")))
    if not isinstance(text, str) or not text.strip():
        wrong(f"query {base} has no text", '"query": "..." is the core query')
        text = ""
    mistyped = {key: near for key in row if key not in (*KEYS, *IDS, "text") and (near := did_you_mean(key, KEYS))}
    for key, near in mistyped.items():
        wrong(f"query {base}: unknown key {key!r}", near.strip())
    query = _Query(place, base, text.strip(), more={})
    if not modes and isinstance(row.get("instructions"), dict):
        query.undeclared = list(row["instructions"])
    elif not any("instruction" in near for near in mistyped.values()):
        query.instructions = _instructions(base, row, modes, wrong, ignored)
    for key in ("group", "core", "condition"):
        value = row.get(key)
        value = str(value) if type(value) is int else value
        if value is not None and (not isinstance(value, str) or (key != "condition" and not NAME.fullmatch(value))):
            wrong(f"query {base}: {key} {str(value)[:40]!r} is no name", "letters, digits and . _ + -")
        elif value and key == "condition":
            query.more[key] = value
        elif value:
            setattr(query, key, value)
    perspectives, wordings = row.get("perspectives") or [], row.get("wordings") or {}
    if isinstance(perspectives, list) and all(isinstance(one, str) and one.strip() for one in perspectives):
        query.more["perspectives"] = tuple(perspectives)
    else:
        wrong(f"query {base}: perspectives are no list of texts", 'write "perspectives": ["...", "..."]')
    if isinstance(wordings, dict) and all(isinstance(one, str) for one in wordings.values()):
        query.more["wordings"] = wordings
    else:
        wrong(f"query {base}: wordings are no names with texts", 'write "wordings": {"short": "..."}')
    return query


def _instructions(
    base: str, row: Mapping[str, Any], modes: Modes, wrong: Callable[[str, str], None], ignored: Sequence[str]
) -> dict[str, str]:
    """Mode -> instruction; without modes a single one, under `""`."""
    single, given = row.get("instruction"), row.get("instructions")
    if not modes:
        if single is not None and not isinstance(single, str):
            wrong(f"query {base}: the instruction is no text", 'write "instruction": "..."')
        return {"": single} if isinstance(single, str) else {}
    if single is not None:
        wrong(f"query {base} has one `instruction` for several modes", 'write "instructions": {"MODE": "..."}')
        return {}
    given = {} if given is None else given
    if not isinstance(given, dict):
        wrong(f"query {base}: instructions are no modes with texts", 'write "instructions": {"MODE": "..."}')
        return {}
    for mode, text in given.items():
        if mode in ignored and mode not in modes:
            continue
        if mode not in modes:
            wrong(f"query {base} has an instruction for mode {mode!r}", f"{did_you_mean(mode, modes)}modes: {', '.join(modes)}")
        elif not isinstance(text, str):
            wrong(f"query {base}: the instruction of mode {mode} is no text", 'write a text, or "" for none')
    meant = [mode for mode in given if mode not in modes]  # said above: one of them may be what seems to be missing
    for mode, role in modes.items():
        if role != BASE and mode not in given and not meant:
            wrong(f"query {base} has no instruction for mode {mode}", f'add "{mode}": "..." (or "" where there is none)')
    return {mode: text for mode, text in given.items() if mode in modes and isinstance(text, str)}


def _assembled(queries: Sequence[_Query], modes: Modes, remarks: Remarks) -> OwnTopics:
    """Topics of every group in every mode. Those of one core query (without `core`, of equal text) share its id."""
    for query in (query for query in queries if query.base_id.startswith("#")):
        remarks.problem(*query.place, f"the id {query.base_id} begins with #", "no run is written with it: write another sign")
    named = [query for query in queries if query.group]
    for query in (query for query in queries if named and not query.group):
        remarks.problem(*query.place, f"query {query.base_id} has no group, others have", f'add "group": "{named[0].group}"')
    topics: dict[str, dict[str, list[Topic]]] = {}
    cores: dict[tuple[str, str], str] = {}
    for query in queries:
        group = query.group or ONE_GROUP
        core = query.core or cores.setdefault((group, query.query), query.base_id)
        by_mode = topics.setdefault(group, {mode: [] for mode in modes or ("",)})
        for mode in modes or ("",):
            instruction = query.instructions.get(mode, "").strip()
            given = {"text": query.texts[mode]} if query.texts.get(mode) else {}
            more = {"group_id": core, "original_id": query.base_id, **given, **query.more}
            by_mode[mode].append(topic_in_mode(query.base_id, mode, query.query, instruction, **more))
    places = {query.base_id: query.place for query in queries}
    return OwnTopics(topics, places, {query.base_id: query.group or ONE_GROUP for query in queries})
