"""Perspectives: where they come from (the benchmark, a file), and the topics with one query for each."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, three
from toolkit.core.system.yaml_json import parse_json
from toolkit.core.topics import Topic
from toolkit.datasets import Benchmark, TopicSet
from toolkit.files.provenance import file_digest
from toolkit.files.texts.lines import read_bytes, source_name, text_lines

GIVEN, RELEASED = "given", "released"
FORM = 'a line is {"query_id": "...", "perspectives": ["...", ...]}; or `id` and, as BERDS has them, `expansions` with `text`'
FORMS = ("perspective", "question+perspective")
Perspectives = Mapping[str, Sequence[str]]  # query id -> texts


def is_given(name: Any) -> bool:
    """Whether a source needs no model."""
    return isinstance(name, str | Path) and (name in (GIVEN, RELEASED) or Path(name).is_file())


def read_given(name: str, topics: TopicSet) -> tuple[Perspectives, dict[str, Any]]:
    """The perspectives of a source that needs no model, and what the record says of it.

    name  `given`: the benchmark's own, by which documents are judged; `released`: those that its paper expanded queries with;
          or a file, see `read_perspectives`

    Raises ToolkitError.
    """
    if name == GIVEN:
        return {topic.query_id: topic.perspectives for topic in topics.topics}, {"from": "the benchmark's own perspectives"}
    if name == RELEASED:
        return _released(topics), {"from": "the perspectives that the benchmark's release expanded queries with"}
    return read_perspectives(name, topics.topics), {"from": Path(name).name, "sha256": file_digest(Path(name))}


def _released(topics: TopicSet) -> dict[str, tuple[str, ...]]:
    parts = [topics.benchmark.part(part.group) for part in topics.parts] if isinstance(topics.benchmark, Benchmark) else []
    written = {query_id: pairs for part in parts for query_id, pairs in part.published.get("expansions", {}).items()}
    if not written:
        hint = (
            "BERDS' release has them for its development questions: `tandem benchmarks fetch berds --from DIR` takes its files"
        )
        raise ToolkitError(f"{topics.name} comes without perspectives for query expansion", hint)
    return {query_id: tuple(" ".join(text.split()) for _, text in pairs) for query_id, pairs in written.items()}


def read_perspectives(path: str | Path, topics: Sequence[Topic]) -> dict[str, tuple[str, ...]]:
    """query id -> perspectives, of those topics that a JSONL file has, by their id or their published id.

    Of a row with `expansions`, what was written for query expansion, these count; `perspectives` otherwise. Raises
    ToolkitError for a row that is something else, an id that comes twice, and one that several topics have.
    """
    known: dict[str, list[str]] = {}
    for topic in topics:
        for name in dict.fromkeys((topic.query_id, topic.original_id)):
            known.setdefault(name, []).append(topic.query_id)
    found: dict[str, tuple[str, ...]] = {}
    for place, name, texts in _rows(path):
        meant = known.get(name, [])
        if len(meant) > 1:
            raise ToolkitError(f"{place}: {name} is the id of {len(meant)} questions ({three(meant)})", "write whole ids")
        if meant and meant[0] in found:
            raise ToolkitError(f"{place}: {name} comes twice", "keep one of the rows")
        found |= dict.fromkeys(meant, texts)
    return found


def _rows(path: str | Path) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Place, id and perspectives of each row."""
    for number, line in text_lines(read_bytes(path), source_name(path)):
        place = f"{source_name(path)}, line {number}"
        row = parse_json(line, place, hint=FORM)
        values = row if isinstance(row, dict) else {}
        name = values.get("query_id", values.get("id"))
        texts = tuple(map(_text, _list(values)))
        if not isinstance(name, str | int) or not texts or not all(texts):
            raise ToolkitError(f"{place}: no id, or no perspectives", FORM)
        yield place, str(name), texts


def _list(row: Mapping[str, Any]) -> list[Any]:
    found = row.get("expansions", row.get("perspectives"))
    return found if isinstance(found, list) else []


def _text(value: Any) -> str:
    """White space made one blank; empty for what is no text."""
    text = value.get("text") if isinstance(value, Mapping) else value
    return " ".join(text.split()) if isinstance(text, str) else ""


def expand_topics(topics: Sequence[Topic], perspectives: Perspectives, query: str = "perspective") -> list[Topic]:
    """A topic for each perspective of each question, with the id `<question>.<n>`, n from 1 in their order.

    query  `perspective`, its text alone (the paper), or `question+perspective`: question, one blank, perspective (the release)

    Raises ToolkitError where a question has no perspectives.
    """
    if query not in FORMS:
        raise ToolkitError(f"query is {query!r}", f"known: {', '.join(FORMS)}")
    if without := [topic.query_id for topic in topics if not perspectives.get(topic.query_id)]:
        message = f"{len(without)} of {len(topics)} questions have no perspectives ({three(without)})"
        raise ToolkitError(message, "take them from elsewhere with --from: a file, or a system that writes them")
    expanded = []
    for topic in topics:
        for number, text in enumerate(perspectives[topic.query_id], start=1):
            sent = text if query == "perspective" else f"{topic.query or topic.text} {text}"
            ids = {"group_id": topic.query_id, "original_id": topic.original_id}  # the question's: its corpus has one of them
            expanded.append(Topic(f"{topic.query_id}.{number}", sent, query=sent, **ids))
    return expanded


def sizes(perspectives: Perspectives) -> dict[str, Any]:
    """How many and how long they are: `questions`, `perspectives` (mean over questions), `words` (mean over perspectives)."""
    texts = [text for each in perspectives.values() for text in each]
    words = sum(len(text.split()) for text in texts)
    return {
        "questions": len(perspectives),
        "perspectives": len(texts) / len(perspectives) if perspectives else 0.0,
        "words": words / len(texts) if texts else 0.0,
    }
