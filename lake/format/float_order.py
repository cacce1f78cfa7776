"""The order of FLOAT and DOUBLE values: Java's total order.

-0.0 is below 0.0; NaN, whatever its sign and payload, equals itself and is above every other value.
`with_one_nan` gives every NaN the same bits.

Source: table-format 13.1.
"""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

ColumnT = TypeVar("ColumnT", pa.Array, pa.ChunkedArray)


def total_order(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return signed integers of the floats' width that compare as the floats do."""
    assert values.dtype.kind == "f", values.dtype
    bits = values.view(f"i{values.dtype.itemsize}")
    most = np.iinfo(bits.dtype).max
    # An IEEE float is a sign and a magnitude. Inverting the magnitude of negative floats gives integers that
    # compare as the floats do.
    numbers: npt.NDArray[Any] = np.where(bits < 0, bits ^ most, bits)
    numbers[np.isnan(values)] = most
    return numbers


def with_one_nan(column: ColumnT) -> ColumnT:
    """Return the floats, with the bits of Java's `Double.NaN` for every NaN."""
    is_nan = pc.is_nan(column)
    if not pc.any(is_nan).as_py():
        return column
    return pc.if_else(is_nan, pa.scalar(np.nan, column.type), column)


def total_order_column(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return `total_order` of a column's values; null for null."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    nulls = np.asarray(array.is_null())
    return pa.array(total_order(np.asarray(array.fill_null(0.0))), mask=nulls)
