"""Keys whose rows may have changed since a snapshot, read from there to a newer one, part by part.

A part has a bounded number of records. The position after it says how far the changes were read, so that any process can
continue, within a snapshot, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from braid.lake.errors import CorruptData, table_error_context
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.read.changed_key_files import changed_key_files
from braid.lake.read.reader import BATCH_ROWS
from braid.lake.read.snapshot_changes import read_changes
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.read.changes_range import ChangesExpired

SNAPSHOTS_MAX: Final = 1_000
"""Snapshots of one part: many of them may have no changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedKeysPosition:
    """How far changed keys were read.

    Attributes:
        snapshot_id: The last snapshot that was read; 0: none, before the first.
        uuid: Its unique id: after a rollback another snapshot may have the same number. None without one.
        records: Records of that snapshot's files that were read; None: all.
    """

    snapshot_id: int = 0
    uuid: str | None = None
    records: int | None = None

    @classmethod
    def after(cls, snapshot: Snapshot | None) -> "ChangedKeysPosition":
        """Return the position after all changes of a snapshot; None: before the first one."""
        if snapshot is None:
            return cls()
        return cls(snapshot_id=snapshot.id, uuid=snapshot.uuid)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedKeys:
    """A part of the changed keys.

    Attributes:
        keys: The columns of the primary key, each key once.
        end: The position after the part.
    """

    keys: pa.Table
    end: ChangedKeysPosition


def changed_keys(
    table: OpenedTable, after: ChangedKeysPosition, until: Snapshot | None, *, records_max: int
) -> ChangedKeys:
    """Return the next part of the changed keys (see `Table.changed_keys`)."""
    assert records_max > 0
    with table_error_context(table.identifier):
        return _Reading(table, after, until, records_max).part()


class _Reading:
    """The reading of one part."""

    def __init__(
        self,
        table: OpenedTable,
        after: ChangedKeysPosition,
        until: Snapshot | None,
        records_max: int,
    ) -> None:
        self._table = table
        self._after = after
        self._until_id = 0 if until is None else until.id
        self._schema = table.schema_of(until, is_newest=True)
        self._left = records_max
        self._batches: list[pa.RecordBatch] = []

    def part(self) -> ChangedKeys:
        after = self._after
        begin = after.snapshot_id + (1 if after.records is None else 0)
        end = after
        held = self._checked_start()
        with self._table.keeper.reading(held, what="a reader of changed keys"):
            last = min(self._until_id, begin + SNAPSHOTS_MAX - 1)
            for snapshot_id in range(begin, last + 1):
                snapshot = self._found(snapshot_id)
                skipped = (after.records or 0) if snapshot_id == after.snapshot_id else 0
                read = self._read(snapshot, skipped)
                end = ChangedKeysPosition(
                    snapshot_id=snapshot.id,
                    uuid=snapshot.uuid,
                    records=None if read is None else skipped + read,
                )
                if not self._left:
                    break
        return ChangedKeys(keys=self._distinct(), end=end)

    def _checked_start(self) -> Snapshot | None:
        """Return the snapshot of the position after a check that it is still part of the table."""
        after = self._after
        if after.snapshot_id == 0:
            return None
        if after.snapshot_id > self._until_id:
            raise _rolled_back(after)
        snapshot = self._found(after.snapshot_id)
        if snapshot.uuid != after.uuid:
            raise _rolled_back(after)
        return snapshot

    def _found(self, snapshot_id: int) -> Snapshot:
        snapshot = self._table.store.snapshots.find(snapshot_id)
        if snapshot is None:
            raise _expired(snapshot_id)
        return snapshot

    def _read(self, snapshot: Snapshot, skipped: int) -> int | None:
        """Collect keys of a snapshot; return the number of records that were read, None for all."""
        try:
            entries = changed_key_files(snapshot, self._schema, self._table.store.manifests)
            read = 0
            for batch in self._records(entries, skipped):
                taken = batch.slice(0, self._left)
                self._batches.append(taken)
                self._left -= taken.num_rows
                read += int(taken.num_rows)
                if not self._left:
                    return read
        except (ManifestGone, CorruptData) as error:
            # Expiry removes a snapshot before its files, and removed files go with the snapshot before.
            for kept_id in (snapshot.id - 1, snapshot.id):
                if kept_id > 0 and self._table.store.snapshots.find(kept_id) is None:
                    raise _expired(kept_id) from error
            raise
        return None

    def _records(self, entries: Sequence[ManifestEntry], skipped: int) -> Iterator[pa.RecordBatch]:
        remaining = list(entries)
        while remaining and remaining[0].file.row_count <= skipped:
            skipped -= remaining.pop(0).file.row_count
        names = self._schema.primary_keys
        store = self._table.store
        for batch in read_changes(
            store.file_io,
            store.paths,
            self._schema,
            remaining,
            columns=names,
            older_schemas=self._table.older_schemas(self._schema, remaining),
            batch_rows=BATCH_ROWS,
        ):
            if skipped < batch.num_rows:
                yield batch.slice(skipped).select(list(names))
            skipped = max(skipped - batch.num_rows, 0)

    def _distinct(self) -> pa.Table:
        found = pa.Table.from_batches(self._batches, schema=_key_schema(self._schema))
        # In one thread, so that the keys come in the order of the records.
        return (
            found.group_by(found.schema.names, use_threads=False).aggregate([]).cast(found.schema)
        )


def _key_schema(schema: TableSchema) -> pa.Schema:
    return pa.schema([schema.arrow_schema.field(name) for name in schema.primary_keys])


def _expired(snapshot_id: int) -> ChangesExpired:
    message = (
        f"the changes after that position are not kept: snapshot {snapshot_id} has expired\n"
        "hint: start anew: read the newest rows, then the changes after them"
    )
    return ChangesExpired(message)


def _rolled_back(after: ChangedKeysPosition) -> ChangesExpired:
    message = (
        f"snapshot {after.snapshot_id} of that position is not part of the table any more: "
        "the table was rolled back\n"
        "hint: start anew: read the newest rows, then the changes after them"
    )
    return ChangesExpired(message)
