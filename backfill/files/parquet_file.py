"""Parquet file of a backfill: only the columns that are needed are read from its row groups."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from braid.backfill.files.damage import damaged, decoded, decoding
from braid.backfill.files.opened_file import ROWS_MAX, FileRows
from braid.formats.arrow_rows.leaves import misfit
from braid.formats.arrow_rows.reader import ArrowRows, ArrowRowsReader, field_type
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.times_reader import reader_with_times
from braid.formats.message_reader import MessageReader
from braid.lake import FileIO, FileStatus


class ParquetFile:
    """A Parquet file (see `OpenedFile`)."""

    def __init__(self, file_io: FileIO, file: FileStatus) -> None:
        """Read the footer.

        Raises:
            InvalidRequest: The file is no Parquet file, or has two columns of one name.
        """
        self._path = file.path
        self._input = file_io.open_input(file.path)
        with ExitStack() as failed:
            failed.callback(self._input.close)
            with decoding(file.path):
                # INT96 of any year, as the precision of other engines.
                self._file = pq.ParquetFile(
                    self._input, pre_buffer=False, coerce_int96_timestamp_unit="us"
                )
                self._schema: pa.Schema = self._file.schema_arrow
            names = self._schema.names
            if len({*names}) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise damaged(file.path, f"the column {twice!r} occurs twice")
            failed.pop_all()
        self._rows = ArrowRows(pa.RecordBatch.from_pylist([], self._schema))
        self._wanted: set[str] = set()

    def has_field(self, path: tuple[str, ...]) -> bool:
        """Return whether the file has a field (see `OpenedFile`)."""
        return field_type(self._schema, path) is not None

    def misfit(self, column: MappedColumn) -> str | None:
        """Return why no value of a field can fill a column (see `OpenedFile`)."""
        found = field_type(self._schema, column.path)
        if found is None or column.time_format is not None:
            return None
        return misfit(found, column.type)

    def reader_of(self, columns: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of columns (see `OpenedFile`)."""
        self._wanted |= {column.path[0] for column in columns}
        return reader_with_times(
            [self._typed(column) for column in columns],
            lambda plain: ArrowRowsReader(plain, self._rows),
        )

    def rows(self, skipped: int) -> Iterator[FileRows]:
        """Yield the rows from one on (see `OpenedFile`)."""
        metadata = self._file.metadata
        total, row = metadata.num_rows, 0
        names = [name for name in self._schema.names if name in self._wanted]
        for group in range(metadata.num_row_groups):
            count = metadata.row_group(group).num_rows
            if row + count <= skipped:
                row += count
                continue
            for batch in self._batches(group, names):
                left = max(0, skipped - row)
                row += batch.num_rows
                if left >= batch.num_rows:
                    continue
                self._rows.batch = batch.slice(left)
                kept = batch.num_rows - left
                yield FileRows(
                    first=row - kept,
                    count=kept,
                    payloads=self._rows.payloads(),
                    numbers=np.arange(row - kept, row),
                    done=row / max(1, total),
                )

    def shown(self, payload: bytes) -> dict[str, Any]:
        """Return the fields of a row that the stream reads (see `OpenedFile`)."""
        return {"record": self._rows.row(payload)}

    def close(self) -> None:
        """Close the file."""
        self._input.close()

    def _typed(self, column: MappedColumn) -> MappedColumn:
        """Return a column without the form of its texts, where the file has dates or times."""
        found = field_type(self._schema, column.path)
        is_time = found is not None and _has_times(found)
        return replace(column, time_format=None) if is_time else column

    def _batches(self, group: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        batches = self._file.iter_batches(ROWS_MAX, row_groups=[group], columns=names)
        return decoded(self._path, batches)


def _has_times(data_type: pa.DataType) -> bool:
    """Return whether a type is one of dates or times, or has some inside."""
    parts = (data_type.field(index).type for index in range(data_type.num_fields))
    return pa.types.is_temporal(data_type) or any(map(_has_times, parts))
