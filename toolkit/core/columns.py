"""What runs and qrels have in common: text columns stored once each, as codes into distinct values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow


def encode(values: Iterable[str]) -> tuple[np.ndarray, pyarrow.StringArray]:
    """Codes (int32, one a value) and the distinct values in order of first appearance."""
    import pyarrow

    column = values if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray) else pyarrow.array(values, pyarrow.string())
    return decode_dictionary(column)


def decode_dictionary(column: pyarrow.Array | pyarrow.ChunkedArray) -> tuple[np.ndarray, pyarrow.StringArray]:
    """The same for an arrow column of strings, dictionary-encoded or plain, chunked or not."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        if isinstance(column, pyarrow.ChunkedArray):  # encoding chunk by chunk takes time quadratic in their number
            column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)
        column = column.dictionary_encode()
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
        if isinstance(column, pyarrow.ChunkedArray):  # arrow keeps an empty column chunked
            column = pyarrow.array([], column.type) if column.num_chunks == 0 else column.chunk(0)
    codes = column.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return codes, column.dictionary.cast(pyarrow.string())


def text_order(values: pyarrow.StringArray) -> np.ndarray:
    """Position of each distinct value in byte order (int64): comparing positions compares ids as trec_eval's strcmp does."""
    import pyarrow.compute

    positions = np.empty(len(values), np.int64)
    positions[pyarrow.compute.array_sort_indices(values).to_numpy()] = np.arange(len(values))
    return positions


def lookup(wanted: pyarrow.StringArray | Sequence[str], known: pyarrow.StringArray) -> np.ndarray:
    """For each wanted value its code in `known` (int64), -1 where it is not there."""
    import pyarrow
    import pyarrow.compute

    if not isinstance(wanted, pyarrow.Array):
        wanted = pyarrow.array(wanted, pyarrow.string())
    found = pyarrow.compute.index_in(wanted, value_set=known)
    return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
