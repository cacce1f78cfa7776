"""Views of a table's history: its kept snapshots and compactions; pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow as pa

from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.partition_path import partition_label
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.table.inspection.file_views import table_of

_UTC_MS: Final = pa.timestamp("ms", "UTC")

SNAPSHOTS: Final = pa.schema(
    [
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("committed_at", _UTC_MS, nullable=False),
        pa.field("commit_user", pa.string(), nullable=False),
        pa.field("commit_identifier", pa.int64(), nullable=False),
        pa.field("schema_id", pa.int64(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("added_rows", pa.int64(), nullable=False),
        pa.field("changelog_rows", pa.int64()),
    ]
)
"""`snapshots`: one row each, oldest first.

`rows` are physical, and `added_rows` are the rows of added files less the rows of deleted files.
"""

COMPACTIONS: Final = pa.schema(
    [
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("committed_at", _UTC_MS, nullable=False),
        pa.field("commit_user", pa.string(), nullable=False),
        pa.field("partition", pa.string(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("output_level", pa.int32()),
        pa.field("files_in", pa.int32(), nullable=False),
        pa.field("files_out", pa.int32(), nullable=False),
        pa.field("files_moved", pa.int32(), nullable=False),
        pa.field("rows_in", pa.int64(), nullable=False),
        pa.field("rows_out", pa.int64(), nullable=False),
        pa.field("bytes_in", pa.int64(), nullable=False),
        pa.field("bytes_out", pa.int64(), nullable=False),
        pa.field("bytes_written", pa.int64(), nullable=False),
    ]
)
"""`compactions`: one row for each bucket of each kept snapshot of kind COMPACT, oldest first.

A file that was only moved to another level counts both as input and as output, but its bytes do not
count as written. `output_level` is the highest level that got files, null where none did.
"""


def snapshot_rows(snapshots: Iterable[Snapshot]) -> pa.Table:
    """Return `SNAPSHOTS`.

    Args:
        snapshots: Oldest first.
    """
    rows = [
        {
            "snapshot_id": snapshot.id,
            "kind": snapshot.commit_kind.value,
            "committed_at": snapshot.time_millis,
            "commit_user": snapshot.commit_user,
            "commit_identifier": snapshot.commit_identifier,
            "schema_id": snapshot.schema_id,
            "rows": snapshot.total_record_count,
            "added_rows": snapshot.delta_record_count,
            "changelog_rows": snapshot.changelog_record_count,
        }
        for snapshot in snapshots
    ]
    return table_of(rows, SNAPSHOTS)


def compaction_rows(
    deltas: Iterable[tuple[Snapshot, Sequence[ManifestEntry]]], schema: TableSchema
) -> pa.Table:
    """Return `COMPACTIONS`.

    Args:
        deltas: Snapshots of kind COMPACT, oldest first, with the entries of their delta lists.
        schema: The table's schema.
    """
    rows: list[dict[str, Any]] = []
    for snapshot, entries in deltas:
        groups: defaultdict[tuple[str, int], list[ManifestEntry]] = defaultdict(list)
        for entry in entries:
            groups[partition_label(entry.partition, schema), entry.bucket].append(entry)
        for (partition, bucket), members in sorted(groups.items()):
            rows.append(
                {
                    "snapshot_id": snapshot.id,
                    "committed_at": snapshot.time_millis,
                    "commit_user": snapshot.commit_user,
                    "partition": partition,
                    "bucket": bucket,
                    **_work(members),
                }
            )
    return table_of(rows, COMPACTIONS)


def _work(members: Sequence[ManifestEntry]) -> dict[str, int | None]:
    before = [entry.file for entry in members if entry.kind is FileKind.DELETE]
    after = [entry.file for entry in members if entry.kind is FileKind.ADD]
    moved = {file.file_name for file in before} & {file.file_name for file in after}
    return {
        "output_level": max((file.level for file in after), default=None),
        "files_in": len(before),
        "files_out": len(after),
        "files_moved": len(moved),
        "rows_in": sum(file.row_count for file in before),
        "rows_out": sum(file.row_count for file in after),
        "bytes_in": sum(file.file_size for file in before),
        "bytes_out": sum(file.file_size for file in after),
        "bytes_written": sum(file.file_size for file in after if file.file_name not in moved),
    }
