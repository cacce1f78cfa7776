"""The compacted data files of a table as entries of Iceberg manifests.

Published are the files of the highest level that hold no deletes. Within a bucket these have each key once, with its
merged row, so they are the rows themselves; any other file needs a merge, which Iceberg's readers do not know. A
compaction to the highest level leaves no deletes there unless the table keeps them, which Iceberg tables cannot.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final

from braid.lake.errors import UnsupportedFeature
from braid.lake.files.data_file_path import live_file_path
from braid.lake.files.paths import TablePaths
from braid.lake.format.binary_row import decode_row
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.data_types import DataField
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.statistics import has_bounds
from braid.lake.iceberg.manifest_entries import IcebergDataFile
from braid.lake.iceberg.single_values import bound_bytes, plain_value

logger = logging.getLogger(__name__)

_FORMAT: Final = "parquet"


def published_files(
    entries: Iterable[ManifestEntry], schema: TableSchema
) -> dict[str, ManifestEntry]:
    """Return the live files that Iceberg readers can read, by name."""
    top = schema.table_options.num_levels - 1
    found = {}
    for entry in entries:
        file = entry.file
        if file.level != top:
            continue
        if file.delete_row_count or not file.file_name.endswith(f".{_FORMAT}"):
            logger.warning(
                "file %s is not in the Iceberg metadata: it holds deletes, or is no Parquet file",
                file.file_name,
            )
            continue
        found[file.file_name] = entry
    return found


def iceberg_data_file(
    entry: ManifestEntry,
    *,
    paths: TablePaths,
    schema: TableSchema,
    schema_of: Callable[[int], TableSchema],
) -> IcebergDataFile:
    """Return a live file as Iceberg's metadata have it.

    Args:
        entry: The file.
        paths: Paths of the table.
        schema: The newest schema.
        schema_of: Returns a schema by id; a file's statistics are of the columns of its own schema.

    Raises:
        CorruptData: The statistics do not fit the schema.
        UnsupportedFeature: The file is outside of the table.
    """
    file = entry.file
    values = decode_row(entry.partition, schema.partition_fields)
    lower, upper, nulls = _statistics(file, schema_of(file.schema_id))
    return IcebergDataFile(
        path=live_file_path(paths, schema, entry.partition, entry.bucket, file),
        file_format=_FORMAT,
        partition=tuple(None if value is None else plain_value(value) for value in values),
        record_count=file.row_count,
        size=file.file_size,
        null_counts=nulls,
        lower_bounds=lower,
        upper_bounds=upper,
    )


def _statistics(
    file: DataFileMeta, schema: TableSchema
) -> tuple[Mapping[int, bytes], Mapping[int, bytes], Mapping[int, int]]:
    """Return the bounds and null counts of a file's columns by id."""
    names = file.value_stats_cols
    fields = schema.fields if names is None else [schema.field(name) for name in names]
    stats = file.value_stats
    if not stats.null_counts and not fields:
        return {}, {}, {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    # Without bounds the file is read; a date of the year 10000 must not keep it from being published.
    with suppress(UnsupportedFeature):
        # Nested columns have no bounds: their fields in the row are null.
        least = decode_row(stats.min_values, fields)
        most = decode_row(stats.max_values, fields)
        for field, low, high in zip(fields, least, most, strict=True):
            if low is not None and high is not None and _is_bound(field, low, high):
                lower[field.id] = bound_bytes(plain_value(low), field.type)
                upper[field.id] = bound_bytes(plain_value(high), field.type)
    nulls = zip(fields, stats.null_counts, strict=False)
    return lower, upper, {field.id: count for field, count in nulls if count is not None}


def _is_bound(field: DataField, low: object, high: object) -> bool:
    """Return whether two values bound a column in Iceberg's order too, in which NaN has no place."""
    return has_bounds(field.type) and low == low and high == high
