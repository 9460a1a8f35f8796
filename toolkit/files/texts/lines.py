"""Bytes of a text file, whole or refused, the lines and columns in them, and ids."""

import codecs
import io
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import open_input
from toolkit.core.system.lazy_names import compute, pyarrow
from toolkit.core.system.yaml_json import Malformed, decode_json
from toolkit.core.tables.columns import to_arrow
from toolkit.files.runs.problems import Problem, Problems, refuse

Row = TypeVar("Row")
CHUNK = 1 << 20  # bytes
_MARKS = re.compile(rb"^[^\S\n]*(\xef\xbb\xbf[^\S\n]*)+", re.MULTILINE)
_SPARE = re.compile(rb"[^\S\n]{2}|^[^\S\n]|[^\S\n]$|^$", re.MULTILINE)
# An id may begin with #: a comment is a line that does, and has not the columns of a run, of qrels, or of BEIR's and Tevatron's
# tables. Its first word may be # alone, which is no id.
_GAP, _VALUE = rb"[^\S\n]+", rb"(?:[+-]?(?:\.?\d|(?i:nan|inf))\S*|\?)"
_RUN = rb"\S+(?:%(gap)sQ0(?:%(gap)s\S+){4}|(?:%(gap)s\S+){3}%(gap)s%(value)s%(gap)s\S+)" % {b"gap": _GAP, b"value": _VALUE}
_OTHERS = rb"\S+(?:%(gap)s\S+){2}%(gap)s%(value)s|\S+\t\S+\t%(value)s" % {b"gap": _GAP, b"value": _VALUE}
_COMMENT = rb"#(?!(?:%s|%s)[^\S\n]*$)" % (_RUN, _OTHERS)
COMMENT = re.compile(rb"^[^\S\n]*" + _COMMENT + rb".*", re.MULTILINE)
_LAYOUT = (  # of lines that are no comments
    ("F102", re.compile(rb"^(?!%s).*\r$" % _COMMENT, re.MULTILINE), "end with CR LF"),
    (
        "F103",
        re.compile(rb"^(?!%s)(?:[^\S\n]|.*[^\S\n]{2}|.*[^\S\r\n]\r?$|$)" % _COMMENT, re.MULTILINE),
        "are blank or have extra white space",
    ),
)
# RE2's \s knows no vertical tab
_WHITE = r"^$|[\t\n\v\f\r \x00]"


def source_name(path: str | Path) -> str:
    """What to call a file in a message."""
    return "standard input" if str(path) == "-" else str(path)


def read_bytes(path: str | Path, most: int | None = None) -> bytes:
    """All bytes of a file, decompressed by its name.

    Raises ToolkitError where it is missing, its compressed data breaks off, or it has more bytes than `most`.
    """
    with open_input(path) as file:
        packed = Path(path).suffix in (".gz", ".zst")
        data = _unpack(file, path, most) if packed else file.read(-1 if most is None else most + 1)
    if most is not None and len(data) > most:
        message = f"{source_name(path)} unpacks to more than {most >> 20} MiB"
        raise ToolkitError(message, "larger than any run in this form: write it as a TREC run")
    return data


def first_lines(data: bytes) -> Iterator[bytes]:
    """The lines that are neither blank nor comments, one by one: whoever looks at the first does not split the file."""
    lines = io.BytesIO(data)
    lines.seek(3 * data.startswith(codecs.BOM_UTF8))
    yield from (line for line in map(bytes.strip, lines) if line and not is_comment(line))


