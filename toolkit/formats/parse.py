"""The fast way to read a run: arrow parses it in parallel where the bytes are plainly fine, and says so where not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.columns import decode_dictionary, to_arrow, to_numpy
from toolkit.core.runs import Run
from toolkit.formats.lines import without_marks
from toolkit.formats.run_checks import FLOAT32_MAX, has_repeats

if TYPE_CHECKING:
    import pyarrow

BLOCK = 1 << 21  # bytes parsed by one thread at a time
_NAMES = ("query_id", "iteration", "doc_id", "rank", "score", "tag")
_TO_BLANKS = bytes.maketrans(b"\t\r\v\f", b"    ")


def evened(data: bytes) -> bytes:
    """The same lines with one blank between columns and nothing else: no tabs, CR, byte order marks, blank lines, comments."""
    data = without_marks(data).replace(b"\r\n", b"\n").translate(_TO_BLANKS)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    data = data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    data = re.sub(rb"^#.*", b"", data, flags=re.MULTILINE)
    while b"\n\n" in data:
        data = data.replace(b"\n\n", b"\n")
    return data.lstrip(b"\n")


def parse_plain(data: bytes, source: str) -> Run | None:
    """The run of lines that are all alike (one blank between columns, no comments, no blank lines); None where someone has to
    look closer.
    """
    table = _table(data, ("query_id", "doc_id", "score"))
    if table is None:
        return None
    queries, query_ids = decode_dictionary(table["query_id"])
    docs, doc_ids = decode_dictionary(table["doc_id"])
    tag = data.partition(b"\n")[0].rpartition(b" ")[2].decode()
    run = Run(tuple(query_ids.to_pylist()), queries, doc_ids, docs, to_numpy(table["score"]), tag=tag, source=source)
    return run if _is_valid(run) else None


def plain_ranks(data: bytes) -> np.ndarray | None:
    """(n,) int64, the rank column of such lines; None where a rank is no whole number, or there are several tags."""
    import pyarrow
    import pyarrow.compute

    table = _table(data, ("rank", "tag"))
    if table is None or len(decode_dictionary(table["tag"])[1]) > 1:
        return None
    codes, ranks = decode_dictionary(table["rank"])
    # the cast alone takes 0x1 for a number
    whole = pyarrow.compute.match_substring_regex(ranks, "^-?[0-9]{1,18}$")
    return to_numpy(ranks.cast(pyarrow.int64()))[codes] if pyarrow.compute.all(whole).as_py() else None


def _table(data: bytes, names: Sequence[str]) -> pyarrow.Table | None:
    """These columns; None where a line has another number of columns, one is empty, or a score is no number."""
    import pyarrow
    from pyarrow import csv

    if any(white in data for white in (b"\0", b"\t", b"\r", b"\v", b"\f")) or _has_empty(data) or not _is_utf8(data):
        return None
    # ids of documents are encoded all at once: those of a block hardly ever come twice in it
    types = {"score": pyarrow.float64(), "doc_id": pyarrow.string()}
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    try:
        return csv.read_csv(
            pyarrow.BufferReader(data),
            csv.ReadOptions(column_names=_NAMES, block_size=BLOCK),
            csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types={name: types.get(name, text) for name in names},
                include_columns=names,
                null_values=[],
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except pyarrow.ArrowInvalid:
        return None


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
    import pyarrow

    if data.isascii():
        return True
    bounds = to_arrow(np.array([0, len(data)])).buffers()[1]
    try:
        pyarrow.LargeStringArray.from_buffers(1, bounds, pyarrow.py_buffer(data)).validate(full=True)
    except pyarrow.ArrowInvalid:
        return False
    return True


def _is_valid(run: Run) -> bool:
    if any(query_id.startswith(("#", "\ufeff")) for query_id in run.query_ids):
        return False
    return bool((np.abs(run.scores) <= FLOAT32_MAX).all()) and not has_repeats(run)  # NaN is never below
