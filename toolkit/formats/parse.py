"""The fast way to read a run: arrow parses it in parallel where the bytes are plainly fine, and says so where not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from toolkit.core.columns import decode_dictionary, to_numpy
from toolkit.core.runs import Run
from toolkit.formats.lines import without_marks
from toolkit.formats.run_checks import FLOAT32_MAX, has_repeats

if TYPE_CHECKING:
    import pyarrow

BLOCK = 1 << 21  # bytes parsed by one thread at a time
_NAMES = ("query_id", "iteration", "doc_id", "rank", "score", "tag")
_TO_BLANKS = bytes.maketrans(b"\t\r\v\f", b"    ")


class Plain(NamedTuple):
    """A run from a file whose lines are all alike: one blank between columns, no comments, no blank lines.

    tags  how many different ones there are
    """

    run: Run
    tags: int


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


def parse_plain(data: bytes, source: str) -> Plain | None:
    """The run where the bytes are plainly fine, None where someone has to look closer."""
    if b"\0" in data or any(white in data for white in (b"\t", b"\r", b"\v", b"\f")):
        return None
    table = _table(data)
    if table is None:
        return None
    scores = to_numpy(table["score"])
    text = {name: decode_dictionary(table[name]) for name in _NAMES if name != "score"}
    if any(_has_empty(known) for _, known in text.values()):  # two blanks stood side by side
        return None
    (queries, query_ids), (docs, doc_ids), tags = text["query_id"], text["doc_id"], text["tag"][1]
    ranks = _ranks(*text["rank"])
    run = Run(tuple(query_ids.to_pylist()), queries, doc_ids, docs, scores, ranks, tags[0].as_py(), source)
    return Plain(run, len(tags)) if _is_valid(run) else None


def _table(data: bytes) -> pyarrow.Table | None:
    import pyarrow
    from pyarrow import csv

    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    try:
        return csv.read_csv(
            pyarrow.BufferReader(data),
            csv.ReadOptions(column_names=_NAMES, block_size=BLOCK),
            csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types={**dict.fromkeys(_NAMES, text), "score": pyarrow.float64()},
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except pyarrow.ArrowInvalid:
        return None


def _has_empty(values: pyarrow.StringArray) -> bool:
    import pyarrow.compute

    return pyarrow.compute.min(pyarrow.compute.binary_length(values)).as_py() == 0


def _ranks(codes: np.ndarray, known: pyarrow.StringArray) -> np.ndarray | None:
    import pyarrow
    import pyarrow.compute

    # the cast alone takes 0x1 for a number
    whole = pyarrow.compute.match_substring_regex(known, "^-?[0-9]{1,18}$")
    return to_numpy(known.cast(pyarrow.int64()))[codes] if pyarrow.compute.all(whole).as_py() else None


def _is_valid(run: Run) -> bool:
    if any(query_id.startswith(("#", "\ufeff")) for query_id in run.query_ids):
        return False
    return bool((np.abs(run.scores) <= FLOAT32_MAX).all()) and not has_repeats(run)  # NaN is never below
