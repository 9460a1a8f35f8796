"""Runs that others have pickled, `{query_id: {doc_id: score}}` or `{query_id: [doc_id]}`: nothing in a file is ever executed.

A pickle is a program for a small machine that can import and call anything. Here the machine has the instructions that make
dictionaries, lists, texts (NumPy's too), whole numbers and floats, and no others.
"""

import io
import itertools
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.files.runs.problems import checked

SUFFIXES = (".pickle", ".pkl")
MOST = 1 << 28  # bytes, decompressed: 10,000 queries with 1,000 documents each have 140 to 210 million
DEEPEST = 1 << 14  # values that wait for their dictionary: pickles are written in batches of 2,000
WAITING = "too many values wait for their dictionary"
OTHER = "something else than dict, list, str, int or float"
HINT = (
    "a pickled run is {query_id: {doc_id: score}} or {query_id: [doc_id]}, of dict, list, str, int and float; no more is read"
)
TEXTS, TEXT = "the kind of a text of NumPy's", "a text of NumPy's"  # in the place of what a file would import
NAMED = {
    ("numpy", "dtype"): TEXTS,
    **dict.fromkeys(((f"numpy.{name}.multiarray", "scalar") for name in ("core", "_core")), TEXT),
}
ALLOWED = (
    *(pickle.PROTO, pickle.STOP, pickle.SHORT_BINUNICODE, pickle.BINUNICODE, pickle.BINUNICODE8, pickle.UNICODE),
    *(pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG1, pickle.INT, pickle.LONG, pickle.BINFLOAT, pickle.FLOAT),
    *(pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE, pickle.TUPLE, pickle.TUPLE2, pickle.TUPLE3),  # of NumPy's texts
    *(pickle.SHORT_BINBYTES, pickle.BINBYTES),
    *(pickle.BINPUT, pickle.LONG_BINPUT, pickle.PUT, pickle.BINGET, pickle.LONG_BINGET, pickle.GET),
    *(pickle.GLOBAL, pickle.STACK_GLOBAL, pickle.PERSID, pickle.BINPERSID),  # which `find_class` and its twin refuse
)
_DAMAGE = (
    *(pickle.UnpicklingError, struct.error, EOFError, AttributeError),
    *(IndexError, KeyError, OverflowError, TypeError, ValueError),
)


def is_pickled(data: bytes, source: str) -> bool:
    """Whether a file is a pickle, by its first bytes (decompressed) or its name."""
    marked = data[:1] == pickle.PROTO and data[1:2] and 2 <= data[1] <= pickle.HIGHEST_PROTOCOL
    name = Path(source).name.removesuffix(".gz").removesuffix(".zst")
    return bool(marked) or name.endswith(SUFFIXES) or data.startswith((b"(dp", b"}q"))


def parse_pickled(data: bytes, source: str) -> Run:
    """A run from a pickle of any protocol; `source` is its name in messages.

    The document at rank r of a list has score 1 / r. Raises ToolkitError, with the byte, at anything but dict, list, str, int
    and float; where the file is no mapping of query to document to score, or to documents, names a key twice or one dictionary
    in two places, or breaks off. `read_run` refuses more than 256 MiB.
    """
    return checked(_read(data, source, HINT, lambda content: Run.from_columns(*_columns(content), source=source)))


def load_pickled(path: Path, hint: str) -> Any:
    """What another pickle of dict, list, str, int and float holds (BIRCO's test sets), of 256 MiB at most.

    Raises ToolkitError, with the byte and this hint, at anything else.
    """
    if path.stat().st_size > MOST:
        raise ToolkitError(f"{path} has more than {MOST >> 20} MiB", hint)
    return _read(path.read_bytes(), str(path), hint, lambda content: content)


def _read(data: bytes, source: str, hint: str, made_of: Callable[[Any], Any]) -> Any:
    file = io.BytesIO(data)
    try:
        return made_of(_Unpickler(file).load())
    except _DAMAGE as error:
        why = str(error) if type(error) is pickle.UnpicklingError else f"no pickle, or a damaged one ({type(error).__name__})"
        raise ToolkitError(f"{source}, byte {file.tell():,}: {why}", hint) from error


def _columns(content: Any) -> tuple[list[str], list[str], list[float]]:
    """Query ids, document ids and scores, line by line."""
    kinds = {*map(type, content.values())} if type(content) is dict else {None}
    if len(kinds) > 1 or not kinds <= {dict, list}:
        raise pickle.UnpicklingError("the file is no mapping of queries to their documents")
    if len({id(documents) for documents in content.values()}) < len(content):
        raise pickle.UnpicklingError("two queries share one dictionary, or one list")
    if kinds == {list}:
        for documents in content.values():
            if {*map(type, documents)} - {str} or len(set(documents)) < len(documents):
                raise pickle.UnpicklingError("an id is no text, or comes twice")
        content = {name: {doc: 1 / rank for rank, doc in enumerate(docs, 1)} for name, docs in content.items()}
    scores = list(itertools.chain.from_iterable(documents.values() for documents in content.values()))
    if not {*map(type, scores)} <= {int, float}:
        raise pickle.UnpicklingError("a score is true, false, or no number")
    query_ids = list(itertools.chain.from_iterable(itertools.repeat(name, len(content[name])) for name in content))
    doc_ids = list(itertools.chain.from_iterable(content.values()))
    if {*map(type, content), *map(type, doc_ids)} - {str}:
        raise pickle.UnpicklingError("an id is no text")
    return query_ids, doc_ids, [float(score) for score in scores]


