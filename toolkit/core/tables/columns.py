"""What runs and qrels have in common: columns of ids, as they were read or as codes into distinct values.

`pyarrow.array` and `to_numpy` import pandas, to ask whether they were given something of it: half a second that no
command wants to spend. `to_arrow` and `to_numpy` here do without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from toolkit.core.system.lazy_names import compute, pyarrow

ONE_ARRAY = 1 << 30  # bytes of text and offsets that are put into one arrow array, which ends at 2**31
AT_ONCE = 1 << 16  # values: what is worked on stays in the processor's caches
LOW_BYTES = np.array([(1 << 8 * number) - 1 for number in range(9)], np.uint64)


def to_arrow(values: np.ndarray | Iterable[str]) -> pyarrow.Array:
    """An arrow array of numbers (sharing their memory) or of texts."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        values = np.ascontiguousarray(values)
        kind = pyarrow.from_numpy_dtype(values.dtype)
        return pyarrow.Array.from_buffers(kind, len(values), [None, pyarrow.py_buffer(values)])
    data = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, data)])
    assert ends[-1] < 2**31, "more text than an arrow array of strings can hold"
    buffers = (pyarrow.py_buffer(ends.astype(np.int32)), pyarrow.py_buffer(b"".join(data)))
    return pyarrow.StringArray.from_buffers(len(data), *buffers)


def split_lines(text: str) -> pyarrow.StringArray:
    """The lines of a text (newline between them, none at the end) as an arrow array, with no Python object a line."""
    if not text:
        return to_arrow([])
    data = np.frombuffer(text.encode(), np.uint8)
    assert len(data) < 2**31, "more text than an arrow array of strings can hold"
    breaks = np.append(np.flatnonzero(data == ord("\n")), len(data))
    offsets = np.append(0, breaks - np.arange(len(breaks))).astype(np.int32)
    buffers = (pyarrow.py_buffer(offsets), pyarrow.py_buffer(data[data != ord("\n")]))
    return pyarrow.StringArray.from_buffers(len(breaks), *buffers)


def to_numpy(column: pyarrow.Array | pyarrow.ChunkedArray) -> np.ndarray:
    """The numbers of an arrow column without nulls; read-only."""
    if isinstance(column, pyarrow.ChunkedArray):
        column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else to_arrow(np.empty(0)).cast(column.type)
    return np.from_dlpack(column)


def encode(values: Iterable[str]) -> tuple[np.ndarray, pyarrow.StringArray]:
    """Codes (int32, one a value) and the distinct values in order of first appearance."""
    return decode_dictionary(values if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray) else to_arrow(values))


def merge(parts: Iterable[tuple[np.ndarray, pyarrow.StringArray | Sequence[str]]]) -> tuple[np.ndarray, pyarrow.StringArray]:
    """Columns one below the other, each as codes and distinct values, as one column of the same kind."""
    columns = ((to_arrow(codes), known if isinstance(known, pyarrow.Array) else to_arrow(known)) for codes, known in parts)
    return decode_dictionary(pyarrow.chunked_array([pyarrow.DictionaryArray.from_arrays(*column) for column in columns]))


def decode_dictionary(column: pyarrow.Array | pyarrow.ChunkedArray) -> tuple[np.ndarray, pyarrow.StringArray]:
    """The same for an arrow column of strings, dictionary-encoded or plain, chunked or not."""
    if not pyarrow.types.is_dictionary(column.type):
        if isinstance(column, pyarrow.ChunkedArray):  # encoding chunk by chunk takes time quadratic in their number
            column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else to_arrow([]).cast(column.type)
        column = column.dictionary_encode()
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    return to_numpy(column.indices).astype(np.int32, copy=False), column.dictionary.cast(pyarrow.string())


