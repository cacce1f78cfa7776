"""One sorted run of a bucket becomes data files and their metadata."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.files.clock import Clock
from lake.files.data_file_path import data_file_path
from lake.files.file_io import FileIO
from lake.files.parquet import write_data_file
from lake.files.parquet_bounds import ColumnBounds
from lake.files.paths import TablePaths
from lake.format.binary_row import decode_rows, encode_rows
from lake.format.data_file import DataFileMeta, FileSource
from lake.format.data_types import DataField
from lake.format.schema import TableSchema
from lake.format.statistics import SimpleStats, collect_statistics
from lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind

VALUE_STATISTICS_LENGTH = 16
"""Characters that bounds of value columns keep: `metadata.stats-mode = truncate(16)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileSink:
    """Where and how the files of one bucket are written.

    Attributes:
        file_io: Storage.
        paths: Of the table.
        schema: Of the table.
        partition: Serialised partition row.
        bucket: Bucket number.
        new_file_name: Gives a name that nobody else uses.
        clock: Says when a file was made.
        drop_null_columns: Leave columns without a value out of the file.
        on_new_file: Told the path of each file before it is written, for who cleans up.
        compression: Codec; None takes that of data files.
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
    compression: str | None = None


def write_level_files(
    sink: DataFileSink, table: pa.Table, *, level: int, file_source: FileSource
) -> tuple[DataFileMeta, ...]:
    """Write one sorted run as one or more key-disjoint files.

    Args:
        sink: Where to.
        table: Key-value table of at least one row with all table columns, sorted by key, each key
            once.
        level: That the files are for.
        file_source: Which act writes them.

    Returns:
        The files in key order; none is larger than the target by much, because the size in memory
        is taken for the size on disk, which is smaller.
    """
    return tuple(
        write_level_file(sink, part, level=level, file_source=file_source)
        for part in _cut(table, sink.schema.table_options.target_file_size_bytes)
    )


def write_level_file(
    sink: DataFileSink, table: pa.Table, *, level: int, file_source: FileSource
) -> DataFileMeta:
    """Write one file, however large; see `write_level_files` for the arguments."""
    schema = sink.schema
    name = sink.new_file_name()
    path = data_file_path(sink.paths, schema, sink.partition, sink.bucket, name)
    sink.on_new_file(path)
    written = write_data_file(
        sink.file_io,
        path,
        table,
        schema,
        drop_null_columns=sink.drop_null_columns,
        compression=sink.compression,
    )
    ends = table.select(schema.trimmed_primary_keys).take(pa.array([0, table.num_rows - 1]))
    min_key, max_key = encode_rows(ends.columns, schema.key_fields)
    sequence = pc.min_max(table.column(SEQUENCE_NUMBER)).as_py()
    return DataFileMeta(
        file_name=name,
        file_size=written.file_size,
        row_count=table.num_rows,
        min_key=min_key,
        max_key=max_key,
        key_stats=_statistics(table, schema.key_fields, written.bounds, truncate=None),
        value_stats=_statistics(
            table, schema.fields, written.bounds, truncate=VALUE_STATISTICS_LENGTH
        ),
        min_sequence_number=sequence["min"],
        max_sequence_number=sequence["max"],
        schema_id=schema.id,
        level=level,
        creation_time_ms=_local_wall_ms(sink.clock.now_ms()),
        delete_row_count=_retracts(table),
        file_source=file_source,
    )


def _cut(table: pa.Table, target_bytes: int) -> Iterator[pa.Table]:
    count = max(1, -(-table.nbytes // max(1, target_bytes)))
    rows = max(1, -(-table.num_rows // count))
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def _statistics(
    table: pa.Table,
    fields: Sequence[DataField],
    bounds: Mapping[str, ColumnBounds],
    *,
    truncate: int | None,
) -> SimpleStats:
    """Return the statistics of a table of which the Parquet writer has found most bounds already.

    A table of only those bounds has the same statistics, but for the null counts; looking at the
    columns again would take a tenth of the time of writing them.
    """
    columns = {field.name: _extremes(table, field, bounds.get(field.name)) for field in fields}
    longest = max(len(values) for values in columns.values())
    extremes = pa.table(
        {
            name: pa.concat_arrays([values, pa.nulls(longest - len(values), values.type)])
            for name, values in columns.items()
        }
    )
    stats = collect_statistics(extremes, fields, truncate=truncate)
    return replace(
        stats, null_counts=tuple(table.column(field.name).null_count for field in fields)
    )


def _extremes(table: pa.Table, field: DataField, bounds: ColumnBounds | None) -> pa.Array:
    """Return few values of a column among which are its least and its greatest."""
    column = table.column(field.name)
    if column.null_count == len(column):
        return pa.nulls(0, column.type)
    if bounds is not None and bounds.is_complete:
        return pa.concat_arrays([bounds.minima, bounds.maxima])
    stats = collect_statistics(table.select([field.name]), [field], truncate=None)
    found = decode_rows([stats.min_values, stats.max_values], [field])
    return found.column(0).combine_chunks()


def _retracts(table: pa.Table) -> int:
    kinds = table.column(VALUE_KIND).to_numpy()
    return int(np.count_nonzero((kinds == RowKind.UPDATE_BEFORE) | (kinds == RowKind.DELETE)))


def _local_wall_ms(now_ms: int) -> int:
    """Return the local wall time as if it were UTC, which is what the format keeps here."""
    offset = datetime.fromtimestamp(now_ms / 1000, tz=UTC).astimezone().utcoffset()
    assert offset is not None, "a local time knows its offset"
    return now_ms + round(offset.total_seconds() * 1000)