def text_lines(data: bytes, source: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line that is not blank.

    A line feed alone ends a line: U+2028 and its like belong to the text. ToolkitError where a line is no UTF-8.
    """
    data = without_marks(data)
    refuse(source, [Problem("F001", number, "not UTF-8 text") for number in sorted(bad_lines(data))])
    yield from ((number, line) for number, line in enumerate(data.decode().split("\n"), 1) if line.strip())


def json_rows(lines: Iterable[tuple[int, str]], read: Callable[[Any], Row], problems: list[str]) -> Iterator[Row]:
    """What `read` makes of the JSON value of each line; what is no JSON, or of which it raises ValueError, is a problem."""
    for number, line in lines:
        try:
            row = read(decode_json(line))
        except ValueError as error:
            what = "not JSON: " if isinstance(error, Malformed) else ""
            problems.append(f"line {number}: {what}{error}")
        else:
            yield row


def _unpack(file: BinaryIO, path: str | Path, most: int | None) -> bytes:
    whole, lines, left = io.BytesIO(), 1, math.inf if most is None else most  # what joins a list of parts has them twice
    try:
        # read1 hands out what is there before it fails: the line of the break is exact
        while left >= 0 and (chunk := file.read1(CHUNK)):
            whole.write(chunk)
            left -= len(chunk)
            lines += chunk.count(b"\n")
    except (EOFError, zlib.error, OSError) as error:
        if getattr(error, "errno", None):  # the disk, not the data
            raise
        message = f"{path}, line {lines}: the compressed data is damaged or breaks off here"
        raise ToolkitError(message, "make or fetch the file again") from error
    return whole.getvalue()


def is_text(line: bytes) -> bool:
    """Whether these bytes are UTF-8 and hold no NUL."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in line


def bad_lines(data: bytes) -> set[int]:
    """Numbers of the lines that are no text."""
    if data.isascii() and b"\0" not in data:
        return set()
    return {number for number, line in enumerate(io.BytesIO(data), 1) if not is_text(line)}


class Place(NamedTuple):
    """A line: its number (from 1), where it starts in the data, and its bytes."""

    number: int
    start: int
    line: bytes


def columns(data: bytes) -> Iterator[tuple[Place, list[bytes]]]:
    """Place and columns of each line that is neither blank nor a comment, of data without byte order marks.

    Columns are divided by ASCII white space alone, as in C: a no-break space belongs to an id.
    """
    start = 0
    for number, line in enumerate(io.BytesIO(data), 1):
        fields = line.split()
        if fields and not is_comment(line):
            yield Place(number, start, line), fields
        start += len(line)


def is_comment(line: bytes) -> bool:
    """Whether a line is a comment."""
    return b"#" in line and COMMENT.match(line) is not None


def comments(data: bytes) -> Iterator[bytes]:
    """The comment lines, without their line ends."""
    return (line.strip() for line in io.BytesIO(without_marks(data)) if is_comment(line))


def without_marks(data: bytes) -> bytes:
    """The bytes without byte order marks: one may begin a file, and any line where such files were joined by `cat`."""
    return _MARKS.sub(b"", data) if codecs.BOM_UTF8 in data else data


def text_problems(data: bytes) -> list[Problem]:
    """Lines that are no text (F001; comments may hold anything), and warnings of the layout of the file (F101 to F103)."""
    problems, plain = Problems(), without_marks(data)
    if not plain.isascii() or b"\0" in plain:
        for number, line in enumerate(io.BytesIO(plain), 1):
            if not is_text(line) and not is_comment(line):
                problems.add("F001", number, "not UTF-8 text")
    if codecs.BOM_UTF8 in data and (mark := _MARKS.search(data)):
        number = data.count(b"\n", 0, mark.start()) + 1
        problems.add("F101", number, "byte order mark at the start of the line")
    end = len(plain) - plain.endswith(b"\n")
    for code, pattern, what in _LAYOUT if data and _SPARE.search(plain, 0, end) else ():
        if first := pattern.search(plain, 0, end):
            found, count = sum(1 for _ in pattern.finditer(plain, 0, end)), plain.count(b"\n", 0, end) + 1
            problems.add(code, plain.count(b"\n", 0, first.start()) + 1, f"{found:,} of {count:,} lines {what}")
    return problems.all()


def check_ids(name: str, ids: Iterable[str]) -> None:
    """Raise ToolkitError for an id that is empty or holds white space, and for a query id that seems to start a comment."""
    ids = ids if isinstance(ids, pyarrow.Array) else to_arrow(ids)
    bad = ids.filter(compute.match_substring_regex(ids, _WHITE + ("|^[#\ufeff]" if name == "query_id" else "")))
    if len(bad):
        hint = "ids and tags are not empty and hold no white space; query ids do not begin with #"
        raise ToolkitError(f"{name} {bad[0].as_py()!r} cannot stand in a TREC file", hint)
