"""Columns of copied files, and the gathering of values from several of them.

Integers, floating-point numbers and times are scattered straight to their places if the column has no null in any
file; all other columns are taken file by file, concatenated and reordered. Either way costs a few microseconds per file and
column, and this is most of the cost of a batch of a hundred keys.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.arrays import combined_array
from braid.lake.read.lookup.wanted_keys import Rows, row_array

Placement = tuple[Rows, Rows]
"""Rows of a file, and their places in the result."""

_WIDTHS: Final = frozenset({8, 16, 32, 64})


class FileColumn:
    """One column of a file.

    Attributes:
        array: The column's values, in one piece unless they are too many for one.
        values: The same values as integers of equal width, without a copy; None where a value is
            null or the type has no fixed width of 8 to 64 bits.
    """

    __slots__ = ("array", "values")

    def __init__(self, column: pa.ChunkedArray) -> None:
        """Wrap a column."""
        self.array: pa.Array | pa.ChunkedArray = (
            column.chunk(0) if column.num_chunks == 1 else column
        )
        self.values = _plain_values(self.array)


def gather(
    columns: Sequence[FileColumn], placements: Sequence[Placement], *, order: pa.Array
) -> pa.Array:
    """Return values of several files as one array.

    Args:
        columns: The column of each file; at least one.
        placements: The rows of each file, and the places of their values; together every place once.
        order: The inverse: for each place, the number of its row when the rows of all `placements`
            are counted one placement after another.
    """
    assert len(columns) == len(placements), "a column of each file"
    plain = [column.values for column in columns]
    if all(values is not None for values in plain):
        return _scatter(columns[0].array.type, plain, placements, count=len(order))
    # Other columns cannot be scattered: taken file by file, concatenated, then reordered.
    taken = [
        combined_array(_rows(column.array, rows))
        for column, (rows, _) in zip(columns, placements, strict=True)
    ]
    return taken[0] if len(taken) == 1 else pa.concat_arrays(taken).take(order)


def _rows(array: pa.Array | pa.ChunkedArray, rows: Rows) -> pa.Array | pa.ChunkedArray:
    # A slice of one row takes a tenth of the time of `take`.
    return array.slice(int(rows[0]), 1) if len(rows) == 1 else array.take(row_array(rows))


def _scatter(
    kind: pa.DataType,
    parts: Sequence[npt.NDArray[Any] | None],
    placements: Sequence[Placement],
    *,
    count: int,
) -> pa.Array:
    out: npt.NDArray[Any] | None = None
    for values, (rows, here) in zip(parts, placements, strict=True):
        assert values is not None, "checked by the caller"
        if out is None:
            out = np.empty(count, dtype=values.dtype)
        out[here] = values[rows]
    assert out is not None, "there is at least one file"
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(out)])


def _plain_values(array: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any] | None:
    kind = array.type
    is_plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    if not isinstance(array, pa.Array) or not is_plain or array.null_count or not len(array):
        return None
    if kind.bit_width not in _WIDTHS:
        return None
    dtype = np.dtype(f"i{kind.bit_width // 8}")
    return np.frombuffer(
        array.buffers()[1], dtype, count=len(array), offset=dtype.itemsize * array.offset
    )
