"""Arrow casts that truncate timestamps and times, also inside of lists, maps and structs.

Arrow itself refuses such casts or rounds them wrongly. Times are truncated only by a cast from 64 to 32 bits. `with_child` and
`with_map_entries` replace the values of a list or map array and keep its offsets.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def cut_cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return an array in another type, as Arrow casts it, except that timestamps and times are truncated.

    Args:
        column: The array; may be a slice.
        wanted: The wanted type: of the same kind, with other parts, names and nullability.

    Returns:
        The same number of values. Timestamps, and times of 64 bits that become 32, have the digits of `wanted`; further
        digits are cut off, towards the past.

    Raises:
        pyarrow.ArrowInvalid: A value does not fit the type.
    """
    if column.type.equals(wanted, check_metadata=True):
        return column
    kinds = pa.types
    if kinds.is_timestamp(wanted) and kinds.is_timestamp(column.type):
        return _cut(column, wanted)
    if kinds.is_time32(wanted) and kinds.is_time64(column.type):
        return _cut_time(column, wanted)
    if kinds.is_struct(wanted):
        fields = zip(column.flatten(), wanted, strict=True)
        # `flatten` applies the struct's own nulls and offset, so the parts have its length.
        parts = [cut_cast(part, field.type) for part, field in fields]
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=column.is_null())
    if kinds.is_map(wanted):
        keys = cut_cast(column.keys, wanted.key_type)
        items = cut_cast(column.items, wanted.item_type)
        return with_map_entries(column, wanted, keys, items)
    if kinds.is_list(wanted):
        return with_child(column, wanted, cut_cast(column.values, wanted.value_type))
    return column.cast(wanted)


def _cut(column: pa.TimestampArray, wanted: pa.TimestampType) -> pa.TimestampArray:
    # For a finer wanted unit this is 0: nothing is cut off, and Arrow multiplies.
    factor = _PER_SECOND[column.type.unit] // _PER_SECOND[wanted.unit]
    if factor <= 1:
        return column.cast(wanted)
    # Arrow rounds towards zero, which is the past only after 1970; the format's writers round down.
    found = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    is_null = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(np.floor_divide(found, factor), mask=is_null).cast(wanted)


def _cut_time(column: pa.Time64Array, wanted: pa.Time32Type) -> pa.Time32Array:
    factor = _PER_SECOND[column.type.unit] // _PER_SECOND[wanted.unit]
    return pc.divide(column.cast(pa.int64()), factor).cast(pa.int32()).cast(wanted)


def with_map_entries(
    column: pa.MapArray, wanted: pa.MapType, keys: pa.Array, items: pa.Array
) -> pa.MapArray:
    """Return a map, which may be a slice, with other entries of another type under the same nulls and offsets."""
    fields = [wanted.key_field, wanted.item_field]
    return with_child(column, wanted, pa.StructArray.from_arrays([keys, items], fields=fields))


def with_child(column: pa.Array, wanted: pa.DataType, child: pa.Array) -> pa.Array:
    """Return a list or map, which may be a slice, with other values of another type under the same nulls and offsets."""
    return pa.Array.from_buffers(
        wanted,
        len(column),
        column.buffers()[:2],
        null_count=column.null_count,
        offset=column.offset,
        children=[child],
    )
