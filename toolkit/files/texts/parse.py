"""The fast way to read runs and qrels: arrow parses them in parallel where the bytes are plainly fine, else says so."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

import numpy as np

from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.system.lazy_names import pyarrow
from toolkit.core.tables.columns import Ids, decode_dictionary, to_arrow, to_numpy
from toolkit.files.runs.problems import FLOAT32_MAX
from toolkit.files.texts.lines import COMMENT, without_marks

BLOCK = 1 << 21  # bytes parsed by one thread at a time
RUN = ("query_id", "iteration", "doc_id", "rank", "score", "tag")
QRELS = ("query_id", "iteration", "doc_id", "relevance")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_TO_BLANKS = bytes.maketrans(b"\t\r\v\f", b"    ")


def evened(data: bytes) -> bytes:
    """The same lines with one blank between columns and nothing else: no tabs, CR, byte order marks, blank lines, comments."""
    data = without_marks(data)
    data = (COMMENT.sub(b"", data) if b"#" in data else data).replace(b"\r\n", b"\n").translate(_TO_BLANKS)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    data = data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    while b"\n\n" in data:
        data = data.replace(b"\n\n", b"\n")
    return data.lstrip(b"\n")


def parse_plain(pieces: Iterable[bytes], source: str) -> Run | None:
    """The run of whole lines, given in pieces; None where someone has to look closer."""
    tables, tag = [], ""
    for piece in pieces:
        table = _table(piece, RUN, ("query_id", "doc_id", "score"))
        if table is None:
            piece = evened(piece)
            table = _table(piece, RUN, ("query_id", "doc_id", "score")) if piece else None
        if table is not None:
            tables.append(table)
            tag = tag or piece.partition(b"\n")[0].rpartition(b" ")[2].decode()
        elif piece:
            return None
    if not tables:
        return None
    table = pyarrow.concat_tables(tables)
    del tables, piece  # a run of millions of lines is in memory once
    scores = to_numpy(table["score"])
    queries, query_ids = decode_dictionary(table["query_id"])
    table = table.select(["doc_id"])
    run = Run(tuple(query_ids.to_pylist()), queries, Ids.of(table["doc_id"]), scores, tag=tag, source=source)
    del table
    # a score that is NaN makes both NaN, which is neither above nor below
    fine = scores.min() >= -FLOAT32_MAX and scores.max() <= FLOAT32_MAX
    return run if fine and not run.documents.comes_twice(queries) else None


def parse_plain_qrels(data: bytes, source: str) -> Qrels | None:
    """The same of qrels in four columns, of which none is given twice."""
    table = _table(data, QRELS, QRELS)
    relevance = None if table is None else _whole_numbers(table["relevance"])
    if relevance is None:
        return None
    (queries, query_ids), (subtopics, iterations) = (decode_dictionary(table[name]) for name in ("query_id", "iteration"))
    documents = Ids.of(table["doc_id"])
    if documents.comes_twice(queries.astype(np.int64) * len(iterations) + subtopics):
        return None
    docs, doc_ids = documents.codes, documents.distinct
    ids, names = (tuple(values.to_pylist()) for values in (query_ids, iterations))
    return Qrels(ids, queries, doc_ids, docs, relevance, names, subtopics, source)


def plain_ranks(data: bytes) -> np.ndarray | None:
    """(n,) int64, the rank column of such lines; None where a rank is no whole number, or there are several tags."""
    table = _table(data, RUN, ("query_id", "rank", "tag"))
    return _whole_numbers(table["rank"]) if table is not None and len(decode_dictionary(table["tag"])[1]) == 1 else None


def _whole_numbers(column: pyarrow.ChunkedArray) -> np.ndarray | None:
    """(n,) int64; None where one is no whole number."""
    codes, values = decode_dictionary(column)
    texts = values.to_pylist()
    return np.array(list(map(int, texts)), np.int64)[codes] if all(map(_WHOLE.fullmatch, texts)) else None


def _table(data: bytes, columns: Sequence[str], names: Sequence[str]) -> pyarrow.Table | None:
    """Some of the columns of lines, the first among them; None where a line has another number of columns or is a comment, a
    column is empty, or a score is no number."""
    from pyarrow import csv

    if any(white in data for white in (b"\0", b"\t", b"\r", b"\v", b"\f")) or _has_empty(data) or not _is_utf8(data):
        return None
    types = {"score": pyarrow.float64(), "doc_id": pyarrow.string()}
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(data),
            csv.ReadOptions(column_names=columns, block_size=BLOCK),
            csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types={name: types.get(name, text) for name in names},
                include_columns=names,
                null_values=[],
                strings_can_be_null=False,
                check_utf8=False,
            ),
            # arrow's own allocator clears pages again and again that malloc hands out as they are
            pyarrow.system_memory_pool(),
        )
    except pyarrow.ArrowInvalid:
        return None
    query_ids = itertools.chain.from_iterable(chunk.dictionary.to_pylist() for chunk in table["query_id"].chunks)
    # a comment may have as many columns as a line
    return None if any(query_id == "#" or query_id.startswith("\ufeff") for query_id in query_ids) else table


def _has_empty(data: bytes) -> bool:
    """Whether a column is empty, before, behind or between two blanks or ends of lines."""
    if data[:1] in b" \n" or data[-1:] == b" ":
        return True
    characters = np.frombuffer(data, np.uint8)
    for start in range(0, len(characters), BLOCK):
        divides = characters[start : start + BLOCK + 1] <= ord(" ")
        if (divides[1:] & divides[:-1]).any():
            return True
    return False


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    bounds = to_arrow(np.array([0, len(data)])).buffers()[1]
    try:
        pyarrow.LargeStringArray.from_buffers(1, bounds, pyarrow.py_buffer(data)).validate(full=True)
    except pyarrow.ArrowInvalid:
        return False
    return True
