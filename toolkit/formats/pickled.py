"""Runs that others have pickled, `{query_id: {doc_id: score}}`, read without `pickle`: nothing in such a file is ever executed.

A pickle is a program for a small machine that can import and call anything. The machine here has no such instructions: it
knows dictionaries, texts, whole numbers and floats, and refuses a file at the first instruction for something else.
"""

from __future__ import annotations

import itertools
import pickle
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_input
from toolkit.core.runs import Run
from toolkit.formats.lines import source_name

SUFFIXES = (".pickle", ".pkl")
MOST = 1 << 28  # bytes, decompressed: 10,000 queries with 1,000 documents each have 140 to 210 million
DEEPEST = 1 << 14  # values that wait for their dictionary: pickles are written in batches of 2,000
PROTOCOLS = range(2, 6)
STOP, BINFLOAT, LONG_BINGET, BINGET, SHORT_BINUNICODE, MEMOIZE = (
    code[0]
    for code in (pickle.STOP, pickle.BINFLOAT, pickle.LONG_BINGET, pickle.BINGET, pickle.SHORT_BINUNICODE, pickle.MEMOIZE)
)
DOUBLE = struct.Struct(">d")
HINT = "a pickled run is {query_id: {doc_id: score}}, of dict, str, int and float alone; nothing else is read"


class _Refused(Exception):
    """Why a file is not read."""


def is_pickled(path: str | Path, start: bytes) -> bool:
    """Whether a file is a pickle, by its name or its first bytes (decompressed)."""
    marked = start[:1] == pickle.PROTO and start[1:2] and start[1] in PROTOCOLS
    name = Path(path).name.removesuffix(".gz").removesuffix(".zst")
    return bool(marked) or name.endswith(SUFFIXES) or start.startswith((b"(dp", b"}q"))


def read_pickled(path: str | Path) -> Run:
    """A run from a pickle of any protocol; .gz, .zst, `-`.

    Raises ToolkitError, with the byte, at anything but dict, str, int and float; where the file is no mapping of query to
    document to score, names a key twice or one dictionary in two places, breaks off, or holds more than 256 MiB.
    """
    source = source_name(path)
    machine = _Machine(_read(path, source))
    try:
        content = machine.run()
        columns = _columns(content)
    except _Refused as error:
        raise ToolkitError(f"{source}, byte {machine.at:,}: {error}", HINT) from error
    return Run.from_columns(*columns, source=source)


def _read(path: str | Path, source: str) -> bytes:
    try:
        with open_input(path) as file:
            data = file.read(MOST + 1)
    except (EOFError, zlib.error, OSError) as error:
        if getattr(error, "errno", None):  # the disk, not the data
            raise
        raise ToolkitError(f"{source}: the compressed data is damaged or breaks off", "make or fetch the file again") from error
    if len(data) > MOST:
        raise ToolkitError(f"{source} unpacks to more than {MOST >> 20} MiB", "no run that anyone pickled is as large")
    return data


def _columns(content: Any) -> tuple[list[str], list[str], list[float]]:
    """Query ids, document ids and scores, line by line."""
    if type(content) is not dict or not all(type(documents) is dict for documents in content.values()):
        raise _Refused("the file is no mapping of queries to their documents")
    if len({id(documents) for documents in content.values()}) < len(content):
        raise _Refused("two queries share one dictionary")
    scores = list(itertools.chain.from_iterable(documents.values() for documents in content.values()))
    if any(type(score) is dict for score in scores):
        raise _Refused("a document has a dictionary in place of its score")
    query_ids = itertools.chain.from_iterable(itertools.repeat(name, len(content[name])) for name in content)
    doc_ids = list(itertools.chain.from_iterable(content.values()))
    try:
        return list(query_ids), doc_ids, [float(score) for score in scores]
    except OverflowError:
        raise _Refused("a score is larger than any float") from None


