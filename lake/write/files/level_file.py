"""Writer of data and changelog files of one level: rows sorted by key in, files and their metadata out.

`DataFileSink` says where the files of a bucket go and how they are written. `LevelFile` is one open file with its
statistics. For a data file it also builds the file index, which is stored in the metadata or, if large, in a file
beside the data file. `write_level_files` cuts a run that is in memory into files by its size; `rolling_files` does so
for longer runs.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from braid.lake.files.best_effort_delete import delete_best_effort
from braid.lake.files.clock import Clock
from braid.lake.files.data_file_path import data_file_path
from braid.lake.files.data_files import DataFileWriter, FileFormat, row_group_rows
from braid.lake.files.orc.chars import cut_padding, holds_chars
from braid.lake.files.paths import TablePaths
from braid.lake.files.staged_write import StagedWrite
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.indexes.file_index import FILE_INDEX_SUFFIX
from braid.lake.format.schema import TableSchema
from braid.lake.write.files.file_encodings import file_encoding
from braid.lake.write.files.file_index_writer import FileIndexWriter
from braid.lake.write.files.file_statistics import FileStatistics

VALUE_STATISTICS_LENGTH = 16
"""Characters to which bounds of value columns are cut: `metadata.stats-mode = truncate(16)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileSink:
    """Destination and settings of the files of one bucket.

    Attributes:
        file_io: Storage.
        paths: The table's paths.
        schema: The table's schema.
        partition: Serialised partition row.
        bucket: Bucket number.
        new_file_name: Returns a unique name, without the suffix of the file's format.
        clock: Gives the creation time of files.
        drop_null_columns: Leave columns without a value out of the file.
        on_new_file: Called with the path of each file before it is written, for cleaning up.
        is_changelog: The files hold changelog rows.
    """

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    partition: bytes
    bucket: int
    new_file_name: Callable[[], str]
    clock: Clock
    drop_null_columns: bool
    on_new_file: Callable[[str], None]
    is_changelog: bool = False


class LevelFile(StagedWrite):
    """One file that is being written, row group by row group.

    A context manager: the file is deleted unless it is finished.
    """

    def __init__(
        self,
        sink: DataFileSink,
        *,
        level: int,
        file_source: FileSource,
        without: Collection[str] = (),
    ) -> None:
        """Choose a name; nothing is written to storage before the first rows.

        Args:
            sink: Destination.
            level: Level of the file.
            file_source: Source of the file.
            without: Nullable columns to leave out, in which no row will have a value.
        """
        schema = sink.schema
        self._sink = sink
        self._level = level
        self._file_source = file_source
        encoding = file_encoding(schema.table_options, level=level, is_changelog=sink.is_changelog)
        self._name = f"{sink.new_file_name()}.{encoding.format}"
        path = data_file_path(sink.paths, schema, sink.partition, sink.bucket, self._name)
        self._path = path
        self._index = None if sink.is_changelog else FileIndexWriter(schema)
        self._index_path: str | None = None
        sink.on_new_file(path)
        self._writer = DataFileWriter(
            sink.file_io, path, schema, without=without, encoding=encoding
        )
        self._cut = [
            field
            for field in schema.fields
            if encoding.format is FileFormat.ORC
            and holds_chars(field.type)
            and field.name not in {*schema.primary_keys, *schema.partition_keys}
        ]
        self._statistics = FileStatistics(schema, has_footer=encoding.format is FileFormat.PARQUET)

    @property
    def size(self) -> int:
        """The bytes written to storage so far; the footer comes last."""
        return self._writer.size

    def write(self, rows: pa.Table) -> None:
        """Write one row group.

        Args:
            rows: Key-value table of at least one row with all table columns, with keys greater than
                all keys before.

        Raises:
            SchemaMismatch: Values that no data file can hold.
            StorageUnavailable: Storage refused.
        """
        for field in self._cut:
            index = rows.schema.get_field_index(field.name)
            column = cut_padding(rows.column(index), field.type)
            rows = rows.set_column(index, rows.schema.field(index), column)
        self._writer.write(rows)
        self._statistics.add(rows)
        if self._index is not None:
            self._index.add(rows)

    def finish(self) -> DataFileMeta:
        """Make the file durable and return its metadata.

        Requires:
            At least one row was written.

        Raises:
            StorageUnavailable: Storage refused; the file may or may not exist.
        """
        schema, statistics = self._sink.schema, self._statistics
        assert statistics.row_count, "a file has rows"
        # Written before the file is finished: an index beside the file must exist when the file
        # does.
        embedded = self._finished_index()
        written = self._writer.finish()
        index_path, self._index_path = self._index_path, None
        min_key, max_key = statistics.key_range
        return DataFileMeta(
            file_name=self._name,
            file_size=written.file_size,
            row_count=statistics.row_count,
            min_key=min_key,
            max_key=max_key,
            key_stats=statistics.of(schema.key_fields, written.bounds, truncate=None),
            value_stats=statistics.of(
                schema.fields, written.bounds, truncate=VALUE_STATISTICS_LENGTH
            ),
            min_sequence_number=statistics.min_sequence_number,
            max_sequence_number=statistics.max_sequence_number,
            schema_id=schema.id,
            level=self._level,
            extra_files=() if index_path is None else (index_path.rpartition("/")[2],),
            embedded_file_index=embedded,
            creation_time_ms=_local_wall_ms(self._sink.clock.now_ms()),
            delete_row_count=statistics.delete_row_count,
            file_source=self._file_source,
        )

    def discard(self, error: BaseException | None = None) -> None:
        """Delete the file unless it is finished."""
        self._writer.discard(error)
        # `finish` clears the path, so the index of a finished file stays.
        if self._index_path is not None:
            delete_best_effort(self._sink.file_io, [self._index_path])

    def _finished_index(self) -> bytes | None:
        """Return the file's index if it fits into the manifest; else write it beside the file.

        Returns:
            None where the file has no index, or the index is beside it.
        """
        index = None if self._index is None else self._index.finish()
        threshold = self._sink.schema.table_options.file_index_in_manifest_threshold_bytes
        if index is None or len(index) <= threshold:
            return index
        self._index_path = self._path + FILE_INDEX_SUFFIX
        self._sink.on_new_file(self._index_path)
        self._sink.file_io.write_new(self._index_path, index)
        return None


def write_level_files(
    sink: DataFileSink, table: pa.Table, *, level: int, file_source: FileSource
) -> tuple[DataFileMeta, ...]:
    """Write one sorted run as one or more key-disjoint files.

    Args:
        sink: Destination.
        table: Key-value table of at least one row with all table columns, sorted by key, each key
            once.
        level: Level of the files.
        file_source: Source of the files.

    Returns:
        The files in key order. No file is much larger than the target size: rows are cut by their
        size in memory, and files are smaller.
    """
    return tuple(
        write_level_file(sink, part, level=level, file_source=file_source)
        for part in _cut(table, sink.schema.table_options.target_file_size_bytes)
    )


def write_level_file(
    sink: DataFileSink, table: pa.Table, *, level: int, file_source: FileSource
) -> DataFileMeta:
    """Write one file of any size; see `write_level_files` for the arguments."""
    without = null_columns_of(table, sink.schema) if sink.drop_null_columns else frozenset()
    rows = row_group_rows(table.num_rows, table.nbytes)
    with LevelFile(sink, level=level, file_source=file_source, without=without) as file:
        for start in range(0, table.num_rows, rows):
            file.write(table.slice(start, rows))
        return file.finish()


def null_columns_of(table: pa.Table, schema: TableSchema) -> frozenset[str]:
    """Return the nullable columns of a table in which no row has a value.

    Args:
        table: Rows with all columns of the schema.
        schema: The table's schema.
    """
    return frozenset(
        column.name
        for column in schema.fields
        if column.type.nullable and table.column(column.name).null_count == table.num_rows
    )


def _cut(table: pa.Table, target_bytes: int) -> Iterator[pa.Table]:
    """Yield slices of about the same number of rows, each of at most the target size in memory."""
    count = max(1, -(-table.nbytes // max(1, target_bytes)))
    rows = max(1, -(-table.num_rows // count))
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def _local_wall_ms(now_ms: int) -> int:
    """Return the local wall time as if it were UTC, which the format stores as creation time."""
    offset = datetime.fromtimestamp(now_ms / 1000, tz=UTC).astimezone().utcoffset()
    assert offset is not None, "a local time knows its offset"
    return now_ms + round(offset.total_seconds() * 1000)
