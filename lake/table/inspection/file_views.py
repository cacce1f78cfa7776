"""Views of the files of one snapshot, file by file and as sums; pure.

Partitions are named by their directories (`day=2024-05-01/region=eu`). A text that shares its directory with null, as
a blank text does, is added to the name. The name is empty in an unpartitioned table. Rows are physical: each record
of a key counts, retracts included.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from braid.lake.format.bucket import BucketId
from braid.lake.format.indexes.index_manifest import IndexManifestEntry
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.partition_path import partition_label
from braid.lake.format.schema import TableSchema
from braid.lake.lsm.levels import levels_of

_WALL_MS: Final = pa.timestamp("ms")

FILES: Final = pa.schema(
    [
        pa.field("partition", pa.string(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("total_buckets", pa.int32(), nullable=False),
        pa.field("level", pa.int32(), nullable=False),
        pa.field("file_name", pa.string(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("retracts", pa.int64()),
        pa.field("marked_rows", pa.int64()),
        pa.field("min_sequence_number", pa.int64(), nullable=False),
        pa.field("max_sequence_number", pa.int64(), nullable=False),
        pa.field("schema_id", pa.int64(), nullable=False),
        pa.field("source", pa.string()),
        pa.field("created_at", _WALL_MS),
    ]
)
"""`files`: one row per file, by partition, bucket, level and age.

