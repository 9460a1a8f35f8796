"""rank_llm requests: a query with its candidates, as InfoSearch's authors publish the lists their rerankers were given."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.system.files import open_output
from toolkit.core.system.yaml_json import Malformed, decode_json
from toolkit.core.topics import Topic
from toolkit.files.texts.lines import bad_lines, read_bytes, source_name

HINT = 'a request is: {"query": {"text": ..., "qid": ...}, "candidates": [{"docid": ..., "score": ..., "doc": {...}}]}'


def read_requests(path: str | Path) -> tuple[Run, list[Topic]]:
    """The candidates of a JSON list of requests, or of one a line, as a run, and the queries as topics, under the file's ids.

    Raises ToolkitError where it is not that, for a query id or a query's document that comes twice, and for a score that is no
    finite number. The texts of the documents are left out.
    """
    return parse_requests(read_bytes(path), source_name(path))


def parse_requests(data: bytes, source: str) -> tuple[Run, list[Topic]]:
    """The same from the bytes of a file; `source` is its name in messages."""
    rows, topics, seen = [], [], set()
    for number, request in enumerate(_load(data, source), 1):
        place = f"{source}, request {number}"
        try:
            query_id, text = _text(request["query"]["qid"]), _text(request["query"]["text"])
            candidates = [ScoredDoc(query_id, _text(row["docid"]), _score(row["score"])) for row in request["candidates"]]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ToolkitError(f"{place}: {what}", HINT) from error
        if query_id in seen:
            raise ToolkitError(f"{place}: query {query_id} again", "ids are unique: keep one file per mode")
        if len({doc.doc_id for doc in candidates}) < len(candidates):
            raise ToolkitError(f"{place}: query {query_id} has the same document twice", "keep one candidate for each document")
        seen.add(query_id)
        topics.append(Topic(query_id, text, query=text))
        rows += candidates
    return Run.from_rows(rows, source=source), topics


def _load(data: bytes, source: str) -> list[Any]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ToolkitError(f"{source}, line {min(bad_lines(data))}: not UTF-8 text", "save the file as UTF-8") from error
    if text.lstrip().startswith("["):
        return _parse(text, source, 1)
    return [_parse(line, source, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _parse(text: str, source: str, line: int) -> Any:
    """JSON that begins on this line of the file."""
    try:
        return decode_json(text, finite=False)
    except Malformed as error:
        raise ToolkitError(f"{source}, line {line + max(error.line - 1, 0)}: not JSON: {error}", HINT) from error


def _text(value: object) -> str:
    """Ids are text always; files have numbers for them too."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(f"expected text, found {type(value).__name__}")
    text = str(value)
    text.encode()  # half a surrogate pair is a ValueError here
    return text


def _score(value: object) -> float:
    score = float(value)
    if abs(score) < float("inf"):
        return score
    raise ValueError(f"score {value} is not a finite number")


def write_requests(run: Run, topics: Iterable[Topic], path: str | Path, *, contents: Mapping[str, str]) -> None:
    """Write a JSON list of requests, best first, in the order of the run's queries; rank_llm is sent the topics' `text`.

    Raises ToolkitError where a query or a document of the run has no text (`contents` are texts by document id).
    """
    texts = {topic.query_id: topic.text for topic in topics}
    _check_known("queries", run.query_ids, texts)
    _check_known("documents", run.doc_ids.to_pylist(), contents)
    with open_output(path) as out:
        before = "[\n"
        for query_id, ranking in run.rankings():
            candidates = [{"docid": d, "score": score, "doc": {"content": contents[d]}} for _, d, score in ranking]
            request = {"query": {"text": texts[query_id], "qid": query_id}, "candidates": candidates}
            out.write(f"{before}{json.dumps(request, ensure_ascii=False)}".encode())
            before = ",\n"
        out.write(b"\n]\n" if len(run.query_ids) else b"[]\n")


def _check_known(what: str, ids: Sequence[str], known: Mapping[str, str]) -> None:
    if missing := [id for id in ids if id not in known]:
        hint = "name the topics and the corpus that the run was made with"
        raise ToolkitError(f"no text for {len(missing)} of {len(ids)} {what} of the run: {', '.join(missing[:3])}", hint)
