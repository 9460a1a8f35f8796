"""Runs as tables: Parquet, CSV and TSV with the names of their columns, and three columns without."""

from __future__ import annotations

import re
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.system.files import open_output
from toolkit.core.system.lazy_names import pyarrow
from toolkit.files.runs.trec_runs import DEFAULT_TAG
from toolkit.files.texts.lines import first_lines, is_text
from toolkit.files.texts.named_columns import RUN_HINT, is_run, pick, run_from_columns

_WHOLE = re.compile(rb"\d{1,18}")


def is_named(data: bytes, _: str) -> bool:
    """Whether the first line names a run's columns, divided by commas or tabs."""
    head = next(first_lines(data), b"")
    return is_run(_names(head, _delimiter(head)))


def has_ranks(data: bytes, source: str) -> bool:
    """Three columns, the third whole numbers: ranks, or scores that could be."""
    return _has_three(data) and all(_WHOLE.fullmatch(line.rpartition(b"\t")[2]) for line in first_lines(data))


def has_scores(data: bytes, source: str) -> bool:
    """Three columns, the third no ranks from 1 (PyTerrier: 0) on line by line: nobody lists scores so, worst first."""
    return _has_three(data) and not (has_ranks(data, source) and _count_up(data))


def _has_three(data: bytes) -> bool:
    head = next(first_lines(data), b"")
    # Parquet and LZ4 may have two tabs in what looks like their first line
    return head.count(b"\t") == 2 and head[0] >= ord(" ") and is_text(data) and not is_named(data, "")


def _count_up(data: bytes) -> bool:
    """Whether the third column of each query's lines is 1, 2, 3, ... or 0, 1, 2, ..."""
    first, expected = None, {}
    for line in first_lines(data):
        query_id, number = line.partition(b"\t")[0], int(line.rpartition(b"\t")[2])
        first = number if first is None else first
        if number != expected.get(query_id, first) or first > 1:
            return False
        expected[query_id] = number + 1
    return True


def _names(head: bytes, delimiter: str) -> list[str]:
    return [name.strip().strip('"') for name in head.decode(errors="replace").split(delimiter)]


def _delimiter(head: bytes) -> str:
    return "\t" if b"\t" in head else ","


def parse_named(data: bytes, source: str) -> Run:
    """CSV or TSV with a head; quoted as pandas does it. Other columns are left out."""
    head = next(first_lines(data))
    data = data[data.index(head) :]  # marks, blank lines and comments may stand above
    names = _names(head, _delimiter(head))
    return run_from_columns(_read(data, source, _delimiter(head), names, head=True), source=source)


def parse_ranks(data: bytes, source: str) -> Run:
    """MS MARCO's `query_id, doc_id, rank`, divided by tabs: what its leaderboards take."""
    return run_from_columns(_read(data, source, "\t", ["query_id", "doc_id", "rank"]), source=source)


def parse_scores(data: bytes, source: str) -> Run:
    """`query_id, doc_id, score`, divided by tabs: what Tevatron writes."""
    return run_from_columns(_read(data, source, "\t", ["query_id", "doc_id", "score"]), source=source)


def _read(data: bytes, source: str, delimiter: str, names: list[str], head: bool = False) -> dict[str, pyarrow.ChunkedArray]:
    """The columns of a run among those named, ids and tags as text."""
    from pyarrow import csv

    numbers = {"score", "rank"}
    wanted = [name for each in ("query_id", "doc_id", *numbers, "tag") if (name := pick(each, names))]
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(data),
            csv.ReadOptions(column_names=names, skip_rows=int(head), use_threads=False),  # with threads, errors name no row
            csv.ParseOptions(delimiter=delimiter, quote_char='"' if head else False, newlines_in_values=head),
            csv.ConvertOptions(
                column_types={name: pyarrow.float64() if name in numbers else pyarrow.string() for name in wanted},
                include_columns=wanted,
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except pyarrow.ArrowInvalid as error:
        raise ToolkitError(f"{source}: {error}", RUN_HINT) from error
    return {name: table[name] for name in wanted}


def parse_parquet(data: bytes, source: str) -> Run:
    """Parquet with the columns of a run; numbers may be ids."""
    from pyarrow import parquet

    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
    except (pyarrow.ArrowException, OSError) as error:
        raise ToolkitError(f"{source}: not readable as Parquet", "make or fetch the file again") from error
    columns = {}
    for wanted in ("query_id", "doc_id", "score", "rank"):
        if (name := pick(wanted, table.column_names)) is None:
            continue
        kind = pyarrow.string() if wanted in ("query_id", "doc_id") else pyarrow.float64()
        try:
            columns[name] = table[name].cast(kind)
        except pyarrow.ArrowException as error:
            raise ToolkitError(f"{source}: column {name} ({table[name].type}) is not readable as {kind}", RUN_HINT) from error
        if table[name].null_count:
            raise ToolkitError(f"{source}: column {name} has {table[name].null_count:,} empty values", RUN_HINT)
    if tag := pick("tag", table.column_names):
        columns[tag] = table[tag][:1].to_pylist()
    return run_from_columns(columns, source=source)


def write_parquet(run: Run, path: str | Path) -> None:
    """One row a document, best first: query_id, doc_id, rank (from 1), score, tag."""
    from pyarrow import parquet

    order = run.order()
    table = pyarrow.table(
        {
            "query_id": pyarrow.array(run.query_ids, pyarrow.string()).take(pyarrow.array(run.queries[order])),
            "doc_id": run.documents.texts(order),
            "rank": run.ranks()[order],
            "score": run.scores[order],
            "tag": pyarrow.repeat(run.tag or DEFAULT_TAG, len(order)),
        }
    )
    with open_output(path) as out:
        parquet.write_table(table, out)
