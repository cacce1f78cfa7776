"""Files with the keys whose rows a snapshot may have changed: every key with another row than before is in one of them.

| commit | rows of all files visible | level 0 hidden (deletion vectors, first-row) |
|---|---|---|
| `APPEND` | files added and removed | files above level 0 that were added and removed |
| `COMPACT` | none: a compaction changes no row | files of level 0 that were removed: their records become visible |
| `OVERWRITE` | files added and removed | files above level 0 that were added and removed, files of level 0 that were removed |
| `ANALYZE` | none | none |

Some of the keys have the same row as before, for example those of late records, or of files that a rescale has moved.
"""

from collections.abc import Iterator
from typing import Final

from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.partition_path import partition_directory
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.read.scan_plan import is_visible
from braid.lake.snapshots.manifest_store import ManifestStore

_CHANGING: Final = (CommitKind.APPEND, CommitKind.OVERWRITE)


def changed_key_files(
    snapshot: Snapshot, schema: TableSchema, manifests: ManifestStore
) -> tuple[ManifestEntry, ...]:
    """Return the files with the keys that a snapshot may have changed; always in the same order.

    Raises:
        ManifestGone: The snapshot has expired.
        CorruptData: A manifest cannot be read.
    """
    entries = (
        entry
        for manifest in manifests.read_list(snapshot.delta_manifest_list)
        for entry in manifests.read_manifest(manifest.file_name)
    )
    # Sorted, so that a reader that is interrupted finds the same order when it continues.
    return tuple(
        sorted(
            _changing(entries, snapshot.commit_kind, schema),
            key=lambda entry: (
                partition_directory(entry.partition, schema),
                entry.bucket,
                entry.file.file_name,
                entry.kind,
            ),
        )
    )


def _changing(
    entries: Iterator[ManifestEntry], kind: CommitKind, schema: TableSchema
) -> Iterator[ManifestEntry]:
    hides_level_0 = schema.table_options.hides_level_0
    for entry in entries:
        becomes_visible = hides_level_0 and (
            entry.kind is FileKind.DELETE
            and entry.file.level == 0
            and kind is not CommitKind.APPEND
        )
        if becomes_visible or (kind in _CHANGING and is_visible(entry, schema)):
            yield entry
