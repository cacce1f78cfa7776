"""Conversion of numeric columns to numpy arrays and back, and the choice of a reduction by numeric type.

A DECIMAL has 128 bits in two's complement: an unsigned low half and a signed high half, here both as
int64, because only their bits matter.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.merge.aggregate_function import Reduced, Reduction
from braid.lake.merge.segments import Bools, Ints
from braid.lake.merge.steps import Step, Steps

Numbers = npt.NDArray[Any]
Reduce = Callable[[Steps, pa.Array], Reduced]


def number_reduction(
    kind: pa.DataType, *, integers: Reduce, floating: Reduce, decimals: Reduce
) -> Reduction:
    """Return a reduction of every step for a numeric Arrow type; lateness changes nothing."""
    if pa.types.is_floating(kind):
        reduce = floating
    else:
        reduce = decimals if pa.types.is_decimal(kind) else integers
    return Reduction(reduce=reduce, handles=frozenset(Step), late_as_add=True)


def numbers_of(column: pa.Array) -> Numbers:
    """Return the values of an integer or floating column, arbitrary where null; read only."""
    dtype = np.dtype(f"{'f' if pa.types.is_floating(column.type) else 'i'}{_width(column)}")
    values = np.frombuffer(column.buffers()[1], dtype=dtype)
    return values[column.offset : column.offset + len(column)]


def halves_of(column: pa.Array) -> tuple[Ints, Ints]:
    """Return the low and the high halves of a DECIMAL column, arbitrary where null; read only."""
    halves = np.frombuffer(column.buffers()[1], dtype=np.int64).reshape(-1, 2)
    halves = halves[column.offset : column.offset + len(column)]
    return halves[:, 0], halves[:, 1]


def number_column(values: Numbers, has_value: Bools | None, kind: pa.DataType) -> pa.Array:
    """Return numbers as a column of an integer or floating type that holds them.

    Args:
        values: One per row.
        has_value: Which values are not null; None means all.
        kind: The type.
    """
    dtype = np.dtype(f"{'f' if pa.types.is_floating(kind) else 'i'}{kind.bit_width // 8}")
    return _column(values.astype(dtype, copy=False), has_value, kind)


def decimal_column(low: Ints, high: Ints, has_value: Bools | None, kind: pa.DataType) -> pa.Array:
    """Return halves as a DECIMAL column; the number of digits is not checked."""
    halves = np.empty((len(low), 2), dtype=np.int64)
    halves[:, 0], halves[:, 1] = low, high
    return _column(halves, has_value, kind)


def sign_of(low: Ints) -> Ints:
    """Return the high halves of numbers that fit the low halves: all bits are the sign."""
    return low >> 63


def _column(values: Numbers, has_value: Bools | None, kind: pa.DataType) -> pa.Array:
    bitmap = None
    if has_value is not None:
        bitmap = pa.py_buffer(np.packbits(has_value, bitorder="little"))
    buffers = [bitmap, pa.py_buffer(values)]
    return pa.Array.from_buffers(kind, len(values), buffers)


def _width(column: pa.Array) -> int:
    return int(column.type.bit_width) // 8
