"""The exact linter: reads a run or qrels line by line and finds everything that is wrong, with its line."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.formats.lines import bad_lines, columns, read_bytes, text_problems
from toolkit.formats.parse import parse_plain, plain_ranks
from toolkit.formats.problems import Problem, by_line
from toolkit.formats.run_checks import FLOAT32_MAX

BEIR_HEADERS = ([b"query-id", b"corpus-id", b"score"], [b"qid", b"pid", b"score"])  # BEIR, InstructIR
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_INTEGER = re.compile(rb"[+-]?\d{1,18}")


@dataclass
class Lines:
    """The good lines of a file, parallel: number (from 1), columns as written, value (score or relevance)."""

    numbers: list[int] = field(default_factory=list)
    rows: list[list[bytes]] = field(default_factory=list)
    values: list = field(default_factory=list)

    def add(self, number: int, row: list[bytes], value: float) -> None:
        """Append a line."""
        self.numbers.append(number)
        self.rows.append(row)
        self.values.append(value)

    def column(self, index: int) -> list[str]:
        """One column as text."""
        return [row[index].decode() for row in self.rows]


def lint_run(path: str | Path) -> list[Problem]:
    """All problems of a TREC run, in the order of lines; ToolkitError where it cannot be read at all."""
    return lint_run_bytes(read_bytes(path))


def lint_run_bytes(data: bytes) -> list[Problem]:
    """The same for the bytes of a run, decompressed."""
    even = data.replace(b"\t", b" ")
    ranks = plain_ranks(even)
    run = None if ranks is None or data.startswith(codecs.BOM_UTF8) else parse_plain([even], "")
    if run is None:
        return examine_run(data)[1]
    return by_line(order_warnings(run, ranks, range(1, len(run) + 1)))


def lint_qrels(path: str | Path) -> list[Problem]:
    """All problems of a qrels file (TREC or BEIR's TSV), in the order of lines; ToolkitError where it cannot be read at all."""
    return examine_qrels(read_bytes(path))[1]


def examine_run(data: bytes) -> tuple[Lines, list[Problem]]:
    """The good lines of a run and all problems of the others and of the whole."""
    lines, problems = scan_run(data)
    return lines, by_line(problems + text_problems(data) + run_warnings(lines))


def examine_qrels(data: bytes) -> tuple[Lines, list[Problem]]:
    """The good lines of qrels and all problems of the others and of the whole."""
    lines, problems = scan_qrels(data)
    return lines, by_line(problems + text_problems(data))


def scan_run(data: bytes) -> tuple[Lines, list[Problem]]:
    """The good lines of a run (the first of equal ones) and what is wrong with others; `text_problems` does encoding."""
    lines, problems, seen, bad, number = Lines(), [], {}, bad_lines(data), 0
    for number, row in columns(data):
        key = (row[0], row[2]) if len(row) == 6 else None
        if key is None:
            problems.append(Problem("R001", number, f"expected 6 columns, found {len(row)}"))
        elif code := _bad_score(row[4]):
            problems.append(
                Problem(code, number, f"score {_show(row[4])} is not a {'finite ' if code == 'R003' else ''}number")
            )
        elif key in seen:
            first = seen[key]
            if lines.rows[first] == row:
                problems.append(Problem("R005", number, f"the same line as line {lines.numbers[first]}"))
            else:
                what = f"document {_show(row[2])} of query {_show(row[0])} again, first on line {lines.numbers[first]}"
                problems.append(Problem("R004", number, what))
        elif number not in bad:
            seen[key] = len(lines.rows)
            lines.add(number, row, float(row[4]))
    if not number:
        problems.append(Problem("F002", None, "no run lines in it"))
    return lines, problems


def is_score(text: bytes) -> bool:
    """Whether a column is a finite decimal number."""
    return not _bad_score(text)


def _bad_score(text: bytes) -> str:
    """The code of what is wrong with a score, empty where it is fine."""
    if _NUMBER.fullmatch(text):
        return "" if abs(float(text)) <= FLOAT32_MAX else "R003"
    return "R003" if _NOT_FINITE.fullmatch(text) else "R002"


def _show(text: bytes) -> str:
    return text.decode(errors="backslashreplace")


def run_from_lines(lines: Lines, source: str) -> Run:
    """The run of scanned lines."""
    tag = lines.rows[0][5].decode() if lines.rows else ""
    return Run.from_columns(lines.column(0), lines.column(2), lines.values, tag=tag, source=source)


def run_warnings(lines: Lines) -> list[Problem]:
    """Warnings of lines that are right one by one: ranks, tags, order."""
    if not lines.rows:
        return []
    warnings = []
    not_whole = [number for number, row in zip(lines.numbers, lines.rows, strict=True) if not _INTEGER.fullmatch(row[3])]
    if not_whole:
        warnings.append(Problem("R101", not_whole[0], f"{len(not_whole):,} of {len(lines.rows):,} ranks are not whole numbers"))
    tags = {row[5]: number for number, row in zip(reversed(lines.numbers), reversed(lines.rows), strict=True)}
    if len(tags) > 1:
        warnings.append(Problem("R103", sorted(tags.values())[1], f"{len(tags)} tags, the first is {_show(lines.rows[0][5])}"))
    ranks = None if not_whole else np.array([int(row[3]) for row in lines.rows], np.int64)
    return warnings + order_warnings(run_from_lines(lines, ""), ranks, lines.numbers)


def order_warnings(run: Run, ranks: np.ndarray | None, numbers: Sequence[int]) -> list[Problem]:
    """Where ranks, scores and the order of lines disagree.

    ranks    (n,) int64, the rank column; None where not all are whole numbers
    numbers  the line number of each line of the run
    """
    checks = [("R104", _out_of_order(run), "lines of {} of {} queries are apart or not best first")]
    if ranks is not None:
        checks.append(("R102", _contradictions(run, ranks), "ranks contradict scores in {} of {} queries"))
    return [
        Problem(code, numbers[int(rows.min())], what.format(len(np.unique(run.queries[rows])), len(run.query_ids)))
        for code, rows, what in checks
        if len(rows)
    ]


def _contradictions(run: Run, ranks: np.ndarray) -> np.ndarray:
    """Lines whose score is above that of a better rank of the same query, or that share a rank but not its score."""
    scores = run.scores.astype(np.float32)
    by_rank = np.lexsort((-scores, ranks, run.queries))
    same = np.diff(run.queries[by_rank]) == 0
    rise = np.diff(scores[by_rank])
    shared = (np.diff(ranks[by_rank]) == 0) & (rise != 0)
    return by_rank[1:][same & ((rise > 0) | shared)]


def _out_of_order(run: Run) -> np.ndarray:
    """Lines that follow a worse one of the same query, or come after another query's."""
    latest = np.maximum.accumulate(run.queries)
    same = np.diff(run.queries) == 0
    apart = run.queries[1:] < latest[1:]
    rise = same & (np.diff(run.scores.astype(np.float32)) > 0)
    return np.flatnonzero(apart | rise) + 1


def scan_qrels(data: bytes) -> tuple[Lines, list[Problem]]:
    """The good lines of qrels as four columns (the first of equal judgments) and what is wrong with the others."""
    lines, problems, seen, bad, number, expected = Lines(), [], {}, bad_lines(data), 0, 4
    for number, row in columns(data):
        if row in BEIR_HEADERS and not lines.rows and expected == 4:
            expected, number = 3, 0
            continue
        if len(row) != expected:
            problems.append(Problem("Q001", number, f"expected {expected} columns, found {len(row)}"))
            continue
        row = row if expected == 4 else [row[0], b"0", row[1], row[2]]
        key = tuple(row[:3])
        if not _INTEGER.fullmatch(row[3]):
            problems.append(Problem("Q002", number, f"relevance {_show(row[3])} is not a whole number"))
        elif key in seen:
            problems.append(_second_judgment(number, row, lines, seen[key]))
        elif number not in bad:
            seen[key] = len(lines.rows)
            lines.add(number, row, int(row[3]))
    if not number:
        problems.append(Problem("F002", None, "no judgments in it"))
    return lines, problems


def _second_judgment(number: int, row: list[bytes], lines: Lines, first: int) -> Problem:
    what = f"document {_show(row[2])} of query {_show(row[0])} is judged {_show(row[3])}"
    if lines.values[first] == int(row[3]):
        return Problem("Q101", number, f"{what} again, as on line {lines.numbers[first]}")
    return Problem("Q003", number, f"{what}, but {lines.values[first]} on line {lines.numbers[first]}")


def qrels_from_lines(lines: Lines, source: str) -> Qrels:
    """The qrels of scanned lines."""
    return Qrels.from_columns(lines.column(0), lines.column(2), lines.values, lines.column(1), source=source)
