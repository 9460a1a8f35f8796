"""Ids of documents that others have pickled as a list (`meta.pkl` of distributed-faiss): read, and nothing is ever executed.

A pickle is a program for a small machine that can import and call anything. Here its instructions are read one by one
(`pickletools`), and those that make lists, tuples, texts and numbers are followed; any other ends the reading. An entry's id is
passed on as soon as the entry is there: a file of 28 million entries takes no more memory than one of a thousand.
"""

import pickletools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError

DEEPEST = 1 << 16  # values that wait for their list: pickles are written in batches of 1,000
LONGEST = 1 << 20  # bytes of an instruction's argument: ids are short
HINT = "ids are read from a pickled list of texts, whole numbers, or tuples with one of these; nothing else is read"
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
VALUES = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE", "BININT", "BININT1", "BININT2", "LONG1", "INT", "LONG")
REMEMBER, RECALL = ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"), ("BINGET", "LONG_BINGET", "GET")
MARK = object()


class Refused(Exception):
    """Something that is no list of ids."""


def pickled_ids(path: Path, column: int = 0) -> Iterator[str]:
    """The ids of a pickled list, in its order.

    column  where the id stands in an entry that is a tuple or a list (`custom_meta_id_idx` of distributed-faiss)

    Raises ToolkitError, with the byte, at anything but lists, tuples, texts and numbers, at an entry without an id, and where
    the file breaks off.
    """
    machine = _Machine({str(argument) for name, argument, _ in _instructions(path) if name in RECALL}, column)
    for name, argument, position in _instructions(path):
        try:
            yield from machine.follow(name, argument)
        except (Refused, IndexError) as error:
            why = str(error) if isinstance(error, Refused) else "a damaged pickle"
            raise ToolkitError(f"{path}, byte {position:,}: {why}", HINT) from error
    if machine.stack != [machine.ids]:
        raise ToolkitError(f"{path}: it leaves something else than one list", HINT)


def _instructions(path: Path) -> Iterator[tuple[str, Any, int]]:
    """Name, argument and position of each instruction. ToolkitError where the file is no pickle or breaks off."""
    with path.open("rb") as file:
        try:
            for code, argument, position in pickletools.genops(_Bounded(file)):
                yield code.name, argument, position or 0
        except (ValueError, UnicodeDecodeError, OverflowError) as error:
            why = f"no pickle, or a damaged one ({' '.join(str(error).split())[:80]})"
            raise ToolkitError(f"{path}, byte {file.tell():,}: {why}", HINT) from error


class _Bounded:
    """A file of which no more is read at once than an id may have: lengths stand in the pickle, and are not trusted."""

    def __init__(self, file: Any):
        self.readline, self.tell, self._read = (lambda: file.readline(LONGEST)), file.tell, file.read

    def read(self, size: int) -> bytes:
        if size > LONGEST:
            raise ValueError(f"a value of {size:,} bytes")
        return self._read(size)


class _Machine:
    """What has been made so far.

    recalled  the places of memory that the file comes back to: only these are remembered
    """

    def __init__(self, recalled: set[str], column: int):
        self.column, self.recalled = column, recalled
        self.stack: list[Any] = []
        self.memory: dict[str, Any] = {}
        self.remembered = 0
        self.ids: list[str] = []  # stands for the list of all; it stays empty

    def follow(self, name: str, argument: Any) -> Iterator[str]:
        """One instruction, and the ids of entries that it completes."""
        if len(self.stack) > DEEPEST:
            raise Refused("too many values wait for their list")
        if name in VALUES:
            self.stack.append(argument)
        elif name in ("BINFLOAT", "FLOAT") or name in CONSTANTS:
            self.stack.append(CONSTANTS.get(name, argument))
        elif name in ("APPEND", "APPENDS"):
            entries = [self.stack.pop()] if name == "APPEND" else self._marked()
            target = self.stack[-1]
            if target is self.ids:
                yield from map(self._id_of, entries)
            elif type(target) is list:
                target.extend(entries)
            else:
                raise Refused("entries without their list")
        elif name in REMEMBER:
            place = str(self.remembered if name == "MEMOIZE" else argument)
            self.remembered += 1
            if place in self.recalled:
                self.memory[place] = self.stack[-1]
        elif name in RECALL:
            place = str(argument)
            if place not in self.memory:
                raise Refused("a value that is not there")
            if self.memory[place] is self.ids:
                raise Refused("the list is in itself")
            self.stack.append(self.memory[place])
        elif name in OTHERS:
            OTHERS[name](self)
        else:
            raise Refused(f"the instruction {name} makes something else than ids")

    def _id_of(self, entry: Any) -> str:
        value = entry
        if type(entry) in (tuple, list):
            if not 0 <= self.column < len(entry):
                raise Refused(f"an entry has no value {self.column}")
            value = entry[self.column]
        if type(value) not in (str, int):
            raise Refused(f"{str(value)[:40]!r} is no id")
        if not str(value) or "\n" in str(value) or "\r" in str(value):
            raise Refused(f"an id of no or several lines: {str(value)[:40]!r}")
        return str(value)

    def _marked(self) -> list[Any]:
        """All since the last mark."""
        place = next((at for at in range(len(self.stack) - 1, -1, -1) if self.stack[at] is MARK), None)
        if place is None:
            raise Refused("a damaged pickle")
        values = self.stack[place + 1 :]
        del self.stack[place:]
        return values

    def list(self) -> None:
        """The list of all, or one of its entries."""
        self.stack.append([] if self.stack else self.ids)

    def old_list(self) -> None:
        """Protocol 0 begins a list with a mark; its entries are appended."""
        if self._marked():
            raise Refused("a list that is not written entry by entry")
        self.list()

    def tuple(self, length: int | None = None) -> None:
        """Of the last values, or of those since the mark."""
        if length is None:
            values = self._marked()
        else:
            values = self.stack[len(self.stack) - length :]
            if len(values) < length:
                raise Refused("a damaged pickle")
            del self.stack[len(self.stack) - length :]
        self.stack.append(tuple(values))


OTHERS: dict[str, Callable[[_Machine], None]] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda machine: None),
    "MARK": lambda machine: machine.stack.append(MARK),
    "EMPTY_LIST": _Machine.list,
    "LIST": _Machine.old_list,
    "EMPTY_TUPLE": lambda machine: machine.tuple(0),
    "TUPLE1": lambda machine: machine.tuple(1),
    "TUPLE2": lambda machine: machine.tuple(2),
    "TUPLE3": lambda machine: machine.tuple(3),
    "TUPLE": _Machine.tuple,
}
