"""Rows of Arrow arrays: those that a mask selects, that have some bytes in them, and the replacement of a few."""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


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


def replace_rows(array: pa.Array, rows: Sequence[int], values: Sequence[Any]) -> pa.Array:
    """Return an array in which some rows have other values.

    Args:
        array: The array.
        rows: The rows, which are few.
        values: Their values, in the form that `pa.array` accepts for the array's type.
    """
    if all(value is None for value in values):
        is_kept = np.ones(len(array), bool)
        is_kept[list(rows)] = False
        return pc.if_else(pa.array(is_kept), array, pa.scalar(None, array.type))
    # New values are appended to the old ones, and one `take` puts each in the place of its row.
    order = np.arange(len(array))
    order[list(rows)] = len(array) + np.arange(len(rows))
    return pa.concat_arrays([array, pa.array(values, array.type)]).take(pa.array(order))
