"""Arrow arrays from the column values of decoded Avro blocks (`braid.lake.format.avro.block_decoder`)."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from braid.lake.format.avro.block_decoder import ColumnValues, Kind, PlainColumn
from braid.lake.format.avro.resolution import not_null

UNIT_OF: Final[Mapping[str, str]] = {
    "timestamp-millis": "ms",
    "local-timestamp-millis": "ms",
    "timestamp-micros": "us",
    "local-timestamp-micros": "us",
    "timestamp-nanos": "ns",
    "local-timestamp-nanos": "ns",
}
"""The unit of Arrow timestamps for each logical type of Avro."""

PER_SECOND: Final = {"ms": 10**3, "us": 10**6, "ns": 10**9}


def column_array(
    values: ColumnValues, column: PlainColumn, declared: Any, target: pa.DataType
) -> pa.Array:
    """Return the values of a column as an array.

    Args:
        values: Values of the column.
        column: Encoding of the column in the file.
        declared: Avro type of the column, logical type included.
        target: The Arrow form of the column's type.

    Raises:
        pyarrow.ArrowInvalid: A value does not fit.
        ValueError: A decimal has more than 16 bytes.
    """
    declared = not_null(declared)
    logical = declared.get("logicalType") if isinstance(declared, dict) else None
    if column.kind is Kind.VARINT:
        return _whole_numbers(values, logical, target)
    if column.kind is Kind.BYTES:
        if logical == "decimal":
            return _decimals(values, declared.get("scale", 0), target)
        offsets, data = values.joined()
        buffers = [_validity(values), pa.py_buffer(offsets), pa.py_buffer(data)]
        array = pa.Array.from_buffers(target, len(values.starts), buffers)
        # The bytes come from storage: texts have to be checked to be UTF-8.
        array.validate(full=pa.types.is_string(target))
        return array
    if column.kind is Kind.BOOLEAN:
        return _masked(values.fixed("u1") != 0, values).cast(target)
    return _masked(values.fixed("<f4" if column.kind is Kind.FLOAT else "<f8"), values).cast(target)


def _whole_numbers(values: ColumnValues, logical: str | None, target: pa.DataType) -> pa.Array:
    numbers = values.numbers()
    if logical is not None and logical in UNIT_OF:
        source, wanted = PER_SECOND[UNIT_OF[logical]], PER_SECOND[target.unit]
        # Multiplied or divided, not both: an intermediate product would exceed 64 bits.
        numbers = numbers * (wanted // source) if wanted > source else numbers // (source // wanted)
        return _masked(numbers, values).view(target)
    array = _masked(numbers, values)
    return (
        array.cast(pa.int32()).view(target) if pa.types.is_temporal(target) else array.cast(target)
    )


def _decimals(values: ColumnValues, scale: int, target: pa.DataType) -> pa.Array:
    # A decimal with more digits than declared is kept, as by the readers of all formats.
    kind = target if target.scale == scale else pa.decimal128(38, scale)
    buffers = [_validity(values), pa.py_buffer(np.ascontiguousarray(values.unscaled()))]
    array = pa.Array.from_buffers(kind, len(values.starts), buffers)
    return array if kind == target else array.cast(target)


def _masked(array: Any, values: ColumnValues) -> pa.Array:
    return pa.array(array, mask=None if values.valid is None else ~values.valid)


def _validity(values: ColumnValues) -> pa.Buffer | None:
    return None if values.valid is None else pa.array(values.valid).buffers()[1]
