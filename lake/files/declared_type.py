"""Casts of decoded columns to the Arrow form of their declared type.

Inside a null value, a decoder makes every nested value null. If such a value is a NOT NULL field of a ROW,
Arrow's cast fails. So nested columns are cast to a type in which everything may be null, and the result gets
the declared nullability without a further cast. `without_hidden_nulls` is for writers, which refuse these nulls too.
"""

import pyarrow as pa

from braid.lake.errors import UnsupportedFeature
from braid.lake.files.parquet.int96 import is_int96
from braid.lake.format.arrow_types import VARIANT_TYPE


def to_declared_type(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Return a column in the Arrow form of its declared type.

    Args:
        column: Column of a type that can be cast to `target`.
        target: The Arrow form of the declared type.

    Raises:
        pyarrow.ArrowInvalid: A value does not fit.
        UnsupportedFeature: A VARIANT column is shredded: parts of its values are columns of their own.
    """
    if column.type.equals(target):
        return column
    if _is_shredded(column.type, target):
        message = (
            "the file has a shredded VARIANT column, which this version cannot read\n"
            "hint: unset `variant.shreddingSchema` and `variant.inferShreddingSchema`, and let the engine "
            "that wrote the file compact the table"
        )
        raise UnsupportedFeature(message)
    if is_int96(column.type) and is_int96(target):
        return column.view(target)  # INT96 has no time zone; the instant is UTC either way
    if not pa.types.is_nested(target):
        return column.cast(target)
    return _declared(column.cast(to_nullable_type(target)), target)


def _is_shredded(stored: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a stored type has, anywhere, other parts where the target has those of a VARIANT."""
    if pa.types.is_struct(target) and pa.types.is_struct(stored):
        if target.names == VARIANT_TYPE.names:
            return sorted(stored.names) != sorted(target.names)
        return any(
            _is_shredded(stored.field(field.name).type, field.type)
            for field in target
            if field.name in stored.names
        )
    if pa.types.is_map(target) and pa.types.is_map(stored):
        return _is_shredded(stored.key_type, target.key_type) or _is_shredded(
            stored.item_type, target.item_type
        )
    if pa.types.is_list(target) and pa.types.is_list(stored):
        return _is_shredded(stored.value_type, target.value_type)
    return False


def to_nullable_type(data_type: pa.DataType) -> pa.DataType:
    """Return the type with every nested value nullable, except keys of maps."""
    if pa.types.is_struct(data_type):
        return pa.struct([_nullable_field(field) for field in data_type])
    if pa.types.is_map(data_type):
        key = data_type.key_field.with_type(to_nullable_type(data_type.key_type))
        return pa.map_(key, _nullable_field(data_type.item_field))
    if pa.types.is_list(data_type):
        return pa.list_(_nullable_field(data_type.value_field))
    return data_type


def _nullable_field(field: pa.Field) -> pa.Field:
    return field.with_type(to_nullable_type(field.type)).with_nullable(True)


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


def without_hidden_nulls(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the same values, in which NOT NULL parts of a null value are not null, but arbitrary; copies no values.

    Arrow's operations make all parts of a null value null. Its casts and its Parquet writer refuse such parts if they are
    declared NOT NULL.
    """
    if not pa.types.is_nested(values.type):
        return values
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array(map(without_hidden_nulls, values.chunks), values.type)
    kind = values.type
    if pa.types.is_struct(kind):
        parts = []
        for index, field in enumerate(kind):
            part = without_hidden_nulls(values.field(index))
            is_hidden = part.null_count and not field.nullable
            parts.append(_without_validity(part) if is_hidden else part)
        mask = values.is_null() if values.null_count else None
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    inner = without_hidden_nulls(values.values)
    return pa.Array.from_buffers(
        kind, len(values), values.buffers()[:2], offset=values.offset, children=[inner]
    )


def _without_validity(array: pa.Array) -> pa.Array:
    if pa.types.is_struct(array.type):
        # `field` respects the offset.
        parts = [array.field(index) for index in range(array.type.num_fields)]
        return pa.StructArray.from_arrays(
            [without_hidden_nulls(part) for part in parts], fields=list(array.type)
        )
    own = 2 if pa.types.is_nested(array.type) else len(array.buffers())
    children = [array.values] if pa.types.is_nested(array.type) else None
    return pa.Array.from_buffers(
        array.type,
        len(array),
        [None, *array.buffers()[1:own]],
        null_count=0,
        offset=array.offset,
        children=children,
    )