class _Name(str):
    """What a file names and nothing imports: no text of it can be an id."""


class _Unpickler(pickle._Unpickler):
    """Python's own unpickler, less the instructions that make or call anything else.

    The one written in C has all instructions, and makes room for every place of its memo up to the highest that a file names:
    32 GB for five bytes. Here nothing piles up either: a wall of marks, of dictionaries or of one value remembered again would
    take a hundred times the memory of its bytes.
    """

    def find_class(self, module: str, name: str) -> str:
        """Nothing is imported; what NumPy's texts name is a name."""
        if (module, name) not in NAMED:
            raise pickle.UnpicklingError(f"{module}.{name} is {OTHER}")
        return _Name(NAMED[module, name])

    def call(self) -> None:
        """Nothing is called: the kind `U7` of NumPy's texts, and a text of it, are what they would be."""
        given, name = self.stack.pop(), self.stack.pop()
        if type(name) is not _Name or type(given) is not tuple:
            self.refuse()
        if (
            name == TEXTS
            and type(given[0]) is str
            and given[0].removeprefix("<")[:1] == "U"
            and given[0].lstrip("<U").isdigit()
        ):
            self.append(_Name(TEXT + "s"))
        elif name == TEXT and given[0] == TEXT + "s" and type(given[1]) is bytes:
            self.append(given[1].decode("utf-32-le").rstrip("\0"))
        else:
            self.refuse()

    def settle(self) -> None:
        """The state of a type of texts, its byte order: little-endian, or it is refused."""
        state = self.stack.pop()
        if type(self.stack[-1]) is not _Name or type(state) is not tuple or state[1:2] != ("<",):
            self.refuse()

    def persistent_load(self, pid: object) -> None:
        """Nothing is looked up elsewhere."""
        raise pickle.UnpicklingError(f"a persistent id is {OTHER}")

    def load(self) -> Any:
        """The one value that the file leaves."""
        value = super().load()
        if self.stack or self.metastack or self.read(1):
            raise pickle.UnpicklingError("a pickled run is one dictionary, and nothing stands behind it")
        return value

    def refuse(self) -> None:
        """Any other instruction."""
        raise pickle.UnpicklingError(f"an instruction makes {OTHER}")

    def mark(self) -> None:
        """What follows is for a dictionary: that of the queries, or of documents in it."""
        if len(self.metastack) > 2:
            raise pickle.UnpicklingError(WAITING)
        self.load_mark()

    def begin(self, empty: dict | list) -> None:
        """A dictionary, or a list of documents, unless too much waits already."""
        if len(self.stack) > DEEPEST:
            raise pickle.UnpicklingError(WAITING)
        self.append(empty)

    def extend(self, items: list) -> None:
        """Put documents into the list below them."""
        if type(self.stack[-1]) is not list:
            raise pickle.UnpicklingError("documents without their list")
        self.stack[-1].extend(items)

    def dictionary(self) -> None:
        """Protocol 0: all since the mark as a dictionary."""
        items = self.pop_mark()
        self.begin({})
        self.fill(items)

    def fill(self, items: list) -> None:
        """Put keys and values into the dictionary below them."""
        target = self.stack[-1]
        if type(target) is not dict:
            raise pickle.UnpicklingError("keys and values without their dictionary")
        before = len(target)
        target.update(zip(items[::2], items[1::2], strict=True))
        if len(target) < before + len(items) // 2:
            raise pickle.UnpicklingError("an id comes twice")

    def remember(self) -> None:
        """Remember a value, once."""
        if self.memo.get(len(self.memo) - 1) is self.stack[-1]:
            raise pickle.UnpicklingError("a value is remembered again and again")
        self.load_memoize()

    dispatch = (
        dict.fromkeys(range(256), refuse)
        | {code[0]: pickle._Unpickler.dispatch[code[0]] for code in ALLOWED}
        | {
            code[0]: operation
            for code, operation in (
                (pickle.FRAME, lambda self: self.read(8)),  # reading ahead would hide where the instruction is
                (pickle.MARK, mark),
                (pickle.EMPTY_DICT, lambda self: self.begin({})),
                (pickle.DICT, dictionary),
                (pickle.SETITEM, lambda self: self.fill([self.stack.pop(-2), self.stack.pop()])),
                (pickle.SETITEMS, lambda self: self.fill(self.pop_mark())),
                (pickle.MEMOIZE, remember),
                (pickle.EMPTY_LIST, lambda self: self.begin([])),
                (pickle.APPEND, lambda self: self.extend([self.stack.pop()])),
                (pickle.APPENDS, lambda self: self.extend(self.pop_mark())),
                (pickle.REDUCE, call),
                (pickle.BUILD, settle),
            )
        }
    )
