"""Lossless conversion of column values to plain Python values and back.

| type | value |
|---|---|
| BOOLEAN, integers, FLOAT and DOUBLE, text, bytes | `bool`, `int`, `float`, `str`, `bytes` |
| DECIMAL | `decimal.Decimal` |
| DATE, TIME, TIMESTAMP | `int`, in the units of the Arrow type |
| ARRAY | `list` |
| ROW | `tuple`, one value per field |
| MAP, MULTISET | `list` of `(key, value)` |

Null is None, at every depth.
"""

import itertools
from collections.abc import Sequence

import pyarrow as pa

_DECIMAL_PRECISION_MAX = 38


def plain_values(column: pa.Array | pa.ChunkedArray) -> list[object]:
    """Return one value per row."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [value for chunk in chunks for value in _values(chunk)]


def plain_array(values: Sequence[object], data_type: pa.DataType) -> pa.Array:
    """Return values of `plain_values` as an array of the type.

    Raises:
        pa.ArrowInvalid, pa.ArrowTypeError: A value does not fit the type.
    """
    return _with_type(pa.array(values, type=_plain_type(data_type)), data_type)


def _values(array: pa.Array) -> list[object]:
    kind = array.type
    if pa.types.is_struct(kind):
        if not kind.num_fields:
            return [() if valid else None for valid in array.is_valid().to_pylist()]
        rows = zip(*(_values(child) for child in array.flatten()), strict=True)
        return _where_valid(array, list(rows))
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        # A map is a list of structs of key and value.
        return _lists(array)
    if pa.types.is_temporal(kind):
        array = array.view(_integer_type(kind))
    return list(array.to_pylist())


def _lists(array: pa.Array) -> list[object]:
    offsets = array.offsets.to_pylist()
    # A slice of the array still has the elements of the whole; only its own are converted.
    first, last = offsets[0], offsets[-1]
    elements = _values(array.values.slice(first, last - first))
    bounds = itertools.pairwise(offset - first for offset in offsets)
    return _where_valid(array, [elements[start:stop] for start, stop in bounds])


def _where_valid(array: pa.Array, values: Sequence[object]) -> list[object]:
    valid = array.is_valid().to_pylist()
    return [value if ok else None for value, ok in zip(values, valid, strict=True)]


def _integer_type(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that reads the same buffers with dates and times as integers.

    DECIMALs get the largest precision: a `sum` of at most 18 digits may exceed its own
    (merge-semantics 4).
    """
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(_plain_field(kind.key_field), _plain_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    if pa.types.is_decimal128(kind):
        return pa.decimal128(_DECIMAL_PRECISION_MAX, kind.scale)
    return _integer_type(kind) if pa.types.is_temporal(kind) else kind


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain_type(field.type))


def _with_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array of type `_plain_type(kind)` as one of type `kind`, with the same buffers."""
    if array.type == kind:
        return array
    if pa.types.is_temporal(kind) or pa.types.is_decimal128(kind):
        return array.view(kind)
    if pa.types.is_struct(kind):
        children = [_with_type(array.field(i), kind.field(i).type) for i in range(kind.num_fields)]
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null())
    validity, offsets = array.buffers()[:2]
    if pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays(
            [_with_type(array.keys, kind.key_type), _with_type(array.items, kind.item_type)],
            fields=[kind.key_field, kind.item_field],
        )
    else:
        entries = _with_type(array.values, kind.value_type)
    return pa.Array.from_buffers(
        kind, len(array), [validity, offsets], offset=array.offset, children=[entries]
    )