`retracts` is null where the writer did not count them, `marked_rows` (by a deletion vector) where the
index does not have the count; `created_at` is local wall time, as the format stores it.
"""

_SUMS: Final = (
    pa.field("files", pa.int32(), nullable=False),
    pa.field("bytes", pa.int64(), nullable=False),
    pa.field("rows", pa.int64(), nullable=False),
    pa.field("retracts", pa.int64(), nullable=False),
)
_MARKED_SUM: Final = pa.field("marked_rows", pa.int64(), nullable=False)

BUCKETS: Final = pa.schema(
    [
        pa.field("partition", pa.string(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("total_buckets", pa.int32(), nullable=False),
        pa.field("runs", pa.int32(), nullable=False),
        pa.field("level_0_files", pa.int32(), nullable=False),
        pa.field("highest_level", pa.int32(), nullable=False),
        *_SUMS,
        _MARKED_SUM,
    ]
)
"""`buckets`: one row per bucket with files. `runs` is the most that a read has to merge."""

LEVELS: Final = pa.schema(
    [
        pa.field("level", pa.int32(), nullable=False),
        pa.field("buckets", pa.int32(), nullable=False),
        *_SUMS,
        _MARKED_SUM,
    ]
)
"""`levels`: space by level, one row per level with files."""

PARTITIONS: Final = pa.schema(
    [
        pa.field("partition", pa.string(), nullable=False),
        pa.field("buckets", pa.int32(), nullable=False),
        pa.field("total_buckets", pa.int32(), nullable=False),
        *_SUMS,
        pa.field("newest_file_at", _WALL_MS),
    ]
)
"""`partitions`: one row per partition with files; `buckets` counts its buckets with files."""


def file_rows(
    entries: Iterable[ManifestEntry],
    vectors: Mapping[BucketId, IndexManifestEntry],
    schema: TableSchema,
) -> pa.Table:
    """Return `FILES`.

    Args:
        entries: Entries of the live files.
        vectors: Index files with deletion vectors.
        schema: The table's schema.
    """
    marked = _marked(vectors)
    name = _partition_names(schema)
    ordered = sorted(
        entries,
        key=lambda e: (name(e.partition), e.bucket, e.file.level, e.file.max_sequence_number),
    )
    rows = [
        {
            "partition": name(entry.partition),
            "bucket": entry.bucket,
            "total_buckets": entry.total_buckets,
            "level": entry.file.level,
            "file_name": entry.file.file_name,
            "bytes": entry.file.file_size,
            "rows": entry.file.row_count,
            "retracts": entry.file.delete_row_count,
            "marked_rows": marked.get(entry.file.file_name, 0),
            "min_sequence_number": entry.file.min_sequence_number,
            "max_sequence_number": entry.file.max_sequence_number,
            "schema_id": entry.file.schema_id,
            "source": None if entry.file.file_source is None else entry.file.file_source.name,
            "created_at": entry.file.creation_time_ms,
        }
        for entry in ordered
    ]
    return table_of(rows, FILES)


def bucket_rows(
    entries: Iterable[ManifestEntry],
    vectors: Mapping[BucketId, IndexManifestEntry],
    schema: TableSchema,
) -> pa.Table:
    """Return `BUCKETS`; see `file_rows` for the arguments."""
    marked = _marked(vectors)
    name = _partition_names(schema)
    groups = _grouped(entries, lambda entry: (name(entry.partition), entry.bucket))
    rows: list[dict[str, Any]] = []
    for (partition, bucket), members in sorted(groups.items()):
        levels = levels_of([entry.file for entry in members], schema.table_options)
        rows.append(
            {
                "partition": partition,
                "bucket": bucket,
                "total_buckets": members[0].total_buckets,
                "runs": len(levels.runs),
                "level_0_files": sum(entry.file.level == 0 for entry in members),
                "highest_level": levels.highest_level,
                **_sums(members, marked),
            }
        )
    return table_of(rows, BUCKETS)


def level_rows(
    entries: Iterable[ManifestEntry], vectors: Mapping[BucketId, IndexManifestEntry]
) -> pa.Table:
    """Return `LEVELS`; see `file_rows` for the arguments."""
    marked = _marked(vectors)
    groups = _grouped(entries, lambda entry: entry.file.level)
    rows = [
        {"level": level, "buckets": _bucket_count(members), **_sums(members, marked)}
        for level, members in sorted(groups.items())
    ]
    return table_of(rows, LEVELS)


def partition_rows(entries: Iterable[ManifestEntry], schema: TableSchema) -> pa.Table:
    """Return `PARTITIONS`; see `file_rows` for the arguments."""
    name = _partition_names(schema)
    groups = _grouped(entries, lambda entry: name(entry.partition))
    rows: list[dict[str, Any]] = []
    for partition, members in sorted(groups.items()):
        created = [e.file.creation_time_ms for e in members if e.file.creation_time_ms is not None]
        rows.append(
            {
                "partition": partition,
                "buckets": _bucket_count(members),
                "total_buckets": members[0].total_buckets,
                **_sums(members, {}),
                "newest_file_at": max(created, default=None),
            }
        )
    return table_of(rows, PARTITIONS)


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as an Arrow table; values of names that the schema lacks are left out."""
    columns = [pa.array([row[field.name] for row in rows], type=field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _sums(members: Sequence[ManifestEntry], marked: Mapping[str, int | None]) -> dict[str, int]:
    return {
        "files": len(members),
        "bytes": sum(entry.file.file_size for entry in members),
        "rows": sum(entry.file.row_count for entry in members),
        "retracts": sum(entry.file.delete_row_count or 0 for entry in members),
        "marked_rows": sum(marked.get(entry.file.file_name) or 0 for entry in members),
    }


def _bucket_count(members: Iterable[ManifestEntry]) -> int:
    return len({(entry.partition, entry.bucket) for entry in members})


def _grouped(
    entries: Iterable[ManifestEntry], key: Callable[[ManifestEntry], Any]
) -> dict[Any, list[ManifestEntry]]:
    groups: defaultdict[Any, list[ManifestEntry]] = defaultdict(list)
    for entry in entries:
        groups[key(entry)].append(entry)
    return groups


def _marked(vectors: Mapping[BucketId, IndexManifestEntry]) -> dict[str, int | None]:
    """Return by file name the number of marked rows; None where the index does not have it."""
    return {
        vector.data_file_name: vector.cardinality
        for entry in vectors.values()
        for vector in entry.deletion_vector_ranges or ()
    }


def _partition_names(schema: TableSchema) -> Callable[[bytes], str]:
    known: dict[bytes, str] = {}

    def name(partition: bytes) -> str:
        if partition not in known:
            known[partition] = partition_label(partition, schema)
        return known[partition]

    return name
