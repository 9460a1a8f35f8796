"""The exact linter: reads a run or qrels line by line and finds everything that is wrong, with its line."""

import codecs
import itertools
import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.system.files import open_input
from toolkit.core.system.lazy_names import pyarrow
from toolkit.core.tables.columns import Ids, to_arrow
from toolkit.files.runs.problems import FLOAT32_MAX, Problem, Problems, by_line
from toolkit.files.texts.lines import Place, columns, first_lines, is_text, read_bytes, text_problems, without_marks
from toolkit.files.texts.parse import parse_plain, plain_ranks

BEIR_HEADERS = ([b"query-id", b"corpus-id", b"score"], [b"qid", b"pid", b"score"])  # BEIR, InstructIR
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_INTEGER = re.compile(rb"[+-]?\d{1,18}")
NO_RANK = -(2**63)
AT_ONCE = 1 << 16  # lines
BEGINNING = 1 << 18  # bytes
EVERY = re.compile(r"in (\d+) of \1 queries")


class Texts:
    """A column in which texts come again and again: each once, and its number, line by line."""

    def __init__(self):
        self.known: dict[bytes, int] = {}
        self.codes = array("i")

    def add(self, text: bytes) -> int:
        """Append one; its number."""
        code = self.known.setdefault(text, len(self.known))
        self.codes.append(code)
        return code


