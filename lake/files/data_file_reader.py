"""Reads of one data file: key-value batches, plain rows, whole parts with their positions, and rows at positions.

This module chooses the parts that are decoded. With `sequence.snapshot-ordering` it also replaces the sequence numbers
of the rows of an appended file by the one in its manifest entry.
`open_data_file` opens the file, `column_decoder` decodes the columns of a batch, and `row_filters` chooses rows.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import AbstractBitMap

from braid.lake.errors import CorruptData
from braid.lake.files.column_decoder import SYSTEM_FIELDS, ColumnDecoder
from braid.lake.files.format_reader import FormatReader
from braid.lake.files.open_data_file import open_data_file
from braid.lake.files.read_counters import ReadCounters
from braid.lake.files.row_filters import RowFilter, RowGroupFilter, filtered_rows, without_retracts
from braid.lake.files.row_groups import ROW_GROUP_ROWS
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import (
    SEQUENCE_NUMBER,
)

BATCH_BYTES: Final = 64 * 1024 * 1024
"""Approximate upper bound of the bytes of a batch."""

# Rows of a batch in reads at positions, which decode whole row groups, and seldom more than a few in one call.
_POSITIONAL_BATCH_ROWS: Final = 4 * ROW_GROUP_ROWS


class DataFileReader:
    """Batches of one data file in the table's Arrow schema."""

    def __init__(
        self,
        file_io: FileIO,
        path: str,
        *,
        file_meta: DataFileMeta,
        schema: TableSchema,
        written: TableSchema | None = None,
        counters: ReadCounters | None = None,
    ) -> None:
        """Prepare to read; the file is not opened yet.

        Args:
            file_io: Storage.
            path: Path of the file.
            file_meta: The file's entry in the manifest.
            schema: The schema whose columns are returned.
            written: The schema that the file was written under; None means `schema`.
            counters: Receives the cost of reading; None counts nothing.
        """
        self._file_io = file_io
        self._path = path
        self._meta = file_meta
        self._schema = schema
        self._written = schema if written is None else written
        self._counters = counters if counters is not None else ReadCounters()
        self._decoder = ColumnDecoder(
            path,
            file_meta=file_meta,
            schema=schema,
            written=self._written,
            counters=self._counters,
        )

    def batches(
        self,
        columns: Sequence[str],
        *,
        batch_rows: int = 65_536,
        batch_bytes: int = BATCH_BYTES,
        row_filter: RowGroupFilter | None = None,
        marked: AbstractBitMap | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield key-value batches with the named columns, in file order.

        Columns that hold only nulls according to the file's statistics, and nullable columns that
        the file lacks, are not decoded. In a table with `sequence.snapshot-ordering` every row of an
        appended file has the sequence number of the file's metadata: the snapshot's id
        (merge-semantics 3.7).

        Args:
            columns: Table columns wanted.
            batch_rows: Upper bound of the rows of a batch.
            batch_bytes: Approximate upper bound of the bytes of a batch. Counts the size of the values in
                the file before compression, where repeated values may take next to nothing.
            row_filter: Excludes row groups that cannot hold wanted rows.
            marked: Positions of rows to leave out, 0-based in file order: the file's deletion
                vector.

        Yields:
            Batches: `_SEQUENCE_NUMBER`, `_VALUE_KIND`, then `columns` in their order.

        Raises:
            SchemaMismatch: A value cannot be cast to the present type of its column.
            CorruptData: The file is absent, cannot be decoded, or contradicts its manifest entry; or
                snapshots order the table's records and the entry has no file source.
            UnsupportedFeature: The file is of another format, or has a time that 64 bits of
                nanoseconds cannot hold.
        """
        with self._open() as file:
            parts = self._parts(file, row_filter)
            self._check_marks(marked)
            self._count_parts(file, parts)
            self._counters.rows += sum(file.row_counts[part] for part in parts)
            names = [*SYSTEM_FIELDS, *columns]
            decoded = self._decoder.batches(
                file, parts, names, batch_rows=batch_rows, batch_bytes=batch_bytes, marked=marked
            )
            # `map` keeps no reference to what it has yielded, as a loop does until the next batch is there: a merge of
            # many runs would have two batches of each in memory.
            number = self._sequence_number_of_all
            yield from map(partial(_with_sequence_number, number=number), decoded)

    def rows(
        self,
        columns: Sequence[str],
        *,
        batch_rows: int = 65_536,
        batch_bytes: int = BATCH_BYTES,
        row_group_filter: RowGroupFilter | None = None,
        row_filter: RowFilter | None = None,
        marked: AbstractBitMap | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that the file adds, without their sequence numbers, in file order.

        For files whose records are rows as they are, because no newer record has their keys.
        Only what affects the result is decoded: no sequence numbers, no kinds if no record is a retract,
        and, if the file's format allows it, only the filter's columns of parts without a wanted row.

        Args:
            columns: Table columns wanted, at least one.
            batch_rows: Upper bound of the rows of a batch.
            batch_bytes: Approximate upper bound of the bytes of a batch.
            row_group_filter: Excludes row groups that cannot hold wanted rows.
            row_filter: Excludes rows.
            marked: Positions of rows to leave out, 0-based in file order.

        Yields:
            Batches with `columns` in their order; some may be empty.

        Raises:
            As `batches`.
        """
        # The count is None where the entry has none: then there may be retracts.
        has_retracts = self._meta.delete_row_count != 0
        wanted = without_retracts(row_filter) if has_retracts else row_filter
        with self._open() as file:
            self._check_marks(marked)
            parts = self._parts(file, row_group_filter)
            self._count_parts(file, parts)
            decoded: set[int] = set()

            def decode(some: Sequence[int], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
                # A part that is read in two steps counts once.
                self._counters.rows += sum(file.row_counts[part] for part in {*some} - decoded)
                decoded.update(some)
                return self._decoder.batches(
                    file, some, names, batch_rows=batch_rows, batch_bytes=batch_bytes, marked=marked
                )

            if not parts:
                return
            if wanted is None:
                yield from decode(parts, columns)
                return
            yield from filtered_rows(
                decode,
                parts,
                columns,
                wanted,
                in_steps=row_filter is not None and marked is None and file.is_columnar,
                is_likely=len(parts) < len(file.row_counts),
            )

    def parts(
        self, columns: Sequence[str], row_filter: RowGroupFilter | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield columns of the parts that pass a filter, and the position of each batch.

        Args:
            columns: Table columns or system columns wanted; at least one.
            row_filter: Excludes row groups; None excludes none.

        Yields:
            The position of a batch's first row, 0-based in file order, and the batch.

        Raises:
            As `batches`.
        """
        with self._open() as file:
            begins = np.cumsum([0, *file.row_counts])
            parts = self._parts(file, row_filter)
            self._count_parts(file, parts)
            # Parts are consecutive only when none is excluded; else each begins at its own position.
            for some in [parts] if row_filter is None else [[part] for part in parts]:
                begin = int(begins[some[0]]) if some else 0
                for batch in self._whole_parts(file, some, columns):
                    yield begin, batch
                    begin += batch.num_rows

    def rows_at(
        self, columns: Sequence[str], positions: npt.NDArray[np.int64]
    ) -> tuple[pa.Table, int, int]:
        """Return the rows at some positions; only the parts that hold them are decoded, one by one.

        Args:
            columns: Table columns or system columns wanted.
            positions: Positions of the rows, 0-based in file order; at least one.

        Returns:
            One row per position, in the order of the positions; the number of rows that were decoded
            for this; and the bytes of these rows.

        Raises:
            As `batches`.
        """
        taken: list[pa.RecordBatch] = []
        size = 0
        order = np.argsort(positions, kind="stable")
        ascending = positions[order]
        with self._open() as file:
            begins = np.cumsum([0, *file.row_counts])
            assert ascending[-1] < begins[-1], "positions are those of rows of the file"
            parts = np.unique(np.searchsorted(begins, ascending, side="right") - 1).tolist()
            self._count_parts(file, parts)
            for part in parts:
                begin = int(begins[part])
                for batch in self._whole_parts(file, [part], columns):
                    size += batch.nbytes
                    end = begin + batch.num_rows
                    first, last = np.searchsorted(ascending, [begin, end])
                    if first < last:
                        taken.append(batch.take(pa.array(ascending[first:last] - begin)))
                    begin = end
        # `taken` is in the order of positions; this is the permutation back to the caller's order.
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        decoded = int(sum(begins[part + 1] - begins[part] for part in parts))
        return pa.Table.from_batches(taken).take(pa.array(back)), decoded, size

    def _whole_parts(
        self, file: FormatReader, parts: Sequence[int], columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows of some parts, marked ones included, so that positions can be counted."""
        self._counters.rows += sum(file.row_counts[part] for part in parts)
        for batch in self._decoder.batches(
            file, parts, columns, batch_rows=_POSITIONAL_BATCH_ROWS, batch_bytes=BATCH_BYTES
        ):
            yield _with_sequence_number(batch, self._sequence_number_of_all)

    @contextmanager
    def _open(self) -> Iterator[FormatReader]:
        # Checked before the file is opened: a file whose records cannot be ordered is not read at all.
        _ = self._sequence_number_of_all
        with open_data_file(self._file_io, self._path, self._meta, self._written) as file:
            yield file

    @cached_property
    def _sequence_number_of_all(self) -> int | None:
        """The sequence number that all rows get; None keeps the rows' own numbers.

        With `sequence.snapshot-ordering` the rows of an appended file have numbers of its writer, which
        cannot be compared with those of other writers; the commit put the snapshot's id into the manifest
        entry. The rows of a compacted file come from several snapshots, and have their ids as numbers.
        """
        if not self._schema.table_options.sequence_snapshot_ordering:
            return None
        source = self._meta.file_source
        if source is None:
            message = (
                f"data file {self._path} has no file source in its manifest entry, so its records "
                "cannot be ordered by snapshot\n"
                "hint: `sequence.snapshot-ordering` has to be set when the table is created"
            )
            raise CorruptData(message)
        return self._meta.min_sequence_number if source is FileSource.APPEND else None

    def _check_marks(self, marked: AbstractBitMap | None) -> None:
        if marked and marked.max() >= self._meta.row_count:
            message = (
                f"data file {self._path} has {self._meta.row_count} rows, but its deletion vector "
                f"marks a row at position {marked.max()}"
            )
            raise CorruptData(message)

    def _parts(self, file: FormatReader, row_filter: RowGroupFilter | None) -> list[int]:
        """Return the numbers of the parts that pass the filter, ascending."""
        parts = list(range(len(file.row_counts)))
        if row_filter is None or not parts:
            return parts
        mask = row_filter.keep(self._decoder.bounds(file, row_filter.columns), len(parts))
        assert len(mask) == len(parts), "a filter decides every row group"
        return [number for number in parts if mask[number]]

    def _count_parts(self, file: FormatReader, parts: Sequence[int]) -> None:
        self._counters.files += 1
        self._counters.row_groups += len(parts)
        self._counters.row_groups_skipped += len(file.row_counts) - len(parts)


def _with_sequence_number(batch: pa.RecordBatch, number: int | None) -> pa.RecordBatch:
    """Return the batch with one sequence number in all rows; None keeps the numbers that it has."""
    index = batch.schema.get_field_index(SEQUENCE_NUMBER)
    if number is None or index < 0:
        return batch
    numbers = pa.repeat(pa.scalar(number, pa.int64()), batch.num_rows)
    return batch.set_column(index, batch.schema.field(index), numbers)
