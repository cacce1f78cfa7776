"""Conversion of Arrow batches to rows of Python values."""

from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Any, TypeAlias

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
            columns[name] = _values_of(column)
        except (OverflowError, ValueError) as error:
            message = (
                f"column `{name}` of type {column.type} has a value that Python cannot hold: "
                f"{error}\nhint: read it with `scan`, which gives Arrow data"
            )
            raise UnsupportedFeature(message) from error
    return columns


def _values_of(column: pa.Array) -> list[object]:
    """Return the values of a column; those of most types by numpy, in a fifth of the time that Arrow takes."""
    kind = column.type
    values: list[Any]
    if is_plain_number(kind) and not column.null_count:
        values = column.to_numpy().tolist()
        return values
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values = column.to_numpy(zero_copy_only=False).tolist()
        return values
    if is_time(kind):
        values = column.to_numpy(zero_copy_only=False).tolist()
        # A number is a time that Python cannot hold, for which Arrow raises the error.
        if not any(type(value) is int for value in values):
            zone = None if pa.types.is_date32(kind) else _zone(kind)
            return values if zone is None else [_in_zone(value, zone) for value in values]
    plain = _plain_type(kind)
    values = (column if plain is None else column.cast(plain)).to_pylist()
    return values


def _in_zone(value: datetime | None, zone: tzinfo) -> datetime | None:
    return None if value is None else value.replace(tzinfo=zone)


def is_kept(kind: pa.DataType) -> bool:
    """Return whether values of a type are those of Arrow's own conversion."""
    return _plain_type(kind) is None


@lru_cache(maxsize=1_024)
def is_plain_number(kind: pa.DataType) -> bool:
    """Return whether values without nulls are numbers of numpy with the same value."""
    return bool(pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind))


@lru_cache(maxsize=1_024)
def is_time(kind: pa.DataType) -> bool:
    """Return whether a type is that of dates, or of times that Python can hold as those of UTC or of no zone."""
    is_timestamp = pa.types.is_timestamp(kind) and kind.unit != "ns" and kind.tz in (None, "UTC")
    return bool(pa.types.is_date32(kind) or is_timestamp)


@lru_cache(maxsize=1_024)
def _zone(kind: pa.DataType) -> tzinfo | None:
    zone: tzinfo | None = pa.scalar(0, kind).as_py().tzinfo
    return zone


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
