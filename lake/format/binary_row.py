"""Binary rows: the serialised form of keys, partitions and bounds in manifests.

A serialised row is its arity as 4 bytes big-endian, then the row in the layout of `row_words`. Numbers in the row
are little-endian, except decimals of 19 digits and more; offsets count from the row's first byte, and its size is a
multiple of 8.

```
INT 42           00000001 0000000000000000 2a00000000000000
STRING abcdefgh  00000001 0000000000000000 0800000010000000 6162636465666768
```

Python values are as `to_pylist` of the column's Arrow form returns them, except timestamps of precision 7 and
more: these are numbers of nanoseconds since 1970, because `datetime` has no nanoseconds. A nested field has to be null.

Source: table-format 8.
"""

import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from braid.lake.errors import CorruptData, Problem, SchemaMismatch, UnsupportedFeature
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.data_types import (
    BYTES_ROOTS,
    TEXT_ROOTS,
    TIMESTAMP_ROOTS,
    DataField,
    DataType,
    TypeRoot,
)
from braid.lake.format.row_columns import decode_rows
from braid.lake.format.row_words import (
    ARITY_BYTES,
    WORD_BYTES,
    Int64Array,
    RowWords,
    UInt64Array,
    header_word_count,
    is_compact_decimal,
    is_compact_timestamp,
    row_blocks,
    type_of,
)

__all__ = ["EMPTY_ROW", "decode_row", "decode_rows", "encode_row", "encode_rows"]

# A row without fields: arity 0 and one header word.
EMPTY_ROW: Final = bytes(ARITY_BYTES + WORD_BYTES)

_BLOCK_ROWS = 65_536
_EPOCH_DATE = date(1970, 1, 1)
EPOCH = datetime.combine(_EPOCH_DATE, time.min)
"""Origin of date-times without a zone."""
_NUMBER_FORMATS: Final = {
    TypeRoot.BOOLEAN: "<?",
    TypeRoot.TINYINT: "<b",
    TypeRoot.SMALLINT: "<h",
    TypeRoot.INT: "<i",
    TypeRoot.BIGINT: "<q",
    TypeRoot.FLOAT: "<f",
    TypeRoot.DOUBLE: "<d",
}


def encode_row(values: Sequence[object], types: Sequence[DataType | DataField]) -> bytes:
    """Return one serialised row.

    Args:
        values: One value per field; None is null. Temporal values may be numbers in the unit of the
            Arrow form.
        types: One type per field.

    Raises:
        SchemaMismatch: A value does not fit its type.
    """
    assert len(values) == len(types), "one value per field"
    if not types:
        return EMPTY_ROW
    pairs = zip(values, types, strict=True)
    return encode_rows([_one_value(value, type_of(part)) for value, part in pairs], types)[0]


def encode_rows(
    arrays: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType | DataField]
) -> list[bytes]:
    """Return the serialised row of every row of the columns, in row order.

    Args:
        arrays: One column per field (at least one), all of one length, in any chunks.
        types: One type per field.

    Raises:
        SchemaMismatch: A column has the wrong type.
        UnsupportedFeature: A nested column has a value that is not null.
    """
    assert len(arrays) > 0, "without columns the number of rows is unknown"
    arity = len(arrays).to_bytes(ARITY_BYTES, "big")
    rows: list[bytes] = []
    for words in row_blocks(arrays, types, block_rows=_BLOCK_ROWS):
        data, ends = _join_words(words)
        assert len(ends) == words.row_count, "one end per row"
        assert not ends or ends[-1] == len(data), "every word belongs to a row"
        rows += [arity + data[start:end] for start, end in pairwise([0, *ends])]
    return rows


def decode_row(data: bytes, types: Sequence[DataType | DataField]) -> tuple[object, ...]:
    """Return the values of one serialised row; None for null.

    Raises:
        CorruptData: The arity is not that of `types`, or the bytes end early.
        UnsupportedFeature: A nested field is not null, or a date is not in the years 1 to 9999.
    """
    row = memoryview(data)[ARITY_BYTES:]
    _check_arity(data, len(types))
    slots = header_word_count(len(types)) * WORD_BYTES
    try:
        return tuple(
            _read_value(row, slots + WORD_BYTES * index, type_of(part), _is_null(row, index))
            for index, part in enumerate(types)
        )
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        text = f"binary row of {len(data)} bytes cannot be read: {error}"
        raise CorruptData(text) from error
    except OverflowError as error:
        text = "a binary row holds a date outside of the years 1 to 9999, which this version cannot read"
        raise UnsupportedFeature(text) from error


def _one_value(value: object, data_type: DataType) -> pa.Array:
    try:
        return pa.array([value], type=to_arrow_type(data_type))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        problem = Problem(
            field=str(data_type), value=repr(value), message=f"expected a value of {data_type}"
        )
        text = f"the value {value!r} does not fit `{data_type}`"
        raise SchemaMismatch(text, problems=[problem]) from error


