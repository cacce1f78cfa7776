"""Functions from the number of a row to its value in one column of a copied file.

Numbers, texts, dates and times are read from the buffers of the column: a scalar of Arrow takes several times as long, and a
row has dozens of values.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from braid.lake.read.lookup.python_rows import is_kept, is_plain_number, is_time, python_columns

ValueGetter: TypeAlias = Callable[[int], Any]
"""Returns the value of a row, as `python_columns` returns it; null is None."""

_UNITS: Final = {
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
    "us": timedelta(microseconds=1),
}
_DAY_BEFORE_1970: Final = date(1970, 1, 1).toordinal()


def value_getter(name: str, column: pa.ChunkedArray) -> ValueGetter:
    """Return a function from a row's number to its value.

    Args:
        name: The column's name, for errors.
        column: The column.

    Returns:
        A function that raises UnsupportedFeature as `python_columns` does.
    """
    if not is_kept(column.type):
        return partial(_sliced_value, name, column)
    if column.num_chunks != 1:
        return partial(_scalar_value, name, column)
    array = column.chunk(0)
    get = _buffer_getter(array)
    if get is None:
        return partial(_scalar_value, name, array)
    if array.null_count:
        get = _nullable(get, array)
    if is_time(array.type):
        return _checked(get, partial(_sliced_value, name, array))
    return get


def _buffer_getter(array: pa.Array) -> ValueGetter | None:
    """Return a getter of values that are not null; None for a type whose values are read as scalars."""
    kind = array.type
    if is_plain_number(kind):
        return _items(array, np.dtype(kind.to_pandas_dtype())).__getitem__
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _texts(array)
    if pa.types.is_boolean(kind):
        return _bits(array, buffer=1)
    if pa.types.is_date32(kind):
        return _dates(array)
    if is_time(kind):
        return _times(array)
    return None


def _items(
    array: pa.Array, dtype: "np.dtype[Any]", *, buffer: int = 1, more: int = 0
) -> memoryview:
    """Return the items of a buffer that belong to the rows, and `more` behind them; each is read as a Python number."""
    content = array.buffers()[buffer]
    if content is None:
        return memoryview(b"")
    count = len(array) + more
    return np.frombuffer(content, dtype, count=count, offset=array.offset * dtype.itemsize).data


def _texts(array: pa.Array) -> ValueGetter:
    is_large = pa.types.is_large_string(array.type)
    ends = _items(array, np.dtype(np.int64 if is_large else np.int32), more=1)
    content = array.buffers()[2]
    data = memoryview(b"" if content is None else content)

    def text(row: int) -> str:
        return str(data[ends[row] : ends[row + 1]], "utf-8")

    return text


def _bits(array: pa.Array, *, buffer: int) -> ValueGetter:
    bits, first = memoryview(array.buffers()[buffer]), array.offset

    def bit(row: int) -> bool:
        place = first + row
        return bool(bits[place >> 3] >> (place & 7) & 1)

    return bit


def _dates(array: pa.Array) -> ValueGetter:
    days = _items(array, np.dtype(np.int32))
    return lambda row: date.fromordinal(_DAY_BEFORE_1970 + days[row])


def _times(array: pa.Array) -> ValueGetter:
    units, unit = _items(array, np.dtype(np.int64)), _UNITS[array.type.unit]
    begin: datetime = pa.scalar(0, array.type).as_py()
    return lambda row: begin + units[row] * unit


def _nullable(get: ValueGetter, array: pa.Array) -> ValueGetter:
    is_valid = _bits(array, buffer=0)
    return lambda row: get(row) if is_valid(row) else None


def _checked(get: ValueGetter, again: ValueGetter) -> ValueGetter:
    """Return a getter that leaves values which Python cannot hold to another one, whose error names the column."""

    def checked(row: int) -> Any:
        try:
            return get(row)
        except (OverflowError, ValueError):
            return again(row)

    return checked


def _scalar_value(name: str, array: pa.Array | pa.ChunkedArray, row: int) -> object:
    try:
        return array[row].as_py()
    except (OverflowError, ValueError):
        return _sliced_value(name, array, row)  # raises the error with the column's name


def _sliced_value(name: str, array: pa.Array | pa.ChunkedArray, row: int) -> object:
    table = pa.table({name: array.slice(row, 1)})
    return python_columns(table.to_batches()[0])[name][0]
