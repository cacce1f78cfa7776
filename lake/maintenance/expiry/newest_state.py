"""Files of the newest snapshot, read once by the expiry of snapshots and once by that of changelogs.

Once a delta has deleted a file, the file does not come back, so the newest snapshot needs no file that expiry
deletes. Expiry checks this all the same: if another engine did bring a file back, expiry does not delete that file.
The worst case is then a file that stays, not a file that is lost.
"""

from dataclasses import dataclass

from braid.lake.errors import CorruptData
from braid.lake.format.snapshot import Snapshot
from braid.lake.maintenance.unreferenced_files import (
    DataFileKey,
    MetadataNames,
    data_file_key,
    metadata_names,
)
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.lake.snapshots.table_store import TableStore


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestState:
    """The newest snapshot and its files.

    Attributes:
        snapshot: The newest snapshot.
        files: Live data files of the snapshot.
        metadata: Metadata files of the snapshot.
    """

    snapshot: Snapshot
    files: frozenset[DataFileKey]
    metadata: MetadataNames


def newest_state(store: TableStore) -> NewestState | None:
    """Return the newest snapshot and its files; None without snapshots.

    If the snapshot expires while its files are read, the newest one is read again.

    Raises:
        CorruptData: The newest snapshot or a manifest of it cannot be read.
    """
    snapshots = store.snapshots
    while True:
        newest = snapshots.latest()
        if newest is None:
            return None
        try:
            return NewestState(
                snapshot=newest,
                files=frozenset(map(data_file_key, store.live.by_identity(newest).values())),
                metadata=metadata_names(newest, store.manifests),
            )
        except ManifestGone as error:
            # Only a snapshot with a successor expires, so there is a newer one.
            if snapshots.latest_id() != newest.id:
                continue
            message = f"snapshot {newest.id} is the newest, but refers to a manifest that does not exist: {error}"
            raise CorruptData(message) from error
