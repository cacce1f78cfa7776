"""The reader of Parquet data files.

The byte ranges of the wanted columns are announced to storage before they are read. Columns of
INT96 are decoded twice, the second time as bytes, because Arrow reports no error for a time that
64-bit nanoseconds cannot hold.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from braid.lake.errors import UnsupportedFeature
from braid.lake.files.parquet.bounds import ColumnBounds, column_bounds
from braid.lake.files.parquet.int96 import fits_nanoseconds, holds_int96
from braid.lake.files.parquet.int96_file import with_revealed_int96
from braid.lake.files.storage.positioned_input import ByteRange, InputFile, PositionedInput

_THREADS_BYTES: Final = 128 * 1024
"""Uncompressed bytes from which columns are decoded by several threads: to hand work to them takes as long as to decode less."""


class ParquetFormatReader:
    """A Parquet file; its parts are row groups (see `FormatReader`)."""

    def __init__(
        self,
        source: InputFile,
        path: str,
        *,
        reopen: Callable[[], AbstractContextManager[InputFile]],
    ) -> None:
        """Read the footer.

        Args:
            source: The file.
            path: Path of the file, for messages.
            reopen: Opens the file once more, to check the bytes of INT96 columns.
        """
        self._source = source
        self._file = pq.ParquetFile(source, pre_buffer=False, page_checksum_verification=True)
        self._path = path
        self._reopen = reopen

    @property
    def is_columnar(self) -> bool:
        """True: a row group has one chunk for each column."""
        return True

    @property
    def row_counts(self) -> Sequence[int]:
        """Rows of each row group."""
        metadata = self._file.metadata
        return [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]

    @property
    def column_names(self) -> Collection[str]:
        """Names of the columns."""
        return frozenset(self._file.schema_arrow.names)

    def bounds(self, columns: Sequence[pa.Field]) -> Mapping[str, ColumnBounds]:
        """Return the bounds in the footer."""
        return column_bounds(self._file.metadata, columns)

    def batches(
        self,
        parts: Sequence[int],
        columns: Sequence[pa.Field],
        *,
        batch_rows: int,
        batch_bytes: int,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some row groups.

        Raises:
            UnsupportedFeature: 64 bits of nanoseconds cannot hold a time.
        """
        names = [column.name for column in columns]
        uncompressed, ranges = self._chunks(parts, names)
        _prefetch(self._source, ranges)
        rows = sum(self._file.metadata.row_group(number).num_rows for number in parts)
        # The number of rows that have `batch_bytes` at their average size.
        batch_rows = min(batch_rows, max(1, batch_bytes * rows // max(1, uncompressed)))
        decoded = self._file.iter_batches(
            batch_rows,
            row_groups=parts,
            columns=names,
            use_threads=uncompressed >= _THREADS_BYTES,
        )
        int96 = _int96_columns(self._file, names)
        return self._check_int96(decoded, int96, batch_rows, parts) if int96 else decoded

    def _chunks(
        self, parts: Sequence[int], columns: Collection[str]
    ) -> tuple[int, list[ByteRange]]:
        """Return the uncompressed bytes of some columns in some row groups, and their byte ranges."""
        leaves = _leaves(self._file.metadata, columns)
        uncompressed = 0
        ranges = []
        for number in parts:
            group = self._file.metadata.row_group(number)
            for index in leaves:
                chunk = group.column(index)
                uncompressed += chunk.total_uncompressed_size
                ranges.append(_range(chunk))
        return uncompressed, ranges

    def _check_int96(
        self,
        batches: Iterator[pa.RecordBatch],
        int96: Sequence[str],
        batch_rows: int,
        groups: Sequence[int],
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches, but refuse times that 64 bits of nanoseconds cannot hold.

        INT96 has a wider range than Arrow's nanoseconds (years 1677 to 2262), and Arrow lets other times
        wrap around, so the stored bytes are decoded a second time and checked. Both decoders cut the same
        batches, because they have the same row groups and batch size.
        """
        with self._reopen() as source:
            _prefetch(source, self._chunks(groups, int96)[1])
            file = pq.ParquetFile(with_revealed_int96(source, int96), pre_buffer=False)
            stored = file.iter_batches(batch_rows, row_groups=groups, columns=int96)
            for batch, raw in zip(batches, stored, strict=True):
                for name in int96:
                    if not fits_nanoseconds(raw.column(name)):
                        message = (
                            f"data file {self._path} has a value in column {name} outside the "
                            "years 1677 to 2262, which timestamps of nanoseconds cannot hold"
                        )
                        raise UnsupportedFeature(message)
                yield batch


def _prefetch(source: InputFile, ranges: Sequence[ByteRange]) -> None:
    if isinstance(source, PositionedInput):
        source.prefetch(ranges)


def _leaves(metadata: pq.FileMetaData, columns: Collection[str]) -> list[int]:
    """Return the indexes of the leaves of some columns; a nested column has several."""
    wanted = set(columns)
    return [
        index
        for index, (path, _) in enumerate(_paths(metadata))
        if path in wanted or any(path[:end] in wanted for end in _ends_of_names(path))
    ]


def _paths(metadata: pq.FileMetaData) -> list[tuple[str, str]]:
    """Return the path and the physical type of each leaf; none of a file without row groups.

    They are read from a row group, because a schema, once asked for, and its metadata refer to each other: several
    megabytes in a file of many columns and row groups, until the next garbage collection.
    """
    if not metadata.num_row_groups:
        return []
    group = metadata.row_group(0)
    chunks = map(group.column, range(group.num_columns))
    return [(chunk.path_in_schema, chunk.physical_type) for chunk in chunks]


def _range(chunk: pq.ColumnChunkMetaData) -> ByteRange:
    """Return the byte range of a chunk; a dictionary, if it has one, precedes its data pages."""
    begin = chunk.data_page_offset
    dictionary = chunk.dictionary_page_offset
    # Without a dictionary some writers set its offset to 0, or to a position behind the data.
    if dictionary is not None and 0 < dictionary < begin:
        begin = dictionary
    return begin, begin + chunk.total_compressed_size


def _int96_columns(file: pq.ParquetFile, stored: Sequence[str]) -> list[str]:
    """Return the columns that are INT96, or hold such leaves."""
    types = {column.name: column.type for column in file.schema_arrow}
    candidates = [name for name in stored if holds_int96(types[name])]
    if not candidates:
        return []
    # A column with a dot in its name looks like a nested column. If it is mistaken for INT96, that only costs
    # a check of its bytes.
    paths = {path for path, physical_type in _paths(file.metadata) if physical_type == "INT96"}
    holding = {path[:end] for path in paths for end in _ends_of_names(path)}
    return [name for name in candidates if name in holding]


def _ends_of_names(path: str) -> list[int]:
    """Return where each prefix of a path ends that may be the name of its column."""
    return [*(index for index, letter in enumerate(path) if letter == "."), len(path)]
