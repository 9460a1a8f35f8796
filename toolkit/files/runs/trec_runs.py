"""TREC runs: columns from bytes and bytes from columns, with no Python object a line."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from toolkit.core.runs import Run
from toolkit.core.system.files import open_input, open_output
from toolkit.core.system.lazy_names import compute, pyarrow
from toolkit.core.tables.columns import split_lines, to_arrow, to_numpy
from toolkit.files.runs.problems import by_line, check_scores, refuse
from toolkit.files.texts.lines import check_ids, first_lines, is_text, text_problems, without_marks
from toolkit.files.texts.parse import parse_plain

WRITTEN_AT_ONCE = 1 << 18  # lines
PIECE = 1 << 23  # bytes that are read at once
DEFAULT_TAG = "tandem"


def is_trec(data: bytes) -> bool:
    """Whether the first line that is neither blank nor a comment is one of a TREC run."""
    from toolkit.files.runs.lint import is_score  # which who only writes a run does not need

    row = next((line.split() for line in first_lines(data)), [])
    return len(row) == 6 and is_score(row[4]) and all(map(is_text, row)) and b"\0" not in data


def parse_trec(data: bytes, source: str) -> Run:
    """A run from TREC lines as trec_eval reads them: blanks or tabs, any order of lines, `#` comments, CR LF.

    Ids stay text as they are (`007`, `null`, `"a"`). Ranks are not read: scores decide. Raises ToolkitError with all problems
    of the file (wrong number of columns, a score that is no finite number, a document twice in a query, bytes that are not
    UTF-8, no lines at all).
    """
    plain = parse_plain([data], source)
    if plain is not None:
        return plain
    from toolkit.files.runs.lint import run_from_lines, scan_run  # something is wrong: the linter finds all of it

    lines, problems = scan_run(data)
    refuse(source, by_line(problems + text_problems(data)))
    return run_from_lines(lines, source)


def stream_trec(path: str | Path, source: str) -> Run | None:
    """The run of a file whose lines are plainly fine, without ever having all of its bytes in memory; None for any other file,
    which is to be read again, as a whole.
    """
    try:
        with open_input(path) as file:
            first = file.read(PIECE) + file.readline()
            if not is_trec(first) or without_marks(first[:256]).lstrip().startswith((b"{", b"[")):  # JSON may look like it
                return None
            return parse_plain(itertools.chain([first], iter(lambda: file.read(PIECE) + file.readline(), b"")), source)
    except (EOFError, OSError, zlib.error):  # whoever reads all of it says where it breaks off
        return None


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
    tag = tag or run.tag or DEFAULT_TAG
    for name, ids in (("query_id", run.query_ids), ("doc_id", run.doc_ids), ("tag", [tag])):
        check_ids(name, ids)
    check_scores(run)
    scores = to_arrow(run.scores).cast(pyarrow.string())
    if decimals is not None:
        # as C's printf writes them: exact, half to even
        form = f"%.{decimals}f\n"
        texts = []
        for start in range(0, len(run.scores), WRITTEN_AT_ONCE):
            part = run.scores[start : start + WRITTEN_AT_ONCE].tolist()
            texts.append(split_lines((form * len(part) % tuple(part))[:-1]))
        scores = pyarrow.concat_arrays(texts) if texts else to_arrow([])
        run = replace(run, scores=to_numpy(scores.cast(pyarrow.float64())))
    with open_output(path) as out:
        for chunk in _chunks(run, scores, tag, run.order(ties)):
            out.write(chunk)


def _chunks(run: Run, scores: pyarrow.StringArray, tag: str, order: np.ndarray) -> Iterator[memoryview]:
    """The bytes of the file, some hundred thousand lines at a time."""
    query_ids = to_arrow(run.query_ids)
    iteration, end_of_line, blank = to_arrow(["Q0", f"{tag}\n", " "])  # a plain str would have arrow load pandas
    starts = np.cumsum(run.lengths) - run.lengths
    for start in range(0, len(order), WRITTEN_AT_ONCE):
        lines = order[start : start + WRITTEN_AT_ONCE]
        queries = run.queries[lines]
        ranks = np.arange(start, start + len(lines)) - starts[queries] + 1
        columns = (
            query_ids.take(to_arrow(queries)),
            iteration,
            run.documents.texts(lines),
            to_arrow(ranks).cast(pyarrow.string()),
            scores.take(to_arrow(lines)),
            end_of_line,
            blank,  # the last one is the separator
        )
        _, offsets, values = compute.binary_join_element_wise(*columns).buffers()
        yield memoryview(values)[: np.frombuffer(offsets, np.int32)[len(lines)]]