class _Machine:
    """The instructions of a pickle that make dict, str, int and float.

    Every value costs at least a byte of the file, no instruction reserves memory that a number in the file names, and
    nothing is nested while it is read: the stack holds what waits for its dictionary.
    """

    def __init__(self, data: bytes):
        self.data, self.at = data, 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        """The value that the program leaves; `_Refused` for what it may not do."""
        try:
            while (code := self._common()) != STOP:
                operation = OPERATIONS.get(code)
                if operation is None:
                    raise _Refused(f"instruction {bytes([code])!r} makes something else than dict, str, int or float")
                operation(self)
                if max(len(self.stack), len(self.marks)) > DEEPEST:
                    raise _Refused("too many values wait for their dictionary")
        except (IndexError, KeyError, ValueError, struct.error) as error:
            raise _Refused(f"no pickle, or a damaged one ({type(error).__name__})") from error
        if len(self.stack) != 1 or self.marks or self.at != len(self.data):
            raise _Refused("a pickled run is one dictionary, and nothing stands behind it")
        return self.stack[0]

    def _common(self) -> int:
        """Follow the instructions of which nearly all of a run consists, in one loop; the first other one."""
        data, at, stack, memo = self.data, self.at, self.stack, self.memo
        for _ in range(DEEPEST):
            self.at = at
            code = data[at]
            if code == BINFLOAT:
                stack.append(DOUBLE.unpack_from(data, at + 1)[0])
                at += 9
            elif code == LONG_BINGET:
                stack.append(memo[int.from_bytes(data[at + 1 : at + 5], "little")])
                at += 5
            elif code == BINGET:
                stack.append(memo[data[at + 1]])
                at += 2
            elif code == SHORT_BINUNICODE:
                end = at + 2 + data[at + 1]
                stack.append(data[at + 2 : end].decode())
                at = end
            elif code == MEMOIZE and stack[-1] is not memo.get(len(memo) - 1):  # one value again and again fills the memory
                memo[len(memo)] = stack[-1]
                at += 1
            else:
                break
        else:
            raise _Refused("too many values wait for their dictionary")
        self.at = at + 1
        return code

    def take(self, length: int) -> bytes:
        """The next bytes."""
        found = self.data[self.at : self.at + length]
        if len(found) < length:
            raise _Refused("the file breaks off")
        self.at += length
        return found

    def line(self) -> bytes:
        """The next bytes up to a line feed."""
        end = self.data.index(b"\n", self.at)
        found = self.data[self.at : end]
        self.at = end + 1
        return found

    def number(self, length: int) -> int:
        """The next bytes as a whole number without sign."""
        return int.from_bytes(self.take(length), "little")

    def set_items(self, start: int) -> None:
        """Put the stack's keys and values from `start` on into the dictionary below them."""
        items = self.stack[start:]
        target = self.stack[start - 1] if start else None
        if type(target) is not dict or len(items) % 2:
            raise _Refused("keys and values without their dictionary")
        del self.stack[start:]
        keys, values = items[::2], items[1::2]
        if any(type(key) is not str for key in keys):
            raise _Refused("an id is no text")
        before = len(target)
        target.update(zip(keys, values, strict=True))
        if len(target) < before + len(keys):
            raise _Refused("an id comes twice")

    def dictionary(self) -> None:
        """Protocol 0: all since the mark as a dictionary."""
        start = self.marks.pop()
        self.stack.insert(start, {})
        self.set_items(start + 1)

    def integer(self) -> None:
        """Protocol 0's integers, which write truth as 00 and 01."""
        text = self.line()
        if text in (b"00", b"01"):
            raise _Refused("a score is true or false")
        self.stack.append(int(text.removesuffix(b"L")))

    def protocol(self) -> None:
        """Protocols from 2 on say which they are."""
        if (number := self.number(1)) not in PROTOCOLS:
            raise _Refused(f"nobody knows protocol {number}")


def _push(read: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(read(machine))


def _text(length: int) -> Callable[[_Machine], None]:
    return _push(lambda machine: machine.take(machine.number(length)).decode())


def _remember(index: Callable[[_Machine], int]) -> Callable[[_Machine], None]:
    def remember(machine: _Machine) -> None:
        machine.memo[index(machine)] = machine.stack[-1]

    return remember


OPERATIONS: dict[int, Callable[[_Machine], None]] = {
    code[0]: operation
    for code, operation in (
        (pickle.PROTO, _Machine.protocol),
        (pickle.FRAME, lambda machine: machine.take(8)),
        (pickle.MARK, lambda machine: machine.marks.append(len(machine.stack))),
        (pickle.EMPTY_DICT, _push(lambda machine: {})),
        (pickle.DICT, _Machine.dictionary),
        (pickle.SETITEM, lambda machine: machine.set_items(len(machine.stack) - 2)),
        (pickle.SETITEMS, lambda machine: machine.set_items(machine.marks.pop())),
        (pickle.BINUNICODE, _text(4)),
        (pickle.BINUNICODE8, _text(8)),
        (pickle.UNICODE, _push(lambda machine: machine.line().decode("raw-unicode-escape"))),
        (pickle.BININT, _push(lambda machine: int.from_bytes(machine.take(4), "little", signed=True))),
        (pickle.BININT1, _push(lambda machine: machine.number(1))),
        (pickle.BININT2, _push(lambda machine: machine.number(2))),
        (pickle.LONG1, _push(lambda machine: int.from_bytes(machine.take(machine.number(1)), "little", signed=True))),
        (pickle.INT, _Machine.integer),
        (pickle.LONG, _Machine.integer),
        (pickle.FLOAT, _push(lambda machine: float(machine.line()))),
        (pickle.BINPUT, _remember(lambda machine: machine.number(1))),
        (pickle.LONG_BINPUT, _remember(lambda machine: machine.number(4))),
        (pickle.PUT, _remember(lambda machine: int(machine.line()))),
        (pickle.GET, _push(lambda machine: machine.memo[int(machine.line())])),
    )
}
