"""The ids of an index's documents: a file beside it, a line or an entry a position."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import atomic_path, home, write_text
from toolkit.core.system.lazy_names import compute, pyarrow
from toolkit.core.system.progress import say
from toolkit.core.system.yaml_json import decode_json, read_json
from toolkit.core.tables.columns import lookup, to_arrow
from toolkit.files.formats.vectors import NPY_DAMAGE
from toolkit.files.provenance import file_digest
from toolkit.files.store import lock

DOCID = "docid"  # Pyserini's name
PICKLED = "meta.pkl"  # of distributed-faiss
BLOCK = 1 << 20  # ids looked through at once


class DocIds:
    """Ids by position, read from a file beside an index: only where each begins is in memory.

    place  a file of an id a line, or a folder with one of the known files: `docid` and `ids.txt` (an id a line), `ids.jsonl`
           (a text, a number, or an object with `id` a line), `ids.npy` (an array of texts or whole numbers), `meta.pkl` (a
           pickled list, see `toolkit.files.formats.pickled_ids`)

    Raises ToolkitError where there is none of them, or its content is something else.
    """

    def __init__(self, place: Path):
        self.path = place if place.is_file() else id_file(place)
        try:
            self._ids = READERS.get(self.path.name, _from_lines)(self.path)
        except (KeyError, *NPY_DAMAGE) as error:
            hint = f"known: {', '.join(READERS)}"
            raise ToolkitError(f"{self.path} is not readable as document ids ({' '.join(str(error).split())})", hint) from error

    def fit(self, vectors: int) -> None:
        """Leave out what stands behind the ids of so many vectors: the list of distributed-faiss has its buffer behind them."""
        if self.path.name == PICKLED:
            self._ids = self._ids.slice(0, vectors)

    def __len__(self) -> int:
        return len(self._ids)

    def take(self, positions: pyarrow.Array) -> pyarrow.StringArray:
        """The ids at these positions."""
        return compute.utf8_rtrim(self._ids.take(positions), "\r\n").cast(pyarrow.string())

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
    """The file of ids in a folder. Raises ToolkitError where there is none."""
    for name in READERS:
        if (folder / name).is_file():
            return folder / name
    raise ToolkitError(f"{folder} has no file of document ids ({', '.join(READERS)})", "one id a line")


def _from_lines(path: Path) -> pyarrow.LargeStringArray:
    """Each line with its line feed, in the file's own bytes, which stay on the disk."""
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
    ids = []
    for line in path.read_bytes().splitlines():  # of bytes: U+2028 and its like in a text end no line
        row = decode_json(line.decode())
        value = row["id"] if isinstance(row, dict) else row
        if type(value) not in (str, int):  # true and false are no ids
            raise TypeError(f"{json.dumps(value)} is no id")
        ids.append(str(value))
    return to_arrow(ids).cast(pyarrow.large_string())


def _from_npy(path: Path) -> pyarrow.Array:
    with path.open("rb") as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
    if array.ndim != 1 or array.dtype.kind not in "iuU":
        raise ValueError(f"an array of {array.dtype} with {array.ndim} dimensions")
    return to_arrow(array.astype(str).tolist()).cast(pyarrow.large_string())


def _from_pickle(path: Path) -> pyarrow.LargeStringArray:
    """Read once: the ids are cached as lines, by the SHA-256 of the pickle, and that of the lines stands beside them."""
    from toolkit.files.formats.pickled_ids import pickled_ids

    # where the id stands in an entry: `custom_meta_id_idx` of distributed-faiss' settings beside it, else the first value
    settings = path.with_name("cfg.json")
    column = read_json(settings, dict).get("custom_meta_id_idx", 0) if settings.is_file() else 0
    if type(column) is not int or column < 0:
        raise ToolkitError(f"{settings}: custom_meta_id_idx is {str(column)[:40]!r}", "where the id stands in an entry, from 0")
    lines = home() / "ids" / f"{file_digest(path)[:32]}.{column}.txt"
    recorded = lines.with_suffix(".sha256")
    with lock(f"ids {lines.name}"):
        if not (lines.is_file() and recorded.is_file() and recorded.read_text().strip() == file_digest(lines)):
            say(f"reading the ids of {path}")
            with atomic_path(lines) as part, part.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{doc_id}\n" for doc_id in pickled_ids(path, column))
            write_text(recorded, file_digest(lines) + "\n")
    return _from_lines(lines)


READERS: dict[str, Callable[[Path], pyarrow.Array]] = {
    DOCID: _from_lines,
    "ids.txt": _from_lines,
    "ids.jsonl": _from_jsonl,
    "ids.npy": _from_npy,
    PICKLED: _from_pickle,
}
