"""Conversion of Arrow batches to rows of Python values."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy.typing as npt
import pyarrow as pa

from braid.lake.errors import UnsupportedFeature

Row: TypeAlias = dict[str, object]
"""Values by column."""


def python_rows(batch: pa.RecordBatch) -> list[Row]:
    """Return the rows of a batch, with values as `python_columns` returns them.

    Raises:
        UnsupportedFeature: As `python_columns`.
    """
    columns = python_columns(batch)
    return [{name: values[row] for name, values in columns.items()} for row in range(len(batch))]


def python_columns(batch: pa.RecordBatch) -> dict[str, list[object]]:
    """Return the columns as `to_pylist` does; TIMESTAMP(7..9) as whole nanoseconds since 1970.

    Values inside of nested values are converted likewise. Python's datetime has no nanoseconds, and
    what Arrow returns depends on whether pandas is installed.

    Raises:
        UnsupportedFeature: A date or time that Python cannot hold; the message names the column.
    """
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            if not column.null_count and _is_plain_number(column.type):
                columns[name] = column.to_numpy().tolist()  # a fifth of the time of `to_pylist`
                continue
            plain = _plain_type(column.type)
            columns[name] = (column if plain is None else column.cast(plain)).to_pylist()
        except (OverflowError, ValueError) as error:
            message = (
                f"column `{name}` of type {column.type} has a value that Python cannot hold: "
                f"{error}\nhint: read it with `scan`, which gives Arrow data"
            )
            raise UnsupportedFeature(message) from error
    return columns


@lru_cache(maxsize=1_024)
def _is_plain_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind))


@lru_cache(maxsize=1_024)
def _plain_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type to cast a column to first; None for most types, which need no cast."""
    plain = _without_nanoseconds(kind)
    return None if plain == kind else plain


def _without_nanoseconds(kind: pa.DataType) -> pa.DataType:
    """Return the type with 64-bit integers in place of timestamps of nanoseconds."""

    def part(field: pa.Field) -> pa.Field:
        return field.with_type(_without_nanoseconds(field.type))

    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([part(kind.field(index)) for index in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(part(kind.key_field), part(kind.item_field))
    return pa.list_(part(kind.value_field)) if pa.types.is_list(kind) else kind


def value_getter(name: str, column: pa.ChunkedArray) -> Callable[[int], object]:
    """Return a function from a row's number to its value, as `python_columns` returns it.

    Args:
        name: The column's name, for errors.
        column: The column.
    """
    array = column.chunk(0) if column.num_chunks == 1 else column
    if _plain_type(column.type) is not None:
        return partial(_sliced_value, name, column)
    numbers = _numbers(array)
    if numbers is not None:
        return numbers.__getitem__
    return partial(_scalar_value, name, array)


def _numbers(array: pa.Array | pa.ChunkedArray) -> memoryview | None:
    """Return numbers without nulls as a view whose items are Python numbers; None for other columns."""
    kind = array.type
    is_plain = pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    if not is_plain or not isinstance(array, pa.Array) or array.null_count or not len(array):
        return None
    numbers: npt.NDArray[Any] = array.to_numpy(zero_copy_only=True)
    return numbers.data


def _scalar_value(name: str, array: pa.Array | pa.ChunkedArray, row: int) -> object:
    try:
        return array[row].as_py()
    except (OverflowError, ValueError):
        return _sliced_value(name, array, row)  # raises the error with the column's name


def _sliced_value(name: str, array: pa.Array | pa.ChunkedArray, row: int) -> object:
    table = pa.table({name: array.slice(row, 1)})
    return python_columns(table.to_batches()[0])[name][0]
