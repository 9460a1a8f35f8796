"""Topics as TREC topics, TSV and JSONL, recognised by their content."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import open_output
from toolkit.core.system.progress import say
from toolkit.core.system.yaml_json import Malformed, decode_json
from toolkit.core.topics import Topic
from toolkit.files.runs.problems import Problem, by_line, refuse
from toolkit.files.texts.lines import bad_lines, check_ids, read_bytes, source_name

Parsed = tuple[int, Topic | Problem]  # line number and what stands there
_FIELDS = tuple(field.name for field in fields(Topic))
_IDS, _TEXTS = ("query_id", "_id", "id", "qid"), ("text", "query", "title")  # ours, BEIR's, Pyserini's
_TOP = re.compile(r"^[ \t]*<top>(.*?)(^[ \t]*</top>|(?=^[ \t]*<top>)|\Z)", re.DOTALL | re.IGNORECASE | re.MULTILINE)
# a tag at the start of a line, or a known one anywhere: some files put <num> and <title> on one line
_TAG = re.compile(r"^[ \t]*<(\w+)>|<(num|title|desc|narr)>", re.MULTILINE | re.IGNORECASE)
_TANDEM_TAG = re.compile(r"^<(num|orig|title|desc|narr|perspective)>", re.MULTILINE)
_PERSPECTIVE = re.compile(r"^<perspective>(.*)$", re.MULTILINE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_CLOSING = re.compile(r"</\w+>")
_LABELS = {
    "num": re.compile(r"^number\s*:\s*", re.IGNORECASE),
    "title": re.compile(r"^topic\s*:\s*", re.IGNORECASE),
    "desc": re.compile(r"^description\s*:\s*", re.IGNORECASE),
    "narr": re.compile(r"^narrative\s*:\s*", re.IGNORECASE),
}
_TANDEM_LABELS = {name: label for name, label in _LABELS.items() if name != "title"}


def read_topics(path: str | Path) -> list[Topic]:
    """Topics from a file, recognised by its content; .gz, .zst, `-`.

    JSONL has the fields of Topic; `_id`, `id` or `qid` stand for `query_id`, and of `text`, `query` and `title` one is enough.
    With both `text` and `query` each is what Topic says. With one of the three it is the core query, and the text is the core
    query, one blank, the instruction, as MTEB sends it; a text that ends with its instruction already is whole. Keys that are
    none of these are named in a note.

    TSV is `id<TAB>text`. Where the first line begins with a name of ids (`query_id`, `qid`, ...) it is a header, and the
    columns are read as the keys of JSONL are. Without a header, a third column that every line has is the instruction.

    Of TREC topics (`<top>`) that Tandem did not write (they have no `<orig>`), the title is the query; description and
    narrative are not read. A mode that the file does not name is empty: ids alone do not tell it.

    Raises ToolkitError with all problems of the file: a topic without id or text, an id twice or with white space in it, a
    line that is neither, bytes that are not UTF-8, no topics at all.
    """
    data, source = read_bytes(path).removeprefix(codecs.BOM_UTF8), source_name(path)
    refuse(source, [Problem("F001", number, "not UTF-8 text") for number in sorted(bad_lines(data))])
    text = data.decode().replace("\r\n", "\n")
    del data  # a packed file may hold a gigabyte
    topics, problems, seen, unread = [], [], {}, {}
    first = re.search(r"\S", text)
    read = {"{": _read_jsonl, "<": _read_trec}.get(first[0] if first else "", _read_tsv)
    for line, parsed in read(text, unread):
        if isinstance(parsed, Problem):
            problems.append(parsed)
        elif parsed.query_id in seen:
            problems.append(Problem("T003", line, f"topic {parsed.query_id} again, first on line {seen[parsed.query_id]}"))
        else:
            seen[parsed.query_id] = line
            topics.append(parsed)
    problems += [] if seen or problems else [Problem("F002", None, "no topics in it")]
    refuse(source, by_line(problems))
    if unread:
        say(f"note: {source}: keys that topics do not have are not read: {', '.join(unread)}")
    return topics


def topics_from_rows(rows: Iterable[Topic | Mapping[str, Any]]) -> list[Topic]:
    """Topics from mappings with the keys of JSONL, or Topics as they are; ToolkitError as `read_topics`, for rows from 1."""
    unread: dict[str, None] = {}
    parsed = [
        (row if isinstance(row, Topic) else _from_row(number, row if isinstance(row, Mapping) else {}, unread)[1])
        for number, row in enumerate(rows, 1)
    ]
    problems = [one for one in parsed if isinstance(one, Problem)]
    topics = [one for one in parsed if isinstance(one, Topic)]
    first: dict[str, int] = {}
    for number, topic in enumerate(topics, 1):
        if first.setdefault(topic.query_id, number) != number:
            problems.append(Problem("T003", number, f"topic {topic.query_id} again, first in row {first[topic.query_id]}"))
    refuse("the topics given", by_line(problems))
    if unread:
        say(f"note: keys that topics do not have are not read: {', '.join(unread)}")
    return topics


def _topic(line: int, values: dict[str, Any]) -> Parsed:
    """A topic with what follows from other fields filled in, or what is wrong with it."""
    query_id = values.get("query_id", "")
    if not query_id or not values.get("text", "").strip():
        name = f"topic {query_id}" if query_id else "a topic"
        return line, Problem("T002", line, f"{name} without {'text' if query_id else 'id'}")
    if query_id.split() != [query_id]:  # a no-break space, too, becomes a blank in TREC topics
        return line, Problem("T002", line, f"white space in the topic id {query_id!r}")
    return line, Topic(**{**values, "query": values.get("query") or values["text"]})


def _read_tsv(text: str, unread: dict[str, None]) -> Iterator[Parsed]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    first = [cell.strip().lower() for cell in lines[0][1].split("\t")] if lines else [""]
    named = first[0] in _IDS
    if named and not set(first) & set(_TEXTS):
        yield lines[0][0], Problem("T001", lines[0][0], f"a header without a column {' or '.join(_TEXTS)}")
        return
    columns = first if named else ["query_id", "text"]
    if not named and all(line.count("\t") == 2 for _, line in lines):
        columns.append("instruction")
    for number, line in lines[1:] if named else lines:
        cells = line.split("\t") if named else line.split("\t", len(columns) - 1)
        if len(cells) == 1:
            yield number, Problem("T001", number, "no tab between topic id and text")
        elif len(cells) > len(columns):
            yield number, Problem("T001", number, f"{len(cells)} columns, the header has {len(columns)}")
        else:
            row = zip(columns, cells, strict=False)
            yield _from_row(number, {name: cell if name in _IDS else cell.strip() for name, cell in row}, unread)


def _read_jsonl(text: str, unread: dict[str, None]) -> Iterator[Parsed]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = decode_json(line)
        except Malformed as error:
            yield number, Problem("T001", number, f"not JSON: {error}")
        else:
            yield _from_row(number, row if isinstance(row, dict) else {}, unread)


def _from_row(line: int, row: Mapping[str, Any], unread: dict[str, None]) -> Parsed:
    """The topic of a row by its keys; those that stand for nothing are added to `unread`."""
    rest = {key: value for key, value in row.items() if value not in (None, "", [], {})}
    aliases = dict.fromkeys(_IDS, "query_id") | ({} if rest.keys() & {"text", "query"} else {"title": "text"})
    values: dict[str, Any] = {}
    for key in (*_FIELDS, *aliases):
        if key in rest and (name := aliases.get(key, key)) not in values:
            values[name] = rest.pop(key)
    unread |= dict.fromkeys(rest)
    if type(values.get("query_id")) is int:
        values["query_id"] = str(values["query_id"])
    if wrong := [name for name, value in values.items() if not _NESTED.get(name, lambda text: isinstance(text, str))(value)]:
        return line, Problem("T001", line, f"{', '.join(wrong)} is {_CALLED.get(wrong[0], 'no string')}")
    if _SURROGATE.search(json.dumps(values, ensure_ascii=False)):
        return line, Problem("T001", line, "half a surrogate pair, which is no text")
    if "perspectives" in values:
        values["perspectives"] = tuple(values["perspectives"])
    return _topic(line, values | _texts(**{name: values.get(name, "") for name in ("text", "query", "instruction")}))


def _texts(text: str, query: str, instruction: str) -> dict[str, str]:
    """`text` and `query` as a topic has them, from one of the two or from both."""
    if text and query:
        return {"text": text, "query": query}
    core = text or query
    if instruction and text.endswith(f" {instruction}"):
        return {"text": text, "query": text.removesuffix(instruction).rstrip()}
    return {"text": f"{core} {instruction}" if core and instruction else core, "query": core}


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and each.strip() for each in value)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


_NESTED = {"perspectives": _is_list, "wordings": _is_mapping}
_CALLED = {"perspectives": "no list of texts", "wordings": "no mapping of texts"}


def _read_trec(text: str, unread: dict[str, None]) -> Iterator[Parsed]:
    for top in _TOP.finditer(text):
        line = text.count("\n", 0, top.start()) + 1
        if not top.group(2):
            yield line, Problem("T001", line, "<top> without </top>")
        elif "\n<orig>" in top.group(1):  # Tandem's own: one value a line, which may hold anything
            sections = _sections(top.group(1), _TANDEM_TAG, _TANDEM_LABELS)
            names = {"num": "query_id", "orig": "original_id", "title": "text", "desc": "query", "narr": "instruction"}
            values: dict[str, Any] = {name: sections[tag] for tag, name in names.items() if tag in sections}
            values["perspectives"] = tuple(text.strip() for text in _PERSPECTIVE.findall(top.group(1)))
            yield _topic(line, values)
        else:
            sections = _sections(_CLOSING.sub(" ", top.group(1)), _TAG, _LABELS)
            yield _topic(line, {"query_id": sections.get("num", ""), "text": sections.get("title", "")})


def read_narratives(path: str | Path) -> dict[str, str]:
    """Topic id -> narrative, of the TREC topics in a file that Tandem did not write; empty for any other file.

    `read_topics` passes over these narratives, as a search does; what is built from topics needs them.
    """
    tops = (_CLOSING.sub(" ", top[1]) for top in _TOP.finditer(read_bytes(path).decode(errors="replace").replace("\r\n", "\n")))
    sections = [_sections(top, _TAG, _LABELS) for top in tops if "\n<orig>" not in top]
    return {each["num"]: each["narr"] for each in sections if each.get("num") and each.get("narr")}


def _sections(body: str, tag: re.Pattern, labels: dict[str, re.Pattern]) -> dict[str, str]:
    """Tag -> text up to the next tag, white space made one blank, without its label (`Number:`); of equal tags the first."""
    tags = list(tag.finditer(body))
    ends = [*(match.start() for match in tags[1:]), len(body)][: len(tags)]
    sections = {}
    for match, end in zip(tags, ends, strict=True):
        name = next(filter(None, match.groups())).lower()
        text = " ".join(body[match.end() : end].split())
        sections.setdefault(name, labels[name].sub("", text) if name in labels else text)
    return sections


def write_topics(topics: Iterable[Topic], path: str | Path, format: str = "trec") -> None:
    """Write topics as `trec`, `tsv` (what Anserini and Pyserini read whole ids from) or `jsonl` (texts exactly).

    TREC topics keep id, published id, text, core query, instruction and perspectives (a line each); TSV keeps id and text;
    in both, white space becomes one blank. Raises ToolkitError for an id that is empty or holds white space (any of Unicode's).
    """
    topics = list(topics)
    check_ids("query_id", [topic.query_id for topic in topics])
    for topic in topics:
        if topic.query_id.split() != [topic.query_id]:  # check_ids stops at ASCII's white space, as readers of runs do
            raise ToolkitError(f"query_id {topic.query_id!r} cannot stand in topics", "ids hold no white space")
    with open_output(path) as out:
        for topic in topics:
            out.write(_WRITERS[format](topic).encode())


def _trec(topic: Topic) -> str:
    lines = (
        "<top>",
        f"<num> Number: {topic.query_id}",
        f"<orig> {topic.original_id}",
        f"<title> {topic.text}",
        f"<desc> Description: {topic.query}",
        f"<narr> Narrative: {topic.instruction}",
        *(f"<perspective> {text}" for text in topic.perspectives),
        "</top>",
    )
    return "\n".join(" ".join(line.split()) for line in lines) + "\n\n"


def _tsv(topic: Topic) -> str:
    return f"{topic.query_id}\t{' '.join(topic.text.split())}\n"


def _jsonl(topic: Topic) -> str:
    return json.dumps({name: value for name, value in asdict(topic).items() if value}, ensure_ascii=False) + "\n"


_WRITERS = {"trec": _trec, "tsv": _tsv, "jsonl": _jsonl}
