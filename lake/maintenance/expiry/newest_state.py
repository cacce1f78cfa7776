"""The newest snapshot and its data files, read once for a run of expiry.

No file comes back once a delta has deleted it, so the newest snapshot needs nothing that expiry takes.
It is asked all the same: were another engine to bring files back, they would leak and not be lost.
"""

from dataclasses import dataclass

from lake.errors import CorruptData
from lake.format.snapshot import Snapshot
from lake.maintenance.unreferenced_files import (
    DataFileKey,
    MetadataNames,
    data_file_key,
    metadata_names,
)
from lake.snapshots.manifest_store import ManifestGone
from lake.snapshots.table_store import TableStore


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestState:
    """What the newest snapshot consists of.

    Attributes:
        snapshot: Which never expires.
        files: Its data files.
        metadata: Its other files.
    """

    snapshot: Snapshot
    files: frozenset[DataFileKey]
    metadata: MetadataNames


def newest_state(store: TableStore) -> NewestState | None:
    """Return the newest state, whatever expires meanwhile; None in a table without snapshots.

    Raises:
        CorruptData: It cannot be read.
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
            message = f"snapshot {newest.id} is the newest, but names a missing manifest: {error}"
            raise CorruptData(message) from error
