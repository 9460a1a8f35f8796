"""The ids of an index's documents: a file beside it, a line or an entry a position."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.columns import lookup, to_arrow
from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.yaml_json import decode_json
from toolkit.formats.vectors import NPY_DAMAGE

if TYPE_CHECKING:
    import pyarrow

DOCID = "docid"  # Pyserini's name
BLOCK = 1 << 20  # ids looked through at once


class DocIds:
    """Ids by position, read from a file beside an index: only where each begins is in memory.

    Known files: `docid` and `ids.txt` (an id a line), `ids.jsonl` (a text, a number, or an object with `id` a line),
    `ids.npy` (an array of texts or whole numbers).

    Raises ToolkitError where there is none of them, or its content is something else.
    """

    def __init__(self, folder: Path):
        self.path = id_file(folder)
        try:
            self._ids = READERS[self.path.name](self.path)
        except (KeyError, *NPY_DAMAGE) as error:
            hint = f"known: {', '.join(READERS)}; see docs/guides/index.md"
            raise ToolkitError(f"{self.path} is not readable as document ids ({' '.join(str(error).split())})", hint) from error

    def __len__(self) -> int:
        return len(self._ids)

    def take(self, positions: pyarrow.Array) -> pyarrow.StringArray:
        """The ids at these positions."""
        import pyarrow
        import pyarrow.compute

        return pyarrow.compute.utf8_rtrim(self._ids.take(positions), "\r\n").cast(pyarrow.string())

    def places(self, ids: pyarrow.StringArray) -> tuple[np.ndarray, np.ndarray]:
        """The positions that have one of these distinct ids, ascending, and the number of each one's id: both (n,) int64."""
        positions, owners = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for start in range(0, len(self), BLOCK):
            numbers = np.arange(start, min(start + BLOCK, len(self)))
            codes = lookup(self.take(to_arrow(numbers)), ids)
            positions.append(numbers[codes >= 0])
            owners.append(codes[codes >= 0])
        return np.concatenate(positions), np.concatenate(owners)


def say_lacking(place: Path | str, lacking: int, wanted: int) -> None:
    """Say how many of the documents that a search may find are not there."""
    if lacking:
        say(f"note: {place} lacks {lacking:,} of {wanted:,} candidates")


def has_ids(folder: Path) -> bool:
    """Whether one of the known files is there."""
    return any((folder / name).is_file() for name in READERS)


def id_file(folder: Path) -> Path:
    """The file of ids in a folder. Raises ToolkitError where there is none, and says why a pickle is not read."""
    for name in READERS:
        if (folder / name).is_file():
            return folder / name
    pickled = next((path.name for path in sorted(folder.iterdir()) if path.suffix in (".pkl", ".pickle")), "")
    note = f"{pickled} may run code when it is opened: write its ids, one a line, to docid" if pickled else "one id a line"
    raise ToolkitError(f"{folder} has no file of document ids ({', '.join(READERS)})", note)


def _from_lines(path: Path) -> pyarrow.LargeStringArray:
    """Each line with its line feed, in the file's own bytes, which stay on the disk."""
    import pyarrow

    if not path.stat().st_size:
        return to_arrow([]).cast(pyarrow.large_string())
    data = np.memmap(path, np.uint8, "r")
    ends = np.flatnonzero(data == ord("\n")) + 1
    starts = np.concatenate([[0], ends if len(ends) and ends[-1] == len(data) else np.append(ends, len(data))])
    buffers = [None, pyarrow.py_buffer(starts.astype(np.int64)), pyarrow.py_buffer(data)]
    lines = pyarrow.LargeStringArray.from_buffers(len(starts) - 1, *buffers[1:])
    lines.validate(full=True)
    return lines


def _from_jsonl(path: Path) -> pyarrow.Array:
    import pyarrow

    ids = []
    for line in path.read_bytes().splitlines():  # of bytes: U+2028 and its like in a text end no line
        row = decode_json(line.decode())
        ids.append(_text(row["id"] if isinstance(row, dict) else row))
    return to_arrow(ids).cast(pyarrow.large_string())


def _from_npy(path: Path) -> pyarrow.Array:
    import pyarrow

    with path.open("rb") as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
    if array.ndim != 1 or array.dtype.kind not in "iuU":
        raise ValueError(f"an array of {array.dtype} with {array.ndim} dimensions")
    return to_arrow(array.astype(str).tolist()).cast(pyarrow.large_string())


def _text(value: object) -> str:
    if type(value) not in (str, int):  # true and false are no ids
        raise TypeError(f"{json.dumps(value)} is no id")
    return str(value)


READERS: dict[str, Callable[[Path], pyarrow.Array]] = {
    DOCID: _from_lines,
    "ids.txt": _from_lines,
    "ids.jsonl": _from_jsonl,
    "ids.npy": _from_npy,
}
