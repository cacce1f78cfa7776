"""Helpers for the rows of Arrow arrays: find rows by a mask, by bytes or by invalid UTF-8; replace a few rows or set them to null."""

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BLOCK_ROWS: Final = 128  # rows that are searched at once for what is not ASCII


def rows_where(mask: pa.BooleanArray) -> list[int]:
    """Return the rows for which a mask without nulls holds, ascending."""
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False)).tolist()


def rows_with(values: pa.BinaryArray, marks: Iterable[bytes]) -> list[int]:
    """Return the rows of values that have one of some marks in them, ascending."""
    data = values.buffers()[2]
    text = b"" if data is None else data.to_pybytes()
    # One search of all values together is much faster than one of each, and usually finds nothing.
    found = [pc.match_substring(values, mark) for mark in marks if mark in text]
    if not found:
        return []
    return rows_where(reduce(pc.or_, found).fill_null(False))


def rows_not_utf8(values: pa.BinaryArray) -> list[int]:
    """Return the rows whose bytes are not UTF-8, ascending."""
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        pass
    else:
        return []
    _, offsets, data = values.buffers()
    bounds = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    ends = [*bounds[:-1:_BLOCK_ROWS].tolist(), int(bounds[-1])]
    content, found = memoryview(data), []
    for block, (start, end) in enumerate(pairwise(ends)):
        if bytes(content[start:end]).isascii():
            continue
        first = block * _BLOCK_ROWS
        some = values.slice(first, _BLOCK_ROWS).to_pylist()
        found += [
            first + row
            for row, value in enumerate(some)
            if value is not None and not value.isascii() and not _is_utf8(value)
        ]
    return found


def null_rows(array: pa.Array, rows: Sequence[int]) -> pa.Array:
    """Return an array in which some rows are null; it may share the values of the given one."""
    is_kept = np.ones(len(array), bool)
    is_kept[list(rows)] = False
    if array.offset or pa.types.is_nested(array.type) or pa.types.is_null(array.type):
        return pc.if_else(pa.array(is_kept), array, pa.scalar(None, array.type))
    if array.null_count:
        is_kept &= array.is_valid().to_numpy(zero_copy_only=False)
    validity = pa.py_buffer(np.packbits(is_kept, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [validity, *array.buffers()[1:]])


def replace_rows(array: pa.Array, rows: Sequence[int], values: Sequence[Any]) -> pa.Array:
    """Return an array in which some rows have other values.

    Args:
        array: The array.
        rows: The rows, which are few.
        values: Their values, in the form that `pa.array` accepts for the array's type.
    """
    if all(value is None for value in values):
        return null_rows(array, rows)
    # New values are appended to the old ones, and one `take` puts each in the place of its row.
    order = np.arange(len(array))
    order[list(rows)] = len(array) + np.arange(len(rows))
    return pa.concat_arrays([array, pa.array(values, array.type)]).take(pa.array(order))


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
