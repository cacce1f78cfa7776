"""The writer of Avro data files, which encodes column by column, up to 8,192 rows at a time.

Source: table-format 12.5.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from braid.lake.files.file_encoding import FileEncoding
from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.format.avro.codecs import compress
from braid.lake.format.avro.columns import encode_rows
from braid.lake.format.avro.container import container_block, container_header, sync_marker
from braid.lake.format.avro.types import avro_schema
from braid.lake.format.data_types import DataField

_BLOCK_BYTES: Final = 32 * 1024
"""Bytes of a block before compression. Readers decode many blocks at once, so small blocks are faster to
read; files are 1 % larger than with blocks of 256 kB."""

_ROWS_MAX: Final = 8_192
"""Rows that are encoded together; their arrays stay in the processor's cache."""


class AvroFormatWriter:
    """An Avro file (see `FormatWriter`)."""

    def __init__(
        self,
        sink: pa.NativeFile,
        columns: Sequence[DataField],
        encoding: FileEncoding,
        *,
        name: str,
    ) -> None:
        """Write the header.

        Args:
            sink: Receives the bytes; its owner closes it.
            columns: Columns of the file, in order (see `data_file_columns`).
            encoding: Encoding of the file.
            name: Unique name of the file, from which its sync marker is derived.
        """
        self._sink = sink
        self._columns = columns
        self._codec = "zstandard" if encoding.codec == "zstd" else encoding.codec
        self._level = encoding.zstd_level if self._codec == "zstandard" else None
        schema = avro_schema(columns)
        self._sync = sync_marker(schema, name)
        sink.write(container_header(schema, self._codec, self._sync))

    @property
    def size(self) -> int:
        """Bytes written to storage so far."""
        return int(self._sink.tell())

    def write(self, columns: pa.Table) -> None:
        """Write some blocks."""
        for start in range(0, columns.num_rows, _ROWS_MAX):
            self._write_rows(columns.slice(start, _ROWS_MAX).combine_chunks())

    def finish(self) -> Mapping[str, ColumnBounds]:
        """Return nothing: the format has neither footer nor statistics."""
        return {}

    def abandon(self) -> None:
        """Do nothing: nothing is buffered."""

    def _write_rows(self, columns: pa.Table) -> None:
        arrays = [column.chunk(0) for column in columns.columns]
        rows = encode_rows(arrays, self._columns)
        ends = np.cumsum(rows.lengths)
        first = start = 0
        while first < len(ends):
            # A block has at least one row, even if that row exceeds the size.
            last = max(first + 1, int(np.searchsorted(ends, start + _BLOCK_BYTES, side="right")))
            end = int(ends[last - 1])
            data = compress(rows.data[start:end].tobytes(), self._codec, level=self._level)
            self._sink.write(container_block(last - first, data, self._sync))
            first, start = last, end
