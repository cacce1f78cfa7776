"""Timestamps of precision 7 to 9 as Parquet's INT96, in files that have other timestamps as INT64.

The format requires INT96 for TIMESTAMP(7..9) and INT64 for the rest. Arrow's Parquet writer writes either
all timestamps of a file as INT96 or none. So:

1. Timestamps of precision 7 to 9, in a column or anywhere inside one, are passed to the writer as
   12-byte fixed-length binary, little endian: nanoseconds of the day (8 bytes), Julian day (4
   bytes). Plain and dictionary pages of that type are byte for byte those of INT96.
2. The footer is changed before it is written (`declare_int96`): physical type INT96, no length, no
   statistics (the order of INT96 values is undefined, and their bytes do not sort by time).

Leaves of a file are identified by their path, whose first name is the column's.

Arrow also reads INT96 and returns 64-bit nanoseconds, but it reports no error if a value does not
fit. Java writes times before 1970 with the Julian day rounded towards the epoch and *negative*
nanoseconds of the day, which Arrow reads as unsigned. The result is right modulo 2**64, but a time
in 1715 equals one in 2300, whatever unit is requested. `reveal_int96` is the inverse of
`declare_int96`: with the footer that it returns, the 12 bytes themselves can be read and checked
(`fits_nanoseconds`).
"""

from collections.abc import Callable, Collection, Mapping

import numpy as np
import pyarrow as pa

from braid.lake.files.parquet.thrift_compact import (
    ThriftStruct,
    WireType,
    parse_struct,
    serialize_struct,
)
from braid.lake.format.arrow_types import elements

INT96_STORAGE = pa.binary(12)
"""The Arrow type of an INT96 column for Arrow's writer."""

# Julian day of 1970-01-01, as Parquet counts: days begin at midnight.
_JULIAN_DAY_OF_EPOCH = 2_440_588
_NANOS_PER_DAY = 86_400_000_000_000
_PACKED = np.dtype([("nanos_of_day", "<i8"), ("julian_day", "<i4")])

# Field ids of the footer (parquet.thrift): FileMetaData.schema, and those of its SchemaElements.
_SCHEMA = 2
_TYPE = 1
_TYPE_LENGTH = 2
_NAME = 4
_CHILD_COUNT = 5
_CONVERTED_TYPE = 6
_LOGICAL_TYPE = 10

# parquet.thrift, enum Type.
_PARQUET_INT96 = 3
_PARQUET_FIXED_LENGTH = 7


def is_int96(data_type: pa.DataType) -> bool:
    """Return whether values of this Arrow type are stored as INT96."""
    return bool(pa.types.is_timestamp(data_type)) and data_type.unit == "ns"


def holds_int96(data_type: pa.DataType) -> bool:
    """Return whether values of this Arrow type, or parts of them, are stored as INT96."""
    parts = (data_type.field(index).type for index in range(data_type.num_fields))
    return is_int96(data_type) or any(holds_int96(part) for part in parts)