class Lines:
    """The good lines of a file, parallel, as arrays: some 60 bytes a line, whatever objects would take.

    data      the bytes of the file, without byte order marks
    numbers   from 1, as the file has them; `starts` are their places in `data`
    queries   the first column; `others` the one that is neither query nor document: tags of runs, iterations of qrels
    values    scores as float64, relevance as int64
    ranks     of runs: the fourth column, NO_RANK where that is no whole number
    """

    def __init__(self, data: bytes, values: str):
        self.data = data
        self.numbers, self.starts, self.ranks, self.values = array("q"), array("q"), array("q"), array(values)
        self.queries, self.others = Texts(), Texts()
        self._documents, self._ends, self._keys, self._bad = bytearray(), array("q", [0]), array("q"), set[int]()
        self._kept: np.ndarray | None = None  # positions of lines that are neither repeated nor no text

    def add(self, place: Place, row: Sequence[bytes], value: float, *, rank: int = NO_RANK, is_text: bool = True) -> None:
        """Append a line. row: query, document, the other column, which tells judgments apart and not lines of a run."""
        query_id, doc_id, other = row
        if not is_text:
            self._bad.add(len(self.numbers))
        self.numbers.append(place.number)
        self.starts.append(place.start)
        self.values.append(value)
        self.ranks.append(rank)
        code, second = self.queries.add(query_id), self.others.add(other)
        self._keys.append(hash((code, second if self.values.typecode == "q" else None, doc_id)))
        self._documents += doc_id
        self._ends.append(len(self._documents))

    def drop_repeats(self) -> list[tuple[int, int]]:
        """(position, position of the first one) of lines about what another is about; only once, after all were added.

        They do not belong to the lines then, nor do those that are no text, of which none is the first one.
        """
        order = np.argsort(np.asarray(self._keys), kind="stable")
        keys = np.asarray(self._keys)[order]
        same = keys[1:] == keys[:-1]
        alike = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
        repeated, firsts, last = [], {}, None
        # lines of one key stand together, in the order of the file; texts that differ may have the same one
        for key, position in zip(keys[alike].tolist(), order[alike].tolist(), strict=True):
            firsts, last = (firsts if key == last else {}), key
            if (first := firsts.get(self._about(position))) is not None:
                repeated.append((position, first))
            elif position not in self._bad:
                firsts[self._about(position)] = position
        keep = np.ones(len(keys), bool)
        keep[[*(position for position, _ in repeated), *self._bad]] = False
        self._kept, self._keys = np.flatnonzero(keep), array("q")
        return sorted(repeated)

    def _about(self, position: int) -> tuple[object, ...]:
        second = self.others.codes[position] if self.values.typecode == "q" else None
        return self.queries.codes[position], second, bytes(self._documents[self._ends[position] : self._ends[position + 1]])

    def __len__(self) -> int:
        return len(self._kept)

    def row(self, position: int) -> list[bytes]:
        """The columns of a line as the file has them."""
        start = self.starts[position]
        end = self.data.find(b"\n", start)
        return self.data[start : end if end >= 0 else len(self.data)].split()

    def rows(self, order: np.ndarray | None = None) -> Iterator[list[bytes]]:
        """The columns of all good lines, in the order of the file or in another one of them."""
        positions = self._kept if order is None else self._kept[order]
        for start in range(0, len(positions), AT_ONCE):
            yield from map(self.row, positions[start : start + AT_ONCE].tolist())

    def best_first(self) -> np.ndarray:
        """Positions among the good lines of a run, sorted by query, then by score; equal ones keep the order of the file."""
        queries, query_ids = self.texts(self.queries)
        # of which the documents do not count
        return Run(tuple(query_ids), queries, Ids(to_arrow([])), self.kept(self.values)).order("file")

    def kept(self, column: array) -> np.ndarray:
        """A column of the good lines."""
        return np.asarray(column) if len(self) == len(column) else np.asarray(column)[self._kept]

    def texts(self, column: Texts) -> tuple[np.ndarray, list[str]]:
        """(n,) int32 codes and the texts that they mean, in order of first appearance among the good lines."""
        used, first, codes = np.unique(self.kept(column.codes), return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        names = list(column.known)
        return place[codes], [names[used[number]].decode() for number in order]

    def documents(self) -> Ids:
        """The document ids of the good lines."""
        ends, data = pyarrow.py_buffer(self._ends), pyarrow.py_buffer(self._documents)
        texts = pyarrow.LargeStringArray.from_buffers(len(self._ends) - 1, ends, data)
        return Ids.of(texts if len(self) == len(texts) else texts.take(to_arrow(self._kept)))


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
    return by_line(order_warnings(run.queries, run.scores, ranks, range(1, len(run) + 1)))


def always_contradicted(path: str | Path) -> bool:
    """Whether ranks contradict scores in every query of a TREC run; only its beginning is read where the first has no such."""
    with open_input(path) as file:
        lines = list(first_lines(file.read(BEGINNING) + file.readline(BEGINNING)))
    of_first = itertools.takewhile(lambda line: line.split(None, 1)[0] == lines[0].split(None, 1)[0], lines)
    looks = (lambda: lint_run_bytes(b"\n".join(of_first)), lambda: lint_run(path))
    return all(any(problem.code == "R102" and EVERY.search(problem.message) for problem in look()) for look in looks)


def lint_qrels(path: str | Path) -> list[Problem]:
    """All problems of a qrels file (TREC or BEIR's TSV), in the order of lines; ToolkitError where it cannot be read at all."""
    return examine_qrels(read_bytes(path))[1]


def examine_run(data: bytes) -> tuple[Lines, list[Problem]]:
    """The good lines of a run and all problems of the others and of the whole."""
    lines, problems = scan_run(data)
    problems += text_problems(data)
    if not len(lines):
        return lines, by_line(problems)
    # warnings of lines that are right one by one: ranks, tags, order
    numbers, ranks = lines.kept(lines.numbers), lines.kept(lines.ranks)
    not_whole = numbers[ranks == NO_RANK]
    if len(not_whole):
        problems.append(Problem("R101", int(not_whole[0]), f"{len(not_whole):,} of {len(lines):,} ranks are not whole numbers"))
    codes, tags = lines.texts(lines.others)
    if len(tags) > 1:
        second = int(numbers[np.flatnonzero(codes == 1)[0]])
        problems.append(Problem("R103", second, f"{len(tags)} tags, the first is {tags[0]}"))
    queries, _ = lines.texts(lines.queries)
    problems += order_warnings(queries, lines.kept(lines.values), None if len(not_whole) else ranks, numbers)
    return lines, by_line(problems)


def examine_qrels(data: bytes) -> tuple[Lines, list[Problem]]:
    """The good lines of qrels and all problems of the others and of the whole."""
    lines, problems = scan_qrels(data)
    return lines, by_line(problems + text_problems(data))


def scan_run(data: bytes) -> tuple[Lines, list[Problem]]:
    """The good lines of a run (the first of equal ones) and what is wrong with others; `text_problems` does encoding."""
    data = without_marks(data)
    lines, problems, is_plain = Lines(data, "d"), Problems(), data.isascii() and b"\0" not in data
    for place, row in columns(data):
        if len(row) != 6:
            problems.add("R001", place.number, f"expected 6 columns, found {len(row)}")
        elif code := _bad_score(row[4]):
            finite = "finite " if code == "R003" else ""
            problems.add(code, place.number, f"score {_show(row[4])} is not a {finite}number")
        else:
            rank = int(row[3]) if _INTEGER.fullmatch(row[3]) else NO_RANK
            lines.add(place, (row[0], row[2], row[5]), float(row[4]), rank=rank, is_text=is_plain or is_text(place.line))
    if not lines.numbers and not problems:
        problems.add("F002", None, "no run lines in it")
    for position, first in lines.drop_repeats():
        number, of_first, row = lines.numbers[position], lines.numbers[first], lines.row(position)
        if lines.row(first) == row:
            problems.add("R005", number, f"the same line as line {of_first}")
        else:
            problems.add("R004", number, f"document {_show(row[2])} of query {_show(row[0])} again, first on line {of_first}")
    return lines, problems.all()


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
    (queries, query_ids), (tags, names) = lines.texts(lines.queries), lines.texts(lines.others)
    tag = names[tags[0]] if len(lines) else ""
    return Run(tuple(query_ids), queries, lines.documents(), lines.kept(lines.values), tag=tag, source=source)


def order_warnings(queries: np.ndarray, scores: np.ndarray, ranks: np.ndarray | None, numbers: Sequence[int]) -> list[Problem]:
    """Where ranks, scores and the order of lines disagree; all are (n,), line by line.

    queries  int32 codes, in order of first appearance
    ranks    int64, the rank column; None where not all are whole numbers
    numbers  of the lines
    """
    scores, count = scores.astype(np.float32), int(queries.max()) + 1
    # lines that follow a worse one of the same query, or come after another query's
    apart = queries[1:] < np.maximum.accumulate(queries)[1:]
    rise = (np.diff(queries) == 0) & (np.diff(scores) > 0)
    checks = [("R104", np.flatnonzero(apart | rise) + 1, "lines of {} of {} queries are apart or not best first")]
    if ranks is not None:
        # lines whose score is above that of a better rank of the same query, or that share a rank but not its score
        by_rank = np.lexsort((-scores, ranks, queries))
        same_query, gain = np.diff(queries[by_rank]) == 0, np.diff(scores[by_rank])
        shared = (np.diff(ranks[by_rank]) == 0) & (gain != 0)
        checks.append(("R102", by_rank[1:][same_query & ((gain > 0) | shared)], "ranks contradict scores in {} of {} queries"))
    return [
        Problem(code, int(numbers[int(rows.min())]), what.format(len(np.unique(queries[rows])), count))
        for code, rows, what in checks
        if len(rows)
    ]


def scan_qrels(data: bytes) -> tuple[Lines, list[Problem]]:
    """The good lines of qrels (the first of equal judgments) and what is wrong with the others."""
    data = without_marks(data)
    lines, problems, is_plain, expected = Lines(data, "q"), Problems(), data.isascii() and b"\0" not in data, 4
    for place, row in columns(data):
        if row in BEIR_HEADERS and not lines.numbers and expected == 4:
            expected = 3
            continue
        if len(row) != expected:
            problems.add("Q001", place.number, f"expected {expected} columns, found {len(row)}")
            continue
        query_id, iteration, doc_id, relevance = judgment(row)
        if not _INTEGER.fullmatch(relevance):
            problems.add("Q002", place.number, f"relevance {_show(relevance)} is not a whole number")
        else:
            lines.add(place, (query_id, doc_id, iteration), int(relevance), is_text=is_plain or is_text(place.line))
    if not lines.numbers and not problems:
        problems.add("F002", None, "no judgments in it")
    for position, first in lines.drop_repeats():
        query_id, _, doc_id, relevance = judgment(lines.row(position))
        what = f"document {_show(doc_id)} of query {_show(query_id)} is judged {_show(relevance)}"
        of_first = lines.numbers[first]
        if lines.values[first] == lines.values[position]:
            problems.add("Q101", lines.numbers[position], f"{what} again, as on line {of_first}")
        else:
            problems.add("Q003", lines.numbers[position], f"{what}, but {lines.values[first]} on line {of_first}")
    return lines, problems.all()


def judgment(row: list[bytes]) -> list[bytes]:
    """Query, iteration, document and relevance of a line in four columns, or three of BEIR's."""
    return row if len(row) == 4 else [row[0], b"0", *row[1:]]


def qrels_from_lines(lines: Lines, source: str) -> Qrels:
    """The qrels of scanned lines."""
    (queries, query_ids), (iterations, names) = lines.texts(lines.queries), lines.texts(lines.others)
    documents, relevance = lines.documents(), lines.kept(lines.values)
    return Qrels(tuple(query_ids), queries, documents.distinct, documents.codes, relevance, tuple(names), iterations, source)
