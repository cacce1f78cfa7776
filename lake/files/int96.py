"""Timestamps of more than six digits as Parquet's INT96, in files that hold others too.

The format wants INT96 for TIMESTAMP(7..9) and INT64 for the rest. Arrow's Parquet writer can only
turn all timestamps of a file into INT96 or none. So:

1. The column is handed to the writer as 12-byte fixed-length binary, little endian: nanoseconds of
   the day (8 bytes), Julian day (4 bytes). Plain and dictionary pages of that type are byte for
   byte those of INT96.
2. In the finished file the footer is changed: physical type INT96, no length, no statistics (their
   order is undefined for INT96, and the bytes do not sort).

Reading is Arrow's business, but for one question that it cannot answer: whether a value lies beyond
the 64 bits of nanoseconds that Arrow makes of it. Java writes times before 1970 with the Julian day
rounded towards the epoch and *negative* nanoseconds of the day, which Arrow takes as unsigned: right
modulo 2**64, but then 1715 and 2300 look the same whatever unit is asked for. So `reveal_int96` says
in a footer what `declare_int96` takes back, and the 12 bytes can be looked at (`fits_nanoseconds`).
"""

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from lake.files.thrift_compact import (
    ThriftStruct,
    WireType,
    parse_struct,
    serialize_struct,
)

INT96_STORAGE = pa.binary(12)
"""What an INT96 column is while Arrow's writer sees it."""

_JULIAN_DAY_OF_EPOCH = 2_440_588
_NANOS_PER_DAY = 86_400_000_000_000
_PACKED = np.dtype([("nanos_of_day", "<i8"), ("julian_day", "<i4")])

_PARQUET_INT96 = 3
_PARQUET_FIXED_LENGTH = 7
_MAGIC = b"PAR1"


def is_int96(data_type: pa.DataType) -> bool:
    """Return whether values of this Arrow type are stored as INT96."""
    return bool(pa.types.is_timestamp(data_type)) and data_type.unit == "ns"


def to_int96_storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the 12-byte form of a timestamp[ns] column; nulls stay null."""
    return pa.chunked_array([_pack(chunk) for chunk in column.chunks], type=INT96_STORAGE)


def declare_int96(file: pa.Buffer, columns: Collection[str]) -> tuple[pa.Buffer, bytes]:
    """Return the part of a Parquet file before its footer, and a footer that says INT96.

    Args:
        file: A complete Parquet file.
        columns: Top-level columns that were written as `INT96_STORAGE`.

    Returns:
        (everything before the footer, not copied; the new footer with length and magic).
    """
    tail = file.slice(file.size - 8).to_pybytes()
    assert tail[4:] == _MAGIC, "not a Parquet file"
    footer_size = int.from_bytes(tail[:4], "little")
    start = file.size - 8 - footer_size
    footer = parse_struct(file.slice(start, footer_size).to_pybytes())
    _change_schema(footer, columns)
    _set_chunk_type(footer, columns, _PARQUET_INT96)
    data = serialize_struct(footer)
    return file.slice(0, start), data + len(data).to_bytes(4, "little") + _MAGIC


def reveal_int96(footer: bytes, columns: Collection[str]) -> bytes:
    """Return a footer that says `INT96_STORAGE` of columns that are INT96.

    Args:
        footer: The serialised FileMetaData, without its length and the magic.
        columns: Top-level columns that are INT96.
    """
    changed = parse_struct(footer)
    for element in changed.structs(2):
        if 1 in element.fields and element.text(4) in columns:
            element.fields[1] = (WireType.I32, _PARQUET_FIXED_LENGTH)
            element.fields[2] = (WireType.I32, INT96_STORAGE.byte_width)
    _set_chunk_type(changed, columns, _PARQUET_FIXED_LENGTH)
    return serialize_struct(changed)


def fits_nanoseconds(storage: pa.Array) -> bool:
    """Return whether every value of an `INT96_STORAGE` array is a time that int64 nanoseconds hold."""
    packed = np.frombuffer(storage.buffers()[1], dtype=_PACKED)
    packed = packed[storage.offset : storage.offset + len(storage)]
    packed = packed[np.asarray(storage.is_valid())]
    # The nanoseconds may be negative; then they count back from the day.
    days, nanos = divmod(packed["nanos_of_day"], _NANOS_PER_DAY)
    days = days + packed["julian_day"].astype(np.int64) - _JULIAN_DAY_OF_EPOCH
    first, first_nanos = divmod(-(1 << 63), _NANOS_PER_DAY)
    last, last_nanos = divmod((1 << 63) - 1, _NANOS_PER_DAY)
    early = (days < first) | ((days == first) & (nanos < first_nanos))
    late = (days > last) | ((days == last) & (nanos > last_nanos))
    return not bool(np.any(early | late))


def _pack(chunk: pa.Array) -> pa.Array:
    nanos = np.asarray(chunk.view(pa.int64()).fill_null(0))
    packed = np.empty(len(nanos), dtype=_PACKED)
    days, packed["nanos_of_day"] = divmod(nanos, _NANOS_PER_DAY)
    packed["julian_day"] = days + _JULIAN_DAY_OF_EPOCH
    validity = chunk.is_valid().buffers()[1] if chunk.null_count else None
    return pa.Array.from_buffers(
        INT96_STORAGE, len(packed), [validity, pa.py_buffer(packed.tobytes())]
    )


def _change_schema(footer: ThriftStruct, columns: Collection[str]) -> None:
    # FileMetaData.schema = 2; SchemaElement: type 1, type_length 2, name 4.
    for element in footer.structs(2):
        if 1 in element.fields and element.text(4) in columns:
            element.fields[1] = (WireType.I32, _PARQUET_INT96)
            element.fields.pop(2, None)


def _set_chunk_type(footer: ThriftStruct, columns: Collection[str], physical_type: int) -> None:
    # FileMetaData.row_groups = 4, RowGroup.columns = 1, ColumnChunk.meta_data = 3;
    # ColumnMetaData: type 1, path_in_schema 3, statistics 12.
    for row_group in footer.structs(4):
        for chunk in row_group.structs(1):
            meta = chunk.struct(3)
            path = meta.texts(3)
            if len(path) == 1 and path[0] in columns:
                meta.fields[1] = (WireType.I32, physical_type)
                meta.fields.pop(12, None)
