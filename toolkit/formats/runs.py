"""TREC runs: columns from bytes and bytes from columns, with no Python object a line."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.columns import decode_dictionary
from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_output
from toolkit.core.runs import Run
from toolkit.formats.ids import check_ids
from toolkit.formats.lines import read_bytes, source_name, text_problems
from toolkit.formats.lint import FLOAT32_MAX, run_from_lines, scan_run
from toolkit.formats.problems import by_line, codes, refuse

if TYPE_CHECKING:
    import pyarrow

BLOCK = 1 << 21  # bytes parsed by one thread at a time
WRITTEN_AT_ONCE = 1 << 18  # lines
DEFAULT_TAG = "tandem"
_NAMES = ("query_id", "iteration", "doc_id", "rank", "score", "tag")
_TO_BLANKS = bytes.maketrans(b"\t\r\v\f", b"    ")


def read_run(path: str | Path) -> Run:
    """A run from a TREC file as trec_eval reads it: blanks or tabs, any order of lines, `#` comments, CR LF, .gz, .zst, `-`.

    Ids stay text as they are (`007`, `null`, `"a"`). `ranks` is None where a rank is not a whole number.

    Raises ToolkitError with all problems of the file (wrong number of columns, a score that is no finite number,
    a document twice in a query, bytes that are not UTF-8, no lines at all).
    """
    return parse_run(read_bytes(path), source_name(path))


def parse_run(data: bytes, source: str) -> Run:
    """The same from the bytes of a file; `source` is its name in messages."""
    run = _parse(data, source)
    if run is None:
        run = _parse(_evened(data), source)
    if run is not None:
        return run
    # something is wrong: the linter finds all of it
    lines, problems = scan_run(data)
    refuse(source, by_line(problems + text_problems(data)))
    return run_from_lines(lines, source)


def _evened(data: bytes) -> bytes:
    """The same lines with one blank between columns and nothing else: no tabs, CR, byte order mark, blank lines, comments."""
    data = data.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").translate(_TO_BLANKS)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    data = data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    data = re.sub(rb"^#.*", b"", data, flags=re.MULTILINE)
    while b"\n\n" in data:
        data = data.replace(b"\n\n", b"\n")
    return data.lstrip(b"\n")


def _parse(data: bytes, source: str) -> Run | None:
    """The run where the bytes are plainly fine, None where someone has to look closer."""
    if b"\0" in data or any(white in data for white in (b"\t", b"\r", b"\v", b"\f")):
        return None
    table = _table(data)
    if table is None:
        return None
    scores = table["score"].to_numpy()
    text = {name: decode_dictionary(table[name]) for name in _NAMES if name != "score"}
    if any(_has_empty(known) for _, known in text.values()):  # two blanks stood side by side
        return None
    queries, query_ids = text["query_id"]
    docs, doc_ids = text["doc_id"]
    run = Run(
        tuple(query_ids.to_pylist()), queries, doc_ids, docs, scores, _ranks(*text["rank"]), text["tag"][1][0].as_py(), source
    )
    return run if _is_valid(run) else None


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

    try:
        return known.cast(pyarrow.int64()).to_numpy()[codes]
    except pyarrow.ArrowInvalid:
        return None


def _is_valid(run: Run) -> bool:
    if any(query_id.startswith("#") for query_id in run.query_ids):
        return False
    return bool((np.abs(run.scores) <= FLOAT32_MAX).all()) and not has_repeats(run)  # NaN is never below


def has_repeats(run: Run) -> bool:
    """Whether a query has a document twice."""
    if len(run.doc_ids) == len(run):  # no document comes twice at all
        return False
    pairs = np.sort(run.queries.astype(np.int64) * len(run.doc_ids) + run.docs)
    return bool((pairs[1:] == pairs[:-1]).any())


def write_run(run: Run, path: str | Path, *, tag: str | None = None, decimals: int | None = None, ties: str = "trec") -> None:
    """Write a TREC run, best first: `query_id Q0 doc_id rank score tag`, ranks from 1; .gz, .zst and `-` by name.

    tag       in place of the run's own (`tandem` where it has none)
    decimals  digits after the point, as BM25 has them (6). Without, the shortest text that reads back as the same number.
              Rounding can make different scores equal: the lines stand, and are ranked, in the order of the scores as
              written, which is what every reader of the file sees
    ties      how equal scores are ordered, as in `Run.order`; `file` keeps a given order of lines

    Raises ToolkitError, before anything is written, for what could not be read back: an id that is empty or holds white
    space, a query id that begins with `#`, a score that is not finite.
    """
    import pyarrow

    tag = tag or run.tag or DEFAULT_TAG
    for name, ids in (("query_id", run.query_ids), ("doc_id", run.doc_ids), ("tag", [tag])):
        check_ids(name, ids)
    check_scores(run)
    scores = pyarrow.array(run.scores).cast(pyarrow.string())
    if decimals is not None:
        scores = _fixed(run.scores, decimals)
        run = replace(run, scores=scores.cast(pyarrow.float64()).to_numpy())
    with open_output(path) as out:
        for chunk in _chunks(run, scores, tag, run.order(ties)):
            out.write(chunk)


def check_scores(run: Run) -> None:
    """Raise ToolkitError for the first score that is not finite."""
    fine = np.abs(run.scores) <= FLOAT32_MAX
    if not fine.all():
        line = int(np.argmin(fine))
        query_id, doc_id = run.query_ids[run.queries[line]], run.doc_ids[int(run.docs[line])]
        place = f"{run.source}: " if run.source else ""
        raise ToolkitError(
            f"{place}score {run.scores[line]} of document {doc_id} in query {query_id} is not a finite number",
            codes()["R003"].hint,
        )


def _fixed(scores: np.ndarray, decimals: int) -> pyarrow.StringArray:
    """Scores as C's printf writes them (exact, half to even)."""
    import pyarrow

    form, texts = f"%.{decimals}f\n", []
    for start in range(0, len(scores), WRITTEN_AT_ONCE):
        part = scores[start : start + WRITTEN_AT_ONCE].tolist()
        texts.append(pyarrow.array((form * len(part) % tuple(part)).split("\n")[:-1], pyarrow.string()))
    return pyarrow.concat_arrays(texts) if texts else pyarrow.array([], pyarrow.string())


def _chunks(run: Run, scores: pyarrow.StringArray, tag: str, order: np.ndarray) -> Iterator[memoryview]:
    """The bytes of the file, some hundred thousand lines at a time."""
    import pyarrow
    import pyarrow.compute

    query_ids = pyarrow.array(run.query_ids, pyarrow.string())
    starts = np.cumsum(run.lengths) - run.lengths
    for start in range(0, len(order), WRITTEN_AT_ONCE):
        lines = order[start : start + WRITTEN_AT_ONCE]
        queries = run.queries[lines]
        ranks = np.arange(start, start + len(lines)) - starts[queries] + 1
        columns = (
            query_ids.take(pyarrow.array(queries)),
            "Q0",
            run.doc_ids.take(pyarrow.array(run.docs[lines])),
            pyarrow.array(ranks).cast(pyarrow.string()),
            scores.take(pyarrow.array(lines)),
            f"{tag}\n",
            " ",  # the last one is the separator
        )
        joined = pyarrow.compute.binary_join_element_wise(*columns)
        _, offsets, values = joined.buffers()
        end = np.frombuffer(offsets, np.int32)[len(lines)]
        yield memoryview(values)[:end]
