"""Metadata of a data file in manifests, as a value; `data_file_codec` encodes it.

Source: table-format 5.2 and 7.
"""

from dataclasses import dataclass
from enum import IntEnum

from braid.lake.format.statistics import SimpleStats


class FileSource(IntEnum):
    """The operation that wrote a file; kept when the file is only moved to another level."""

    APPEND = 0
    COMPACT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileMeta:
    """The metadata of one data file.

    Attributes:
        file_name: Name only, inside the bucket's directory.
        file_size: Exact bytes; readers open the file with it.
        row_count: Physical rows, retracts included.
        min_key: Serialised binary row of the trimmed primary key of the first row, exact.
        max_key: The same for the last row, exact.
        key_stats: Statistics of all columns of the trimmed primary key; bounds are not truncated.
        value_stats: Statistics of the columns `value_stats_cols`.
        min_sequence_number: Lowest sequence number of the rows.
        max_sequence_number: Highest sequence number of the rows.
        schema_id: The schema that names the file's columns.
        level: 0 for a fresh file, and for one that several small ones of level 0 were merged into; 1 and
            up for other compacted files and those of a bulk writer.
        extra_files: Names of files that are deleted together with this one.
        creation_time_ms: Milliseconds since 1970; files of Java have local wall time. None when unknown.
        delete_row_count: Rows of kind -U or -D; None in files of very old writers.
        embedded_file_index: Bytes of a small file index.
        file_source: The operation that wrote the file; None in files of old writers.
        value_stats_cols: Columns of `value_stats`; None means all columns of the schema.
        external_path: Whole path of a file outside the table.
        first_row_id: Id of the first row; only in tables with row tracking.
        write_cols: The columns that the file has; only in tables with data evolution.
        write_cols_sequences: Sequence numbers of `write_cols`; only in tables with data evolution.
    """

    file_name: str
    file_size: int
    row_count: int
    min_key: bytes
    max_key: bytes
    key_stats: SimpleStats
    value_stats: SimpleStats
    min_sequence_number: int
    max_sequence_number: int
    schema_id: int
    level: int
    extra_files: tuple[str, ...] = ()
    creation_time_ms: int | None = None
    delete_row_count: int | None = None
    embedded_file_index: bytes | None = None
    file_source: FileSource | None = None
    value_stats_cols: tuple[str, ...] | None = None
    external_path: str | None = None
    first_row_id: int | None = None
    write_cols: tuple[str, ...] | None = None
    write_cols_sequences: tuple[int, ...] | None = None