class Ids:
    """A column of ids, a row a line: as it was read, or as codes into its distinct values.

    To encode the document ids of a run takes longer than to read them, and most of what is done with a run looks a few ids
    up: codes are made when they are first asked for.

    values  the ids, line by line; the distinct ones where there are codes
    codes   (n,) int32
    """

    def __init__(self, values: pyarrow.StringArray, codes: np.ndarray | None = None):
        self._values, self._codes = values, codes
        self._looked_up: tuple[pyarrow.StringArray, np.ndarray] | None = None

    @classmethod
    def of(cls, values: Iterable[str]) -> Ids:
        """A column of strings, or of an arrow column of them; codes where it has more text than one arrow array can hold."""
        if not isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
            return cls(to_arrow(values))
        if pyarrow.types.is_dictionary(values.type) or values.nbytes >= ONE_ARRAY:
            return cls(*reversed(decode_dictionary(values)))
        if isinstance(values, pyarrow.ChunkedArray):
            values = pyarrow.concat_arrays(values.chunks, pyarrow.system_memory_pool()) if values.num_chunks else to_arrow([])
        return cls(values.cast(pyarrow.string()))

    @classmethod
    def join(cls, columns: Sequence[Ids]) -> Ids:
        """Columns one below the other."""
        if any(column._codes is not None for column in columns):
            return cls(*reversed(merge((column.codes, column.distinct) for column in columns)))
        return cls.of(pyarrow.chunked_array([column._values for column in columns]))

    def __len__(self) -> int:
        return len(self._values if self._codes is None else self._codes)

    @property
    def codes(self) -> np.ndarray:
        """(n,) int32, into `distinct`."""
        self._encode()
        return self._codes

    @property
    def distinct(self) -> pyarrow.StringArray:
        """The distinct ids, in order of first appearance."""
        self._encode()
        return self._values

    def _encode(self) -> None:
        if self._codes is None:
            self._codes, self._values = decode_dictionary(self._values)

    def __getitem__(self, line: int) -> str:
        return self.texts(np.array([line]))[0].as_py()

    def texts(self, lines: np.ndarray) -> pyarrow.StringArray:
        """The ids of these lines."""
        return self._values.take(to_arrow(lines if self._codes is None else self._codes[lines]))

    def take(self, lines: np.ndarray) -> Ids:
        """These lines of the column, by their numbers; what was encoded stays so."""
        return Ids(self.texts(lines)) if self._codes is None else Ids(self._values, self._codes[lines])

    def ordered(self, lines: np.ndarray) -> np.ndarray:
        """Numbers that compare as the ids of these lines do, see `text_order`."""
        if self._codes is None:
            codes, values = decode_dictionary(self.texts(lines))
        else:
            used, codes = np.unique(self._codes[lines], return_inverse=True)
            values = self._values.take(to_arrow(used))
        return text_order(values)[codes]

    def find(self, wanted: pyarrow.StringArray) -> np.ndarray:
        """(n,) int64: for each line the place of its id in `wanted`, -1 where it is not there; the last answer is kept."""
        if self._looked_up is None or self._looked_up[0] is not wanted:
            places = lookup(self._values, wanted)
            self._looked_up = wanted, places if self._codes is None else places[self._codes]
        return self._looked_up[1]

    def comes_twice(self, groups: np.ndarray) -> bool:
        """Whether an id comes twice in a group; groups: (n,) int32, each line's."""
        if self._codes is None:
            keys = hashes(self._values)
            for first in range(0, len(keys), AT_ONCE):
                part = slice(first, first + AT_ONCE)
                keys[part] += groups[part].astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
            keys.sort()
            if not (keys[1:] == keys[:-1]).any():  # where two are equal, it may be chance
                return False
        pairs = groups.astype(np.int64) * len(self.distinct) + self.codes
        pairs.sort()
        return bool((pairs[1:] == pairs[:-1]).any())


def hashes(values: pyarrow.StringArray) -> np.ndarray:
    """(n,) uint64, equal for equal values: eight bytes at a time, so that there is no Python object a value."""
    _, bounds, data = values.buffers()
    made = np.zeros(len(values), np.uint64)
    if data is None:
        return made
    bounds = np.frombuffer(bounds, np.int32)[values.offset : values.offset + len(values) + 1]
    data = np.frombuffer(data, np.uint8)
    for first in range(0, len(values), AT_ONCE):
        starts = bounds[first : first + AT_ONCE + 1].astype(np.int64)
        padded = np.append(data[starts[0] : starts[-1]], np.zeros(8, np.uint8))
        words = np.lib.stride_tricks.as_strided(padded[:8].view(np.uint64), (len(padded) - 7,), (1,))  # one from each byte on
        lengths, starts = np.diff(starts), starts[:-1] - starts[0]
        part = lengths.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)  # a length alone is a letter: "" and "\x01" were alike
        for read in range(0, int(lengths.max()), 8):
            longer = slice(None) if read < lengths.min() else np.flatnonzero(lengths > read)
            mixed = part[longer] ^ (words[starts[longer] + read] & LOW_BYTES[np.minimum(lengths[longer] - read, 8)])
            mixed *= np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            part[longer] = mixed
        made[first : first + AT_ONCE] = part
    return made


def text_order(values: pyarrow.StringArray) -> np.ndarray:
    """Position of each distinct value in byte order (int64): comparing positions compares ids as trec_eval's strcmp does."""
    positions = np.empty(len(values), np.int64)
    positions[to_numpy(compute.array_sort_indices(values))] = np.arange(len(values))
    return positions


def lookup(wanted: pyarrow.StringArray | Sequence[str], known: pyarrow.StringArray) -> np.ndarray:
    """For each wanted value its code in `known` (int64), -1 where it is not there."""
    if not isinstance(wanted, pyarrow.Array):
        wanted = to_arrow(wanted)
    nowhere = to_arrow(np.array([-1], np.int32))[0]
    if len(wanted) >= len(known):
        return to_numpy(compute.coalesce(compute.index_in(wanted, value_set=known), nowhere)).astype(np.int64)
    # a hash table of the few that are wanted fits the processor's caches, one of all documents of a run does not
    places = compute.indices_nonzero(compute.is_in(known, value_set=wanted))
    codes = to_numpy(compute.coalesce(compute.index_in(wanted, value_set=known.take(places)), nowhere))
    return np.append(to_numpy(places).astype(np.int64), -1)[codes]
