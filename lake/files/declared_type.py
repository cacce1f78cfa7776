"""Casts of decoded columns to the Arrow form of their declared type.

Inside a null value, a decoder makes every nested value null. If such a value is a NOT NULL field of a ROW,
Arrow's cast fails. So nested columns are cast to a type in which everything may be null, and the result gets
the declared nullability without a further cast.
"""

import pyarrow as pa

from braid.lake.files.parquet.int96 import is_int96


def to_declared_type(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Return a column in the Arrow form of its declared type.

    Args:
        column: Column of a type that can be cast to `target`.
        target: The Arrow form of the declared type.

    Raises:
        pyarrow.ArrowInvalid: A value does not fit.
    """
    if column.type.equals(target):
        return column
    if is_int96(column.type) and is_int96(target):
        return column.view(target)  # INT96 has no time zone; the instant is UTC either way
    if not pa.types.is_nested(target):
        return column.cast(target)
    return _declared(column.cast(_nullable(target)), target)


def _nullable(data_type: pa.DataType) -> pa.DataType:
    """Return the type with every nested value nullable, except keys of maps."""
    if pa.types.is_struct(data_type):
        return pa.struct([_nullable_field(field) for field in data_type])
    if pa.types.is_map(data_type):
        key = data_type.key_field.with_type(_nullable(data_type.key_type))
        return pa.map_(key, _nullable_field(data_type.item_field))
    if pa.types.is_list(data_type):
        return pa.list_(_nullable_field(data_type.value_field))
    return data_type


def _nullable_field(field: pa.Field) -> pa.Field:
    return field.with_type(_nullable(field.type)).with_nullable(True)


def _declared(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the same values under a type that differs in nullability only; copies no values."""
    if array.type.equals(target):
        return array
    if pa.types.is_struct(target):
        children = [
            _declared(array.field(index), target.field(index).type)
            for index in range(target.num_fields)
        ]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)
    entries = target.field(0).type if pa.types.is_map(target) else target.value_type
    return pa.Array.from_buffers(
        target,
        len(array),
        array.buffers()[:2],
        offset=array.offset,
        children=[_declared(array.values, entries)],
    )
