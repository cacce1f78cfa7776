"""The marker of a table that is being rolled back, or was rolled back recently.

A rollback deletes snapshots one by one. While it runs, the chain has a gap, and an interrupted rollback leaves the
gap until it is run again. A commit that was planned on the target could be published right above the target, where no
reader finds it. A commit that was planned on a removed snapshot could be published above what is left, where it would
be the newest. So every publication checks for this marker, which is written before the first deletion; if it exists,
the whole chain is checked (`braid.lake.commit.publisher`).

The marker names two snapshots, each by its id and its delta manifest list, whose name is unique:

```
target   the snapshot that the table is rolled back to
newest   the newest snapshot when the removal began; the last to be deleted
```

A rollback does not remove the marker at its end, because another rollback may be running. Expiry removes the
marker when it is a day old and the chain has no gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.json_document import dump_json
from braid.lake.format.snapshot import Snapshot

_LONGEST_RUN_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotIdentity:
    """The identity of a snapshot, unique although ids are reused after a rollback.

    Attributes:
        id: Id that the snapshot has or had.
        delta_manifest_list: File name, unique.
    """

    id: int
    delta_manifest_list: str

    def is_of(self, snapshot: Snapshot | None) -> bool:
        """Return whether a snapshot has this identity; False for None."""
        return snapshot is not None and self == identity_of(snapshot)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRecord:
    """The rollback that the marker describes: the latest one.

    Attributes:
        target: The snapshot that the table is rolled back to.
        newest: The newest snapshot before the rollback; while it exists, the rollback has not taken effect.
    """

    target: SnapshotIdentity
    newest: SnapshotIdentity


def identity_of(snapshot: Snapshot) -> SnapshotIdentity:
    """Return the identity of a snapshot."""
    return SnapshotIdentity(id=snapshot.id, delta_manifest_list=snapshot.delta_manifest_list)


class RollbackMarker:
    """Writes, reads and removes the marker of one table."""

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._file_io = file_io
        self._paths = paths

    def put(self, *, target: Snapshot, newest: Snapshot) -> None:
        """Write the marker, durably.

        Args:
            target: The snapshot that the table is rolled back to.
            newest: The newest of the snapshots that are about to be removed.
        """
        names = {"target": _to_json(target), "newest": _to_json(newest)}
        data = dump_json(names)
        if not self._file_io.create_exclusive(self._paths.rollback_marker, data):
            # Replaced even if equal: the file's time has to be that of the latest rollback.
            self._file_io.overwrite(self._paths.rollback_marker, data)

    def exists(self) -> bool:
        """Return whether the chain may have a gap in its middle, or had one recently."""
        return self._file_io.exists(self._paths.rollback_marker)

    def read(self) -> RollbackRecord | None:
        """Return the marked rollback; None without a marker, or if an earlier version wrote the marker."""
        try:
            document = orjson.loads(self._file_io.read_bytes(self._paths.rollback_marker))
            return RollbackRecord(
                target=_from_json(document["target"]), newest=_from_json(document["newest"])
            )
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def remove_if_stale(self, ids: Sequence[int], *, now_ms: int) -> None:
        """Remove the marker if it is old, unless the chain has a gap.

        Args:
            ids: Ids of all snapshots, ascending.
            now_ms: Milliseconds since 1970 UTC.
        """
        # Fewer ids than their range has numbers: a rollback broke off.
        if not ids or len(ids) <= ids[-1] - ids[0]:
            return
        path = self._paths.rollback_marker
        for status in self._file_io.list(path.rpartition("/")[0]):
            if status.path == path and status.modified_ms < now_ms - _LONGEST_RUN_MS:
                self._file_io.delete(path)


def _to_json(snapshot: Snapshot) -> dict[str, Any]:
    return {"id": snapshot.id, "deltaManifestList": snapshot.delta_manifest_list}


def _from_json(document: Any) -> SnapshotIdentity:
    return SnapshotIdentity(
        id=int(document["id"]), delta_manifest_list=str(document["deltaManifestList"])
    )
