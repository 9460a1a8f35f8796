"""What runs and qrels have in common: text columns stored once each, as codes into distinct values.

`pyarrow.array` and `to_numpy` import pandas, to ask whether they were given something of it: half a second that no
command wants to spend. `to_arrow` and `to_numpy` here do without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow


def to_arrow(values: np.ndarray | Iterable[str]) -> pyarrow.Array:
    """An arrow array of numbers (sharing their memory) or of texts."""
    import pyarrow

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
    import pyarrow

    if not text:
        return to_arrow([])
    data = np.frombuffer(text.encode(), np.uint8)
    assert len(data) < 2**31, "more text than an arrow array of strings can hold"
    breaks = np.append(np.flatnonzero(data == ord("\n")), len(data))
    offsets = np.append(0, breaks - np.arange(len(breaks))).astype(np.int32)
    content = data[data != ord("\n")]
    return pyarrow.StringArray.from_buffers(len(breaks), pyarrow.py_buffer(offsets), pyarrow.py_buffer(content))


def to_numpy(column: pyarrow.Array | pyarrow.ChunkedArray) -> np.ndarray:
    """The numbers of an arrow column without nulls; read-only."""
    import pyarrow

    if isinstance(column, pyarrow.ChunkedArray):
        column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else to_arrow(np.empty(0)).cast(column.type)
    return np.from_dlpack(column)


def encode(values: Iterable[str]) -> tuple[np.ndarray, pyarrow.StringArray]:
    """Codes (int32, one a value) and the distinct values in order of first appearance."""
    import pyarrow

    return decode_dictionary(values if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray) else to_arrow(values))


def merge(parts: Iterable[tuple[np.ndarray, pyarrow.StringArray | Sequence[str]]]) -> tuple[np.ndarray, pyarrow.StringArray]:
    """Columns one below the other, each as codes and distinct values, as one column of the same kind."""
    import pyarrow

    chunks = [
        pyarrow.DictionaryArray.from_arrays(to_arrow(codes), known if isinstance(known, pyarrow.Array) else to_arrow(known))
        for codes, known in parts
    ]
    return decode_dictionary(pyarrow.chunked_array(chunks))


def decode_dictionary(column: pyarrow.Array | pyarrow.ChunkedArray) -> tuple[np.ndarray, pyarrow.StringArray]:
    """The same for an arrow column of strings, dictionary-encoded or plain, chunked or not."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        if isinstance(column, pyarrow.ChunkedArray):  # encoding chunk by chunk takes time quadratic in their number
            column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else to_arrow([]).cast(column.type)
        column = column.dictionary_encode()
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
        if isinstance(column, pyarrow.ChunkedArray):  # arrow keeps an empty column chunked
            column = to_arrow([]).dictionary_encode() if column.num_chunks == 0 else column.chunk(0)
    return to_numpy(column.indices).astype(np.int32, copy=False), column.dictionary.cast(pyarrow.string())


def text_order(values: pyarrow.StringArray) -> np.ndarray:
    """Position of each distinct value in byte order (int64): comparing positions compares ids as trec_eval's strcmp does."""
    import pyarrow.compute

    positions = np.empty(len(values), np.int64)
    positions[to_numpy(pyarrow.compute.array_sort_indices(values))] = np.arange(len(values))
    return positions


def lookup(wanted: pyarrow.StringArray | Sequence[str], known: pyarrow.StringArray) -> np.ndarray:
    """For each wanted value its code in `known` (int64), -1 where it is not there."""
    import pyarrow
    import pyarrow.compute

    if not isinstance(wanted, pyarrow.Array):
        wanted = to_arrow(wanted)
    nowhere = to_arrow(np.array([-1], np.int32))[0]
    if len(wanted) >= len(known):
        return to_numpy(pyarrow.compute.coalesce(pyarrow.compute.index_in(wanted, value_set=known), nowhere)).astype(np.int64)
    # a hash table of the few that are wanted fits the processor's caches, one of all documents of a run does not
    places = pyarrow.compute.indices_nonzero(pyarrow.compute.is_in(known, value_set=wanted))
    codes = to_numpy(pyarrow.compute.coalesce(pyarrow.compute.index_in(wanted, value_set=known.take(places)), nowhere))
    return np.append(to_numpy(places).astype(np.int64), -1)[codes]
