"""Runs as dictionaries: JSON as pytrec_eval and ranx have it, MTEB's predictions, JSON lines, ranx's compressed CBOR."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError, library
from toolkit.core.runs import Run
from toolkit.core.system.files import write_text
from toolkit.core.system.lazy_names import pyarrow
from toolkit.core.system.yaml_json import Malformed, decode_json
from toolkit.core.system.yaml_json import parse_json as load_json
from toolkit.files.runs.problems import checked
from toolkit.files.runs.trec_runs import DEFAULT_TAG
from toolkit.files.texts.lines import first_lines, text_lines, without_marks
from toolkit.files.texts.named_columns import NAMES, is_run, one_word, run_from_columns

MTEB_META = "mteb_model_meta"
JSON_HINT, NOT_NESTED = "a run is {query_id: {doc_id: score}}", "not a mapping of query_id to doc_id to score"
LINES_HINT = 'a line is {"query_id": ..., "doc_id": ..., "score": ...}'
MOST = 1 << 30  # bytes that ranx's form is unpacked to
LZ4 = b"\x04\x22\x4d\x18"  # the first bytes of a frame
_OBJECT = re.compile(rb'\{\s*["}]')
_REQUEST = re.compile(rb'\[\s*[{\]]|\{\s*"(query"\s*:\s*\{\s*"(text|qid)"|candidates"\s*:\s*\[)')


def is_requests(data: bytes, _: str) -> bool:
    """rank_llm: a list, or an object whose first key is a query with its text or candidates."""
    return bool(_REQUEST.match(without_marks(data[:256]).lstrip()))


def is_json_lines(data: bytes, source: str) -> bool:
    """Whether the first line is an object with a row's names."""
    if not _is_object(data) or is_requests(data, source):
        return False
    try:
        row = decode_json(next(first_lines(data)).decode(), finite=False)
    except ValueError:  # no UTF-8, or no JSON
        return False
    return is_run(row) and not any(isinstance(row.get(name), Mapping) for name in NAMES["query_id"])


def is_mteb(data: bytes, _: str) -> bool:
    """Whether it is an object that names its model as MTEB does."""
    return _is_object(data) and f'"{MTEB_META}"'.encode() in data


def is_json(data: bytes, source: str) -> bool:
    """Any other object."""
    return _is_object(data) and not any(fits(data, source) for fits in (is_requests, is_json_lines, is_mteb))


def _is_object(data: bytes) -> bool:
    return bool(_OBJECT.match(without_marks(data[:256]).lstrip()))


def parse_json(data: bytes, source: str) -> Run:
    """`{query_id: {doc_id: score}}`, without a tag."""
    return run_from_nested(load_json(data, source, hint=JSON_HINT, finite=False), source=source)


def parse_mteb(data: bytes, source: str) -> Run:
    """MTEB's predictions of one subset and split; of several, ids may be the same."""
    content = load_json(data, source, hint=JSON_HINT, finite=False)
    try:
        tag = (content.pop(MTEB_META) or {}).get("model_name")
        parts = {(subset, split): run for subset, splits in content.items() for split, run in splits.items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise ToolkitError(f"{source}: {NOT_NESTED}", JSON_HINT) from error
    if len(parts) != 1:
        names = ", ".join("/".join(part) for part in parts) or "none"
        raise ToolkitError(f"{source}: expected one subset and split, found {names}", "keep one of them in the file")
    return run_from_nested(*parts.values(), tag=one_word(tag), source=source)


def parse_json_lines(data: bytes, source: str) -> Run:
    """An object a line, with the columns of `named_columns`; each line has those of the first."""
    columns: dict[str, list[Any]] = {}
    for number, line in text_lines(data, source):
        try:
            row = decode_json(line, finite=False)
            columns = columns or {name: [] for name in row if any(name in names for names in NAMES.values())}
            for name, values in columns.items():
                values.append(row[name])
        except Malformed as error:
            raise ToolkitError(f"{source}, line {number}: not JSON: {error}", LINES_HINT) from error
        except (KeyError, TypeError) as error:
            raise ToolkitError(f"{source}, line {number}: no {error}", LINES_HINT) from error
    return run_from_columns(columns, source=source)


def parse_lz4(data: bytes, source: str) -> Run:
    """What ranx saves: CBOR of `{query_id: {doc_id: score}}`, compressed, and by its own `open` once more."""
    cbor2 = library("cbor2", f"{source}: ranx's compressed form", "ranx")
    try:
        while data.startswith(LZ4):
            with pyarrow.input_stream(pyarrow.BufferReader(data), compression="lz4") as unpacked:
                data = unpacked.read(MOST + 1)
            if len(data) > MOST:
                raise ToolkitError(f"{source} unpacks to more than {MOST >> 20} MiB", "save it in another form")
        content = cbor2.loads(data)
    except (OSError, cbor2.CBORDecodeError) as error:
        raise ToolkitError(f"{source}: not readable as ranx's LZ4: {error}", "make or fetch the file again") from error
    return run_from_nested(content, source=source)


def run_from_nested(content: Any, *, tag: str = "", source: str = "") -> Run:
    """A run of `{query_id: {doc_id: score}}`. Raises ToolkitError where it is something else."""
    try:
        return checked(Run.from_dict(content, tag=tag, source=source))
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise ToolkitError(f"{source}: {NOT_NESTED}", JSON_HINT) from error


def write_json(run: Run, path: str | Path) -> None:
    """`{query_id: {doc_id: score}}`, best first: what pytrec_eval, ranx and BEIR read."""
    write_text(path, json.dumps(run.to_dict(), ensure_ascii=False) + "\n")


def write_mteb(run: Run, path: str | Path) -> None:
    """MTEB's `<task>_predictions.json` of one subset (`default`) and split (`test`): what `mteb` reranks."""
    content = {MTEB_META: {"model_name": run.tag or DEFAULT_TAG, "revision": None}, "default": {"test": run.to_dict()}}
    write_text(path, json.dumps(content, ensure_ascii=False) + "\n")
