"""The writer of ORC data files.

Arrow's writer buffers rows until they fill a stripe, and a reader decodes a stripe as a whole, so
stripes are small. The size of a file is an estimate until the next stripe is written.

ORC has no type for a time of day: the format stores its milliseconds as an int. Field ids are
attributes of the columns' types, as the reference writes them. Arrow's writer has no level for zstd,
only "speed" (levels up to 3) and "compression".

Nested columns are copied into a form that Arrow's writer writes correctly. If the sink of Arrow's
writer fails while the file is closed, Arrow ends the whole process. So the writer writes into
memory, and the written bytes are copied to the sink after each call.

Source: table-format 12; `org.apache.paimon.format.orc.OrcTypeUtil`.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from braid.lake.files.file_encoding import FileEncoding
from braid.lake.files.parquet.bounds import ColumnBounds

STRIPE_BYTES: Final = 4 * 1024 * 1024
"""Encoded bytes of a stripe; about 200 000 rows of 50 bytes."""

_STRIPE_BYTES_MIN: Final = 8 * 1024
_STRIPES_PER_FILE_MIN: Final = 8
"""Small files get smaller stripes, so that the estimate of their size is rarely off by much."""

_COMPRESSED_TO: Final = 0.4
"""Assumed ratio of encoded bytes to bytes in memory, until the first stripe gives the real one."""

_DICTIONARY_KEYS_MAX: Final = 0.8
"""Greatest share of distinct values in a column with a dictionary, as in the reference."""

_BLOCK_BYTES: Final = 64 * 1024
_FAST_LEVEL_MAX: Final = 3
_FIELD_ID: Final = b"PARQUET:field_id"
_ORC_FIELD_ID: Final = "paimon.id"


class OrcFormatWriter:
    """An ORC file (see `FormatWriter`)."""

    def __init__(
        self,
        sink: pa.NativeFile,
        columns: pa.Schema,
        encoding: FileEncoding,
        *,
        target_bytes: int,
    ) -> None:
        """Write the first bytes.

        Args:
            sink: Receives the bytes; its owner closes it.
            columns: Result of `data_file_schema`.
            encoding: Encoding of the file.
            target_bytes: Target size of the file; a file of this size has several stripes.
        """
        self._sink = sink
        self._schema = orc_schema(columns)
        self._flushed = 0
        self._flushed_in_memory = 0
        self._held_in_memory = 0
        stripe_bytes = target_bytes // _STRIPES_PER_FILE_MIN
        is_fast = encoding.codec != "zstd" or encoding.zstd_level <= _FAST_LEVEL_MAX
        self._written = _WrittenBytes()
        self._orc = orc.ORCWriter(
            pa.PythonFile(self._written, mode="w"),
            compression="uncompressed" if encoding.codec == "none" else encoding.codec,
            compression_strategy="speed" if is_fast else "compression",
            compression_block_size=_BLOCK_BYTES,
            stripe_size=min(STRIPE_BYTES, max(_STRIPE_BYTES_MIN, stripe_bytes)),
            dictionary_key_size_threshold=_DICTIONARY_KEYS_MAX,
        )

    @property
    def size(self) -> int:
        """Bytes of the written stripes, plus an estimate for the buffered rows."""
        shrunk_to = _COMPRESSED_TO
        if self._flushed_in_memory:
            shrunk_to = self._flushed / self._flushed_in_memory
        return self._flushed + int(self._held_in_memory * shrunk_to)

    def write(self, columns: pa.Table) -> None:
        """Buffer rows for the next stripes; full stripes are written."""
        self._orc.write(_normalised(columns.cast(self._schema)))
        self._written.copy_to(self._sink)
        self._held_in_memory += columns.nbytes
        flushed = int(self._sink.tell())
        # More than the magic of the file means that a stripe was written, with nearly all buffered rows.
        if flushed > self._flushed + len(b"ORC"):
            self._flushed_in_memory += self._held_in_memory
            self._flushed, self._held_in_memory = flushed, 0

    def finish(self) -> Mapping[str, ColumnBounds]:
        """Write the last stripe and the footer; Arrow does not expose ORC's statistics."""
        self._orc.close()
        self._written.copy_to(self._sink)
        return {}

    def abandon(self) -> None:
        """Write no footer: the file will be removed."""
        # The destructor of an open writer closes it, which would write the footer.
        self._orc.is_open = False


class _WrittenBytes:
    """A file object for Arrow that keeps what is written until it is copied to a sink."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._count = 0

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        self._count += len(data)
        return len(data)

    def tell(self) -> int:
        return self._count

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: the sink belongs to its owner."""

    def copy_to(self, sink: pa.NativeFile) -> None:
        pieces, self._pieces = self._pieces, []
        for piece in pieces:
            sink.write(piece)


def _normalised(columns: pa.Table) -> pa.Table:
    """Return the same rows, with nested columns in a form that Arrow's ORC writer writes correctly.

    The writer of Arrow 26 has two defects. It reads the values of a ROW at wrong positions if its array, or
    the array of a field, is a slice, as in every part of a table. And for a null ROW inside a ROW that is not
    null, it writes the values of those fields that are not null themselves, which readers then assign to a
    later row.
    """
    for index, field in enumerate(columns.schema):
        if pa.types.is_nested(field.type):
            chunks = [
                _normalised_array(chunk.take(pa.array(np.arange(len(chunk)))))
                for chunk in columns.column(index).chunks
            ]
            columns = columns.set_column(index, field, pa.chunked_array(chunks, field.type))
    return columns


def _normalised_array(array: pa.Array, present: pa.BooleanArray | None = None) -> pa.Array:
    """Return the array with null fields wherever a ROW is null.

    Requires: each level of the array begins at position 0, as it does after `take`.

    Args:
        array: An array of any type.
        present: One boolean per value, False for values to make null; None makes none null.
    """
    if present is not None:
        array = array.take(pc.if_else(present, pa.array(np.arange(len(array))), None))
    data_type = array.type
    if pa.types.is_struct(data_type):
        is_valid = array.is_valid() if array.null_count else None
        children = [
            _normalised_array(child, is_valid)
            for child in map(array.field, range(data_type.num_fields))
        ]
    elif pa.types.is_map(data_type):
        entry_fields = [data_type.key_field, data_type.item_field]
        entries = [_normalised_array(array.keys), _normalised_array(array.items)]
        children = [pa.StructArray.from_arrays(entries, fields=entry_fields)]
    elif pa.types.is_list(data_type):
        children = [_normalised_array(array.values)]
    else:
        return array
    own_buffers = 1 if pa.types.is_struct(data_type) else 2
    return pa.Array.from_buffers(
        data_type,
        len(array),
        array.buffers()[:own_buffers],
        null_count=array.null_count,
        children=children,
    )


def orc_schema(columns: pa.Schema) -> pa.Schema:
    """Return the Arrow schema from which Arrow's ORC writer makes the format's columns.

    Args:
        columns: Result of `data_file_schema`.
    """
    return pa.schema([_orc_field(field) for field in columns])


def _orc_field(field: pa.Field) -> pa.Field:
    own = field.with_type(_orc_type(field.type))
    if field.metadata is None or _FIELD_ID not in field.metadata:
        return own
    return own.with_metadata({_ORC_FIELD_ID: field.metadata[_FIELD_ID]})


def _orc_type(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_time32(data_type):
        return pa.int32()
    if pa.types.is_list(data_type):
        return pa.list_(_orc_field(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(_orc_field(data_type.key_field), _orc_field(data_type.item_field))
    if pa.types.is_struct(data_type):
        return pa.struct([_orc_field(field) for field in data_type])
    return data_type
