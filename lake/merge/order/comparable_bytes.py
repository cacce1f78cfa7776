"""Comparable bytes: one byte string per row; compared as unsigned bytes, they have the order of the row's columns.

Each column becomes one byte, 0 for null and 1 for a value, and then the bytes of the value. So null is smallest. In a
column of fixed width a null has as many bytes as a value.

| form | bytes of a value |
|---|---|
| boolean | 1 |
| integer, of any width | 8, big endian, with the sign bit inverted |
| date, time | 8, as an integer: days, nanoseconds of the day |
| timestamp | 12: milliseconds as an integer, then nanoseconds of the millisecond |
| floating | 8, the bits of a double in Java's total order |
| decimal | 16, the unscaled value as an integer |
| text, bytes | the bytes, each zero byte followed by 255; then two zero bytes |

The forms do not depend on a type's width, length or precision (only on the scale of a DECIMAL), so bytes stored
before a column was widened within its form compare with those stored after.

Source: this engine; the order of values is that of table-format 13.1.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrays import combined_array, unpack_bits, validity
from braid.lake.format.data_types import DataType, TypeRoot
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.order.normalized_keys import from_floating

_FORMS = {
    TypeRoot.BOOLEAN: "boolean",
    **dict.fromkeys(
        (TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT), "integer"
    ),
    TypeRoot.DATE: "date",
    TypeRoot.TIME: "time",
    TypeRoot.TIMESTAMP: "timestamp",
    TypeRoot.TIMESTAMP_LTZ: "timestamp with local time zone",
    **dict.fromkeys((TypeRoot.FLOAT, TypeRoot.DOUBLE), "floating"),
    **dict.fromkeys((TypeRoot.CHAR, TypeRoot.VARCHAR), "text"),
    **dict.fromkeys((TypeRoot.BINARY, TypeRoot.VARBINARY), "bytes"),
}
_SIGN = np.uint64(1 << 63)
_INTEGER_BYTES = 9  # with the byte that tells null from a value
_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_MILLISECOND = 1_000_000  # nanoseconds

_Bytes = npt.NDArray[np.uint8]


def comparable_form(data_type: DataType) -> str | None:
    """Return the form in which values of a type are stored; None for a type that has none.

    Bytes of columns compare with each other iff the columns have the same forms.
    """
    if data_type.root is TypeRoot.DECIMAL:
        return f"decimal of scale {data_type.scale}"
    return _FORMS.get(data_type.root)


def comparable_bytes(columns: Sequence[pa.Array | pa.ChunkedArray]) -> pa.BinaryArray:
    """Return one value per row that compares as the rows do, without nulls.

    Args:
        columns: At least one, equally long, most significant first; each of a type with a
            `comparable_form`, in its Arrow form.
    """
    assert columns, "rows without columns have no order"
    found: list[pa.BinaryArray] = []
    fixed: list[_Bytes] = []
    for column in columns:
        array = combined_array(column)
        valid = validity(array)
        fixed.append(valid.astype(np.uint8).reshape(-1, 1))
        if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
            found += [_joined(fixed), _escaped(array, valid)]
            fixed = []
        else:
            for part in _fixed_parts(array):
                fixed.append(np.where(valid.reshape(-1, 1), part, np.uint8(0)))
    if fixed:
        found.append(_joined(fixed))
    if len(found) == 1:
        return found[0]
    return pc.binary_join_element_wise(*found, pa.scalar(b"", pa.binary()))


def trailing_integers(value: bytes, count: int) -> tuple[int | None, ...]:
    """Return the last values of a row in the form of `comparable_bytes`, whose last columns are integers.

    Args:
        value: A value that `comparable_bytes` has returned.
        count: The number of integer columns at its end.

    Example:
        >>> [value] = comparable_bytes(
        ...     [pa.array(["a"]), pa.array([-7]), pa.array([None], pa.int32())]
        ... )
        >>> trailing_integers(value.as_py(), 2)
        (-7, None)
    """
    ends = range(len(value) - (count - 1) * _INTEGER_BYTES, len(value) + 1, _INTEGER_BYTES)
    parts = [value[end - _INTEGER_BYTES : end] for end in ends]
    return tuple(int.from_bytes(part[1:], "big") - (1 << 63) if part[0] else None for part in parts)


def _fixed_parts(array: pa.Array) -> list[_Bytes]:
    """Return matrices of bytes, one row per value, whatever is there for null."""
    kind = array.type
    if pa.types.is_boolean(kind):
        bits = unpack_bits(array.buffers()[1], array.offset, len(array))
        return [bits.astype(np.uint8).reshape(-1, 1)]
    if pa.types.is_floating(kind):
        return [_big_endian(from_floating(array.fill_null(0).to_numpy(zero_copy_only=False)))]
    if pa.types.is_decimal128(kind):
        halves = np.frombuffer(array.buffers()[1], dtype=np.uint64).reshape(-1, 2)
        halves = halves[array.offset : array.offset + len(array)]
        return [_big_endian(halves[:, 1] ^ _SIGN), _big_endian(halves[:, 0])]
    if pa.types.is_timestamp(kind):
        unit = _NANOSECONDS[kind.unit]
        if unit >= _MILLISECOND:
            millis = _integers(array) * (unit // _MILLISECOND)
            return [_signed(millis), np.zeros((len(array), 4), dtype=np.uint8)]
        millis, rest = np.divmod(_integers(array), _MILLISECOND // unit)
        return [_signed(millis), (rest * unit).astype(">u4").view(np.uint8).reshape(-1, 4)]
    if pa.types.is_time(kind):
        return [_signed(_integers(array) * _NANOSECONDS[kind.unit])]
    assert pa.types.is_signed_integer(kind) or pa.types.is_date32(kind), f"{kind} has no form"
    return [_signed(_integers(array))]


def _integers(array: pa.Array) -> npt.NDArray[np.int64]:
    width = pa.int32() if array.type.bit_width == 32 else pa.int64()
    whole = array if pa.types.is_integer(array.type) else array.view(width)
    numbers: npt.NDArray[np.int64] = whole.cast(pa.int64()).fill_null(0).to_numpy()
    return numbers


def _signed(numbers: npt.NDArray[np.int64]) -> _Bytes:
    return _big_endian(numbers.view(np.uint64) ^ _SIGN)


def _big_endian(words: Uints) -> _Bytes:
    return words.astype(">u8").view(np.uint8).reshape(-1, 8)


def _joined(parts: Sequence[_Bytes]) -> pa.BinaryArray:
    """Return matrices of bytes, side by side, as one value per row."""
    whole = np.ascontiguousarray(np.concatenate(parts, axis=1))
    rows, width = whole.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * width
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(whole)]
    return pa.Array.from_buffers(pa.binary(), rows, buffers)


def _escaped(array: pa.Array, valid: npt.NDArray[np.bool_]) -> pa.BinaryArray:
    """Return texts or bytes so that none is the start of another; empty where there is none."""
    values = array.cast(pa.binary())
    values = pc.replace_substring(values, pattern=b"\x00", replacement=b"\x00\xff")
    ended = pc.binary_join_element_wise(
        values, pa.scalar(b"\x00\x00", pa.binary()), pa.scalar(b"", pa.binary())
    )
    return ended if valid.all() else ended.fill_null(b"")
