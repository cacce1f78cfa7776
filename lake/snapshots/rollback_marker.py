"""The mark of a table that is being taken back, or was not long ago.

A rollback deletes snapshots one by one, so for as long as it takes, and for good where it breaks off,
the chain has a gap: a writer that was planned on the target could publish right behind it, where nobody
finds its commit. One that was planned on what is removed could publish above what is left, where it would
be the newest. Whoever publishes therefore looks for this mark, which lies there from before the first
deletion on, and where it is there looks at the whole chain (`lake.commit.publisher`).

The mark names two snapshots, each by its id and its delta manifest list, whose name is unique:

```
target   what the table is taken back to
newest   what was the newest when the removal began; the last to be deleted
```

No rollback removes the mark, as another one may be under way. Expiry does, when it is a day old and the
chain has no gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.json_document import dump_json
from lake.format.snapshot import Snapshot

_LONGEST_RUN_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotName:
    """A snapshot, told from all others that may get its id.

    Attributes:
        id: That it has or had.
        delta_manifest_list: File name, unique.
    """

    id: int
    delta_manifest_list: str

    def is_of(self, snapshot: Snapshot | None) -> bool:
        """Return whether a snapshot is the one that is named."""
        return snapshot is not None and self == name_of(snapshot)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRecord:
    """What the mark says of the rollback that put it last.

    Attributes:
        target: What the table is taken back to.
        newest: What was the newest; while it is there, the rollback has changed nothing.
    """

    target: SnapshotName
    newest: SnapshotName


def name_of(snapshot: Snapshot) -> SnapshotName:
    """Return the name of a snapshot."""
    return SnapshotName(id=snapshot.id, delta_manifest_list=snapshot.delta_manifest_list)


class RollbackMarker:
    """Puts, reads and removes the mark of one table."""

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._file_io = file_io
        self._paths = paths

    def put(self, *, target: Snapshot, newest: Snapshot) -> None:
        """Mark the table from now on; the mark is durable.

        Args:
            target: What the table is taken back to.
            newest: Of the snapshots that are about to be removed.
        """
        names = {"target": _to_json(target), "newest": _to_json(newest)}
        data = dump_json(names)
        if not self._file_io.create_exclusive(self._paths.rollback_marker, data):
            # Its time says until when somebody was at work.
            self._file_io.overwrite(self._paths.rollback_marker, data)

    def exists(self) -> bool:
        """Return whether the chain may have a gap in its midst, or had one not long ago."""
        return self._file_io.exists(self._paths.rollback_marker)

    def read(self) -> RollbackRecord | None:
        """Return what the mark says; None without one, or where an earlier version has put it."""
        try:
            document = orjson.loads(self._file_io.read_bytes(self._paths.rollback_marker))
            return RollbackRecord(
                target=_from_json(document["target"]), newest=_from_json(document["newest"])
            )
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def remove_if_stale(self, ids: Sequence[int], *, now_ms: int) -> None:
        """Remove the mark if it is old, unless a rollback broke off.

        Args:
            ids: All snapshots, ascending.
            now_ms: Milliseconds since 1970 UTC.
        """
        if not ids or len(ids) <= ids[-1] - ids[0]:
            return
        path = self._paths.rollback_marker
        for status in self._file_io.list(path.rpartition("/")[0]):
            if status.path == path and status.modified_ms < now_ms - _LONGEST_RUN_MS:
                self._file_io.delete(path)


def _to_json(snapshot: Snapshot) -> dict[str, Any]:
    return {"id": snapshot.id, "deltaManifestList": snapshot.delta_manifest_list}


def _from_json(document: Any) -> SnapshotName:
    return SnapshotName(
        id=int(document["id"]), delta_manifest_list=str(document["deltaManifestList"])
    )
