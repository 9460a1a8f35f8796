"""Runs in the forms that other tools read: JSON as pytrec_eval and ranx have it, Parquet, MTEB, rank_llm, pickles."""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolkit.core.columns import decode_dictionary, to_numpy
from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_input, open_output
from toolkit.core.runs import Run
from toolkit.formats.lines import read_bytes, source_name
from toolkit.formats.parse import has_repeats
from toolkit.formats.pickled import is_pickled, read_pickled
from toolkit.formats.problems import codes
from toolkit.formats.requests import parse_requests
from toolkit.formats.runs import DEFAULT_TAG, check_scores, parse_run, write_run

MTEB_META = "mteb_model_meta"
PARQUET_COLUMNS = ("query_id", "doc_id", "rank", "score", "tag")
_REQUEST = re.compile(rb'\[|\{\s*"(query"\s*:\s*\{\s*"(text|qid)"|candidates"\s*:\s*\[)')
HINT = "formats: TREC run, Parquet, JSON {query_id: {doc_id: score}}, MTEB predictions, rank_llm requests, pickle"


def write_json(run: Run, path: str | Path) -> None:
    """`{query_id: {doc_id: score}}`, best first: what pytrec_eval, ranx and BEIR read."""
    with open_output(path) as out:
        out.write(_json(run.to_dict()))


def write_mteb(run: Run, path: str | Path) -> None:
    """MTEB's `<task>_predictions.json` of one subset (`default`) and split (`test`): what `mteb` reranks."""
    meta = {"model_name": run.tag or DEFAULT_TAG, "revision": None}
    with open_output(path) as out:
        out.write(_json({MTEB_META: meta, "default": {"test": run.to_dict()}}))


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()


def write_parquet(run: Run, path: str | Path) -> None:
    """One row a document, best first: query_id, doc_id, rank (from 1), score, tag."""
    import numpy as np
    import pyarrow
    from pyarrow import parquet

    order = run.order()
    starts = np.cumsum(run.lengths) - run.lengths
    queries = run.queries[order]
    table = pyarrow.table(
        {
            "query_id": pyarrow.array(run.query_ids, pyarrow.string()).take(pyarrow.array(queries)),
            "doc_id": run.doc_ids.take(pyarrow.array(run.docs[order])),
            "rank": np.arange(len(order)) - starts[queries] + 1,
            "score": run.scores[order],
            "tag": pyarrow.repeat(run.tag or DEFAULT_TAG, len(order)),
        }
    )
    with open_output(path) as out:
        parquet.write_table(table, out)


def read_any_run(path: str | Path) -> Run:
    """A run in any of these forms, told apart by content; `read_run` and `read_requests` say what they refuse.

    Raises ToolkitError for a document twice in a query, a score that is no finite number, a file without documents, and
    an MTEB file with several subsets or splits (their ids may be the same). Nothing in a pickle is executed (`pickled`).
    """
    if is_pickled(path, _start(path)):
        return _checked(read_pickled(path))
    data, source = read_bytes(path), source_name(path)
    start = data[:64].removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"PAR1"):
        return _checked(_from_parquet(data, source))
    if _REQUEST.match(start):
        return _checked(parse_requests(data, source)[0])
    if start.startswith(b"{"):
        return _checked(_from_json(data, source))
    return parse_run(data, source)


def _start(path: str | Path) -> bytes:
    """The first bytes of a file, decompressed; standard input keeps them. Whoever reads on meets what is wrong with it."""
    file = open_input(path)
    try:
        return file.peek(4)[:4]
    except (EOFError, OSError, zlib.error):
        return b""
    finally:
        if str(path) != "-":
            file.close()


def _checked(run: Run) -> Run:
    if not len(run):
        raise ToolkitError(f"{run.source}: no documents in it", codes()["F002"].hint)
    check_scores(run)
    if has_repeats(run):
        raise ToolkitError(f"{run.source}: a query has the same document twice", codes()["R004"].hint)
    return run


def _from_parquet(data: bytes, source: str) -> Run:
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
    except (pyarrow.ArrowException, OSError) as error:
        raise ToolkitError(f"{source}: not readable as Parquet", "make or fetch the file again") from error
    needed = {"query_id": pyarrow.string(), "doc_id": pyarrow.string(), "score": pyarrow.float64()}
    hint = f"columns of a run: {', '.join(PARQUET_COLUMNS)}"
    missing = [name for name in needed if name not in table.column_names]
    if missing:
        raise ToolkitError(f"{source}: no column {', '.join(missing)}", hint)
    columns = {}
    for name, kind in needed.items():
        try:
            columns[name] = table[name].cast(kind)
        except pyarrow.ArrowException as error:
            raise ToolkitError(f"{source}: column {name} ({table[name].type}) is not readable as {kind}", hint) from error
        if table[name].null_count:
            raise ToolkitError(f"{source}: column {name} has {table[name].null_count:,} empty values", hint)
    queries, query_ids = decode_dictionary(columns["query_id"])
    docs, doc_ids = decode_dictionary(columns["doc_id"])
    tag = _tag(table["tag"][0].as_py()) if "tag" in table.column_names and len(table) else ""
    return Run(tuple(query_ids.to_pylist()), queries, doc_ids, docs, to_numpy(columns["score"]), tag=tag, source=source)


def _from_json(data: bytes, source: str) -> Run:
    try:
        content = json.loads(data, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:  # JSONDecodeError, UnicodeDecodeError and the one of _unique
        raise ToolkitError(f"{source}: not readable as JSON: {error}", HINT) from error
    try:
        tag = ""
        if MTEB_META in content:
            tag = (content.pop(MTEB_META) or {}).get("model_name")
            content = _only_part(content, source)
        return Run.from_dict(content, tag=_tag(tag), source=source)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise ToolkitError(f"{source}: not a mapping of query_id to doc_id to score", HINT) from error


def _only_part(content: dict[str, Any], source: str) -> dict[str, Any]:
    """The one subset and split of MTEB predictions."""
    parts = [(subset, split) for subset, splits in content.items() for split in splits]
    if len(parts) != 1:
        names = ", ".join("/".join(part) for part in parts) or "none"
        raise ToolkitError(f"{source}: expected one subset and split, found {names}", "keep one of them in the file")
    subset, split = parts[0]
    return content[subset][split]


def _tag(name: object) -> str:
    """A model's name as a tag, which has no white space."""
    return "-".join(str(name or "").split())


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; json itself keeps the last of equal keys and says nothing."""
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)} comes twice")
    return content


FORMATS: dict[str, Callable[[Run, str | Path], None]] = {
    "trec": write_run,
    "json": write_json,
    "parquet": write_parquet,
    "mteb": write_mteb,
}
