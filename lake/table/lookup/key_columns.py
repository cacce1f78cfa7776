"""Conversion of key columns to the table's types: each value is converted exactly, or refused.

`Table.get` takes Python values, `Table.lookup` Arrow columns. A column of another kind (text for a number) is refused
although Arrow could parse it, and no value is rounded. Arrow's own casts refuse some values that the type holds
exactly: a whole number above 2^53 can be a key of a DOUBLE column only as a Python value.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrays import combined_array
from braid.lake.format.data_types import DataType, TypeRoot
from braid.lake.read.condition_value import exact_array

_is = pa.types


def _is_number(kind: pa.DataType) -> bool:
    return bool(_is.is_integer(kind) or _is.is_floating(kind) or _is.is_decimal(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(_is.is_string(kind) or _is.is_large_string(kind) or _is.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    is_variable = _is.is_binary(kind) or _is.is_large_binary(kind) or _is.is_binary_view(kind)
    return is_variable or (_is.is_fixed_size_binary(kind) and not _is.is_decimal(kind))


_TAKEN: Final[dict[TypeRoot, Callable[[pa.DataType], bool]]] = {
    TypeRoot.BOOLEAN: _is.is_boolean,
    TypeRoot.TINYINT: _is_number,
    TypeRoot.SMALLINT: _is_number,
    TypeRoot.INT: _is_number,
    TypeRoot.BIGINT: _is_number,
    TypeRoot.FLOAT: _is_number,
    TypeRoot.DOUBLE: _is_number,
    TypeRoot.DECIMAL: lambda kind: _is.is_integer(kind) or _is.is_decimal(kind),
    TypeRoot.CHAR: _is_text,
    TypeRoot.VARCHAR: _is_text,
    TypeRoot.BINARY: _is_bytes,
    TypeRoot.VARBINARY: _is_bytes,
    TypeRoot.DATE: _is.is_date,
    TypeRoot.TIME: _is.is_time,
    TypeRoot.TIMESTAMP: lambda kind: _is.is_timestamp(kind) and kind.tz is None,
    TypeRoot.TIMESTAMP_LTZ: lambda kind: _is.is_timestamp(kind) and kind.tz is not None,
}
"""Arrow types that keys of a column may have."""


def exact_key_column(
    column: pa.Array | pa.ChunkedArray, data_type: DataType, arrow_type: pa.DataType
) -> pa.Array:
    """Return a column of keys in a key column's type, in one piece, each value unchanged.

    Args:
        column: A column of any Arrow type; nulls stay null.
        data_type: Type of the key column.
        arrow_type: The Arrow form of `data_type`.

    Raises:
        ValueError: The column is of another kind, or the type cannot hold a value exactly; the
            message says what is expected.
    """
    if column.type == arrow_type:
        return combined_array(column)
    if _is.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (_is.is_null(column.type) or _is_taken(column.type, data_type)):
        message = f"expected values of {data_type}"
        raise ValueError(message)
    if _is.is_decimal(column.type) or (_is.is_decimal(arrow_type) and _is_number(column.type)):
        # Arrow rounds decimals, and checks types where it should check values.
        return exact_key_values(combined_array(column).to_pylist(), data_type, arrow_type)
    try:
        exact = combined_array(column.cast(arrow_type))
    except pa.ArrowException as error:
        message = f"expected values of {data_type}: {error}"
        raise ValueError(message) from error
    if _is.is_floating(column.type) and _is.is_float32(arrow_type):
        _check_unrounded(combined_array(column), exact)
    return exact


def exact_key_values(
    values: Sequence[object], data_type: DataType, arrow_type: pa.DataType
) -> pa.Array:
    """Return Python values in a key column's type, each unchanged; None becomes null.

    Raises:
        ValueError: As `exact_array`.
    """
    present = [value for value in values if value is not None]
    exact = exact_array(present, data_type, arrow_type)
    assert len(exact) == len(present), "value by value"
    if len(present) == len(values):
        return exact
    # The index of each value among those present; nulls take no value.
    is_valid = np.array([value is not None for value in values])
    return exact.take(pa.array(np.cumsum(is_valid) - 1, mask=~is_valid))


def _is_taken(kind: pa.DataType, data_type: DataType) -> bool:
    is_moment = data_type.root in (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
    if is_moment and (data_type.precision or 0) > 6 and _is.is_integer(kind):
        return True  # whole nanoseconds since 1970, as Python has no type for them
    is_taken = _TAKEN.get(data_type.root)
    return is_taken is not None and is_taken(kind)


def _check_unrounded(given: pa.Array, held: pa.Array) -> None:
    # A cast to 32 bits and back changes a number that was rounded; NaN is unequal to itself.
    is_same = pc.or_(pc.equal(held.cast(given.type), given), pc.is_nan(given))
    if pc.all(is_same).as_py() is False:
        message = "expected numbers that 32 bits hold exactly"
        raise ValueError(message)