def to_int96_storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with each timestamp[ns], nested ones included, in its 12-byte form."""
    chunks = [_to_storage(chunk) for chunk in column.chunks]
    return pa.chunked_array(chunks, type=_storage_type(column.type))


def declare_int96(footer: bytes, columns: Collection[str]) -> bytes:
    """Return the footer with INT96 as the type of columns that were written as `INT96_STORAGE`.

    Args:
        footer: The serialised FileMetaData, without its length and the magic.
        columns: Top-level columns that were written in this form, or have leaves that were.
    """
    changed = parse_struct(footer)
    leaves = _leaves(changed, columns, _is_storage)
    assert leaves or not columns, "columns that were written as storage have such leaves"
    for element in leaves.values():
        element.fields[_TYPE] = (WireType.I32, _PARQUET_INT96)
        del element.fields[_TYPE_LENGTH]
    _set_chunk_type(changed, leaves, _PARQUET_INT96)
    return serialize_struct(changed)


def reveal_int96(footer: bytes, columns: Collection[str]) -> bytes:
    """Return the footer with `INT96_STORAGE` as the type of columns that are INT96.

    Args:
        footer: The serialised FileMetaData, without its length and the magic.
        columns: Top-level columns that are INT96, or hold such leaves.
    """
    changed = parse_struct(footer)
    leaves = _leaves(changed, columns, _is_int96_leaf)
    for element in leaves.values():
        element.fields[_TYPE] = (WireType.I32, _PARQUET_FIXED_LENGTH)
        element.fields[_TYPE_LENGTH] = (WireType.I32, INT96_STORAGE.byte_width)
    _set_chunk_type(changed, leaves, _PARQUET_FIXED_LENGTH)
    return serialize_struct(changed)


def fits_nanoseconds(storage: pa.Array) -> bool:
    """Return whether every revealed time fits into int64 nanoseconds since 1970.

    Args:
        storage: An array of `INT96_STORAGE`, or a nested one that holds such leaves.
    """
    if pa.types.is_struct(storage.type):
        return all(fits_nanoseconds(part) for part in storage.flatten())
    if pa.types.is_list(storage.type) or pa.types.is_map(storage.type):
        return fits_nanoseconds(elements(storage))
    return not storage.type.equals(INT96_STORAGE) or _all_fit(storage)


def _all_fit(storage: pa.Array) -> bool:
    packed = np.frombuffer(storage.buffers()[1], dtype=_PACKED)
    packed = packed[storage.offset : storage.offset + len(storage)]
    packed = packed[np.asarray(storage.is_valid())]
    # Java's nanoseconds of the day are negative before 1970: normalise to 0 <= nanos < a day.
    days, nanos = divmod(packed["nanos_of_day"], _NANOS_PER_DAY)
    days = days + packed["julian_day"].astype(np.int64) - _JULIAN_DAY_OF_EPOCH
    # Compared as pairs: the product of days and nanoseconds would overflow where it matters.
    first, first_nanos = divmod(-(1 << 63), _NANOS_PER_DAY)
    last, last_nanos = divmod((1 << 63) - 1, _NANOS_PER_DAY)
    early = (days < first) | ((days == first) & (nanos < first_nanos))
    late = (days > last) | ((days == last) & (nanos > last_nanos))
    return not bool(np.any(early | late))


def _pack(chunk: pa.Array) -> pa.Array:
    nanos = np.asarray(chunk.view(pa.int64()).fill_null(0))
    packed = np.empty(len(nanos), dtype=_PACKED)
    assert _PACKED.itemsize == INT96_STORAGE.byte_width, "the two fields lie side by side"
    # Rounded down, so that the nanoseconds are not negative before 1970: every reader reads such times alike.
    days, packed["nanos_of_day"] = divmod(nanos, _NANOS_PER_DAY)
    assert not len(nanos) or packed["nanos_of_day"].min() >= 0, "rounded down"
    packed["julian_day"] = days + _JULIAN_DAY_OF_EPOCH
    validity = chunk.is_valid().buffers()[1] if chunk.null_count else None
    return pa.Array.from_buffers(
        INT96_STORAGE, len(packed), [validity, pa.py_buffer(packed.tobytes())]
    )


def _storage_type(kind: pa.DataType) -> pa.DataType:
    if not holds_int96(kind):
        return kind
    if pa.types.is_struct(kind):
        return pa.struct([_storage_field(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(_storage_field(kind.key_field), _storage_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_storage_field(kind.value_field))
    return INT96_STORAGE


def _storage_field(field: pa.Field) -> pa.Field:
    return field.with_type(_storage_type(field.type))


def _to_storage(array: pa.Array) -> pa.Array:
    target = _storage_type(array.type)
    if not holds_int96(array.type):
        return array
    if pa.types.is_struct(target):
        parts = [_to_storage(array.field(index)) for index in range(target.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(target), mask=array.is_null())
    if pa.types.is_nested(target):
        # Validity and offsets are kept, and the array's offset too if it is a slice. The offsets then refer to
        # all child values, so these are converted from the beginning.
        return pa.Array.from_buffers(
            target,
            len(array),
            array.buffers()[:2],
            offset=array.offset,
            children=[_to_storage(array.values)],
        )
    return _pack(array)


Leaves = Mapping[tuple[str, ...], ThriftStruct]
"""Schema elements by path."""


def _leaves(
    footer: ThriftStruct, columns: Collection[str], is_wanted: Callable[[ThriftStruct], bool]
) -> Leaves:
    """Return the leaves of some columns that satisfy a predicate, by path."""
    # The schema tree is stored as a list in depth-first order, each element before its children; the
    # first is the root, which is not part of a path.
    elements = iter(footer.structs(_SCHEMA))
    root = next(elements)
    found: dict[tuple[str, ...], ThriftStruct] = {}

    def visit(path: tuple[str, ...]) -> None:
        element = next(elements)
        path = (*path, element.text(_NAME))
        if _CHILD_COUNT not in element.fields:
            if path[0] in columns and is_wanted(element):
                found[path] = element
            return
        for _ in range(element.integer(_CHILD_COUNT)):
            visit(path)

    for _ in range(root.integer(_CHILD_COUNT)):
        visit(())

    return found


def _is_storage(leaf: ThriftStruct) -> bool:
    # A decimal of 12 bytes has the same physical type, but declares that it is a decimal.
    return (
        leaf.integer(_TYPE) == _PARQUET_FIXED_LENGTH
        and leaf.integer(_TYPE_LENGTH) == INT96_STORAGE.byte_width
        and leaf.fields.keys().isdisjoint({_CONVERTED_TYPE, _LOGICAL_TYPE})
    )


def _is_int96_leaf(leaf: ThriftStruct) -> bool:
    return leaf.integer(_TYPE) == _PARQUET_INT96


def _set_chunk_type(footer: ThriftStruct, leaves: Leaves, physical_type: int) -> None:
    # FileMetaData.row_groups = 4, RowGroup.columns = 1, ColumnChunk.meta_data = 3;
    # ColumnMetaData: type 1, path_in_schema 3, statistics 12.
    for row_group in footer.structs(4):
        for chunk in row_group.structs(1):
            meta = chunk.struct(3)
            if tuple(meta.texts(3)) in leaves:
                # Every chunk repeats the type of its column; readers refuse a file where the two differ.
                meta.fields[1] = (WireType.I32, physical_type)
                meta.fields.pop(12, None)
