"""Leaf decoder: reads one scalar Avro value from each of the given messages of a batch into one array.

A message whose bytes do not fit the schema becomes odd (`cursors`); its value in the array is arbitrary.

Source: Apache Avro 1.12 specification, "Binary Encoding".
"""

from typing import Final

import numpy as np
import pyarrow as pa

from braid.formats.arrays import rows_not_utf8
from braid.formats.avro.cursors import Cursors, Ints
from braid.formats.avro.schema import AvroKind, AvroType
from braid.formats.native.kinds import NativeKind

_INT_BOUND: Final = 1 << 31
_DECIMAL_DIGITS: Final = 38
_DECIMAL_BYTES_MAX: Final = 15  # 16 bytes can have 39 digits


def has_leaf_array(declared: AvroType) -> bool:
    """Return whether values are read as the array of their leaf; all others are left to the exact decoder."""
    match declared.native_kind:
        case NativeKind.DECIMAL:  # Arrow has no longer fractions
            return declared.scale <= _DECIMAL_DIGITS
        case NativeKind.LIST | NativeKind.MAP | NativeKind.RECORD | NativeKind.UNREADABLE:
            return False
        case NativeKind.TEXT:  # not a UUID in bytes
            return declared.kind is not AvroKind.FIXED
        case _:
            return True


def read_leaves(cursors: Cursors, declared: AvroType, rows: Ints) -> pa.Array:
    """Read a value without parts in each of the rows.

    Args:
        cursors: The cursors, which are behind the values then.
        declared: The type of the values; `has_leaf_array` holds of it, or the array is not used.
        rows: The rows.

    Returns:
        The values in the type of their leaf's array (`native.leaf_arrays`), as many as rows.
    """
    match declared.kind:
        case AvroKind.NULL:
            return pa.nulls(len(rows), pa.string())
        case AvroKind.BOOLEAN:
            found = cursors.fixed(rows, "u1")
            cursors.refuse(rows[found > 1])
            return pa.array(found != 0)
        case AvroKind.INT:
            numbers = cursors.longs(rows)
            cursors.refuse(rows[(numbers < -_INT_BOUND) | (numbers >= _INT_BOUND)])
            return pa.array(numbers)
        case AvroKind.LONG:
            return pa.array(cursors.longs(rows))
        case AvroKind.FLOAT:
            return pa.array(cursors.fixed(rows, "<f4"))
        case AvroKind.DOUBLE:
            return pa.array(cursors.fixed(rows, "<f8"))
        case AvroKind.ENUM:
            return pa.array(declared.symbols, pa.string()).take(
                pa.array(read_indexes(cursors, len(declared.symbols), rows))
            )
        case AvroKind.STRING:
            return read_texts(cursors, rows)
        case _:
            return _bytes(cursors, declared, rows)


def read_texts(cursors: Cursors, rows: Ints) -> pa.StringArray:
    """Read a text in each of the rows."""
    starts, lengths = cursors.spans(rows, cursors.longs(rows))
    found = cursors.binary(starts, lengths)
    try:
        return found.cast(pa.string())
    except pa.ArrowInvalid:
        wrong = rows_not_utf8(found)
        cursors.refuse(rows[wrong])
        lengths = lengths.copy()
        lengths[wrong] = 0
        return cursors.binary(starts, lengths).cast(pa.string())


def _bytes(cursors: Cursors, declared: AvroType, rows: Ints) -> pa.Array:
    is_fixed = declared.kind is AvroKind.FIXED
    sizes = declared.size if is_fixed else cursors.longs(rows)
    starts, lengths = cursors.spans(rows, sizes)
    match declared.native_kind:
        case NativeKind.DECIMAL:
            wrong = np.flatnonzero(lengths > _DECIMAL_BYTES_MAX)
            if len(wrong):
                cursors.refuse(rows[wrong])
                lengths = lengths.copy()
                lengths[wrong] = 0
            numbers = pa.py_buffer(cursors.unscaled(starts, lengths))
            kind = pa.decimal128(_DECIMAL_DIGITS, declared.scale)
            return pa.Array.from_buffers(kind, len(rows), [None, numbers])
        case _:
            return cursors.binary(starts, lengths)


def read_indexes(cursors: Cursors, count: int, rows: Ints) -> Ints:
    """Read the indexes of branches or symbols; rows with another number become odd."""
    found = cursors.longs(rows)
    wrong = np.flatnonzero((found < 0) | (found >= count))
    if len(wrong):
        cursors.refuse(rows[wrong])
        found[wrong] = 0
    return found