def _join_words(rows: RowWords) -> tuple[bytes, list[int]]:
    """Return the concatenated rows, and the end of each in bytes."""
    counts = rows.word_counts()
    if isinstance(counts, int):
        counts = np.full(rows.row_count, counts, dtype=np.int64)
    ends = np.cumsum(counts)
    starts = ends - counts
    words = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint64)
    for position, slot in enumerate(rows.fixed):
        if slot.low is not None:
            words[starts + position] = slot.low
        if slot.high is not None:
            words[starts + position] |= slot.high.astype(np.uint64) << np.uint64(32)
    _write_variable_words(words, rows, starts + len(rows.fixed))
    return words.tobytes(), (ends * WORD_BYTES).tolist()


def _write_variable_words(words: UInt64Array, rows: RowWords, begins: Int64Array) -> None:
    """Write the variable parts of all rows.

    Args:
        words: Words of all rows, concatenated; the variable parts are written into it.
        rows: The rows.
        begins: Index of the first word of the first variable part of each row.
    """
    for part in rows.variable:
        counts = part.word_counts
        if isinstance(counts, int):
            for position in range(counts):
                words[begins + position] = part.words(position, slice(None))
        else:
            # For each word its row and its position within the part.
            owners = np.repeat(np.arange(rows.row_count), counts)
            positions = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
            words[begins[owners] + positions] = part.words(positions, owners)
        begins = begins + counts


def _check_arity(data: bytes, expected: int) -> None:
    fixed = ARITY_BYTES + WORD_BYTES * (header_word_count(expected) + expected)
    arity = int.from_bytes(data[:ARITY_BYTES], "big")
    if arity != expected or len(data) < fixed:
        text = (
            f"binary row of {len(data)} bytes has {arity} fields, "
            f"expected {expected} fields in at least {fixed} bytes"
        )
        raise CorruptData(text)


def _is_null(row: memoryview, index: int) -> bool:
    byte, bit = divmod(8 + index, 8)
    return bool(row[byte] >> bit & 1)


def _read_value(row: memoryview, slot: int, data_type: DataType, is_null: bool) -> object:
    if is_null:
        return None
    root = data_type.root
    if root in _NUMBER_FORMATS:
        return struct.unpack_from(_NUMBER_FORMATS[root], row, slot)[0]
    if root in TEXT_ROOTS:
        return str(_read_bytes(row, slot), "utf-8")
    if root in BYTES_ROOTS:
        return bytes(_read_bytes(row, slot))
    if root in TIMESTAMP_ROOTS:
        return _read_timestamp(row, slot, data_type)
    match root:
        case TypeRoot.DATE:
            return _EPOCH_DATE + timedelta(days=struct.unpack_from("<i", row, slot)[0])
        case TypeRoot.TIME:
            (millis,) = struct.unpack_from("<i", row, slot)
            return (EPOCH + timedelta(milliseconds=millis)).time()
        case TypeRoot.DECIMAL:
            return _read_decimal(row, slot, data_type)
        case _:
            text = f"a binary row holds a value of `{data_type}`, which this version cannot read"
            raise UnsupportedFeature(text)


def _read_bytes(row: memoryview, slot: int) -> memoryview:
    # The last byte of a slot with a short value is the length of the value, plus the mark 0x80.
    mark = row[slot + 7]
    if mark & 0x80:
        return row[slot : slot + (mark & 0x7F)]
    return _read_variable_part(row, slot)


def _read_decimal(row: memoryview, slot: int, data_type: DataType) -> Decimal:
    if is_compact_decimal(data_type):
        (unscaled,) = struct.unpack_from("<q", row, slot)
    else:
        unscaled = int.from_bytes(_read_variable_part(row, slot), "big", signed=True)
    assert data_type.scale is not None, data_type
    sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
    # Built from digits, because arithmetic would round to the precision of the decimal context.
    return Decimal((sign, digits, -data_type.scale))


def _read_variable_part(row: memoryview, slot: int) -> memoryview:
    length, offset = struct.unpack_from("<II", row, slot)
    if offset + length > len(row):
        text = f"{length} bytes at offset {offset} are not within a row of {len(row)} bytes"
        raise IndexError(text)
    return row[offset : offset + length]


def _read_timestamp(row: memoryview, slot: int, data_type: DataType) -> datetime | int:
    if is_compact_timestamp(data_type):
        (millis,), nanos = struct.unpack_from("<q", row, slot), 0
    else:
        nanos, offset = struct.unpack_from("<II", row, slot)
        (millis,) = struct.unpack_from("<q", row, offset)
    assert data_type.precision is not None, data_type
    if data_type.precision > 6:
        return int(millis) * 1_000_000 + int(nanos)
    value = EPOCH + timedelta(milliseconds=millis, microseconds=nanos // 1_000)
    return value.replace(tzinfo=UTC) if data_type.root is TypeRoot.TIMESTAMP_LTZ else value
