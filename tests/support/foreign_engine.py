"""Another engine at work on the same table: commits without our properties, and expires."""

import uuid
from collections.abc import Sequence
from dataclasses import replace

from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.snapshot import CommitKind, Snapshot, serialize_snapshot
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore


def commit_foreign(
    file_io: FileIO, paths: TablePaths, entries: Sequence[ManifestEntry] = (), **given: object
) -> Snapshot:
    """Publish a snapshot as an engine does that knows nothing of us; return it."""
    store = ManifestStore(file_io, paths)
    snapshots = SnapshotStore(file_io, paths)
    latest = snapshots.latest()
    name = str(uuid.uuid4())
    before = []
    if latest is not None:
        before = [
            *store.read_list(latest.base_manifest_list),
            *store.read_list(latest.delta_manifest_list),
        ]
    delta = []
    if entries:
        delta.append(
            store.write_manifest(
                f"manifest-{name}-0", entries, partition_fields=(), compression="zstandard"
            )
        )
    store.write_list(f"manifest-list-{name}-0", before, compression="zstandard")
    store.write_list(f"manifest-list-{name}-1", delta, compression="zstandard")
    rows = sum(entry.file.row_count for entry in entries)
    snapshot = Snapshot(
        id=1 if latest is None else latest.id + 1,
        schema_id=0,
        base_manifest_list=f"manifest-list-{name}-0",
        delta_manifest_list=f"manifest-list-{name}-1",
        commit_user="foreign",
        commit_identifier=1,
        commit_kind=CommitKind.APPEND,
        time_millis=0 if latest is None else latest.time_millis,
        total_record_count=rows + (0 if latest is None else latest.total_record_count),
        delta_record_count=rows,
    )
    snapshot = replace(snapshot, **given)  # type: ignore[arg-type]  # any attribute of a snapshot
    assert file_io.create_exclusive(paths.snapshot(snapshot.id), serialize_snapshot(snapshot))
    snapshots.write_latest_hint(snapshot.id)
    return snapshot


def expire(file_io: FileIO, paths: TablePaths, *, keep_from: int) -> None:
    """Remove the snapshots below `keep_from`, lowest first, and their unshared manifests."""
    store = ManifestStore(file_io, paths)
    snapshots = SnapshotStore(file_io, paths)
    kept = _manifest_names(store, snapshots.get(keep_from))
    doomed = [number for number in snapshots.list_ids() if number < keep_from]
    unused = set().union(*(_manifest_names(store, snapshots.get(n)) for n in doomed)) - kept
    for name in sorted(unused):
        store.delete(name)
    for number in doomed:
        file_io.delete(paths.snapshot(number))
    snapshots.write_earliest_hint(keep_from)


def _manifest_names(store: ManifestStore, snapshot: Snapshot) -> set[str]:
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list)
    manifests = (manifest.file_name for name in lists for manifest in store.read_list(name))
    return {*lists, *manifests}
