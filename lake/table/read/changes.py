"""Changes of a table over a range of snapshots, one snapshot after another."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from braid.lake.errors import CorruptData, table_error_context
from braid.lake.files.column_mapping import OlderSchemas
from braid.lake.files.data_files import ReadCounters
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.options.table_options import ChangelogProducer
from braid.lake.read.snapshot_changes import (
    ChangesMode,
    changed_files,
    changes_schema,
    read_changes,
)
from braid.lake.snapshots.lease import Lease
from braid.lake.snapshots.lease_keeper import LeaseKeeper
from braid.lake.snapshots.manifest_store import ManifestGone, ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.snapshots.snapshots_and_changelogs import SnapshotsAndChangelogs
from braid.lake.table.arguments import check_skip
from braid.lake.table.read.changes_range import ChangesExpired


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChanges:
    """The changes of one snapshot; can be read any number of times while they are kept.

    Attributes:
        snapshot: The snapshot.
        entries: The files with its changes, in reading order.
        changes: The range that it belongs to.
    """

    snapshot: Snapshot
    entries: tuple[ManifestEntry, ...]
    changes: "Changes"

    @property
    def snapshot_id(self) -> int:
        """Return the id of the snapshot."""
        return self.snapshot.id

    @property
    def row_count(self) -> int:
        """Return the number of rows; no file is opened."""
        return sum(entry.file.row_count for entry in self.entries)

    def to_batches(self, *, skip_rows: int = 0) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches of at least one row; see `Changes` for columns and order.

        Args:
            skip_rows: Number of rows to skip at the beginning; files of skipped rows are not opened.

        Raises:
            InvalidRequest: `skip_rows` is no number of rows.
            ChangesExpired: The changes have expired by now.
            CorruptData: A file is absent or does not match its metadata.
        """
        check_skip(skip_rows)
        return self._batches(skip_rows)

    def _batches(self, skip_rows: int) -> Iterator[pa.RecordBatch]:
        changes = self.changes
        entries = list(self.entries)
        while entries and entries[0].file.row_count <= skip_rows:
            skip_rows -= entries.pop(0).file.row_count
        with table_error_context(changes.paths.identifier), changes.held(self.snapshot):
            try:
                for batch in read_changes(
                    changes.file_io,
                    changes.paths,
                    changes.schema,
                    entries,
                    columns=changes.columns,
                    older_schemas=changes.older_schemas(changes.schema, entries),
                    batch_rows=changes.batch_rows,
                    counters=changes.counters,
                ):
                    if skip_rows < batch.num_rows:
                        yield batch.slice(skip_rows)
                    skip_rows = max(skip_rows - batch.num_rows, 0)
            except CorruptData:
                # Expiry removes a snapshot before its files: if it is gone, this raises ChangesExpired.
                changes.snapshot(self.snapshot_id)
                raise

    def to_arrow(self) -> pa.Table:
        """Return the rows as one table."""
        return pa.Table.from_batches(self.to_batches(), schema=self.changes.arrow_schema)


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class Changes:
    """The changes of a range of snapshots; made by `Table.changes`.

    Iterating yields one `SnapshotChanges` for each snapshot with changes in the mode, oldest first. Rows
    have the column `_VALUE_KIND` (int8: 0 +I, 1 -U, 2 +U, 3 -D) and then `columns`, in the Arrow
    types of the table. The changes of a key come in the order in which they happened; in a snapshot
    they are all in one bucket, so the buckets of a snapshot may be processed in any order.

    A reader that continues later starts after `until_snapshot_id`.

    Attributes:
        file_io: Storage.
        paths: The table's paths.
        schema: The schema under which the changes are read.
        manifests: Of the table.
        after_snapshot_id: The last snapshot before the range; 0 for the beginning.
        until_snapshot_id: The last snapshot of the range.
        mode: Which files are read; not `AUTO`.
        columns: Table columns of the result, in order.
        batch_rows: Upper bound of the rows of a batch.
        keeper: Leases the snapshots that are still to be read, if reading takes long.
        counters: Cost of reading so far.
        older_schemas: Returns, given a schema and files, by id the schemas of the files that were
            written with other columns than the schema's.
    """

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    manifests: ManifestStore
    after_snapshot_id: int
    until_snapshot_id: int
    mode: ChangesMode
    columns: tuple[str, ...]
    batch_rows: int
    older_schemas: Callable[[TableSchema, Sequence[ManifestEntry]], OlderSchemas]
    keeper: LeaseKeeper
    counters: ReadCounters = field(default_factory=ReadCounters)

    def __post_init__(self) -> None:
        """Check what `Table.changes` ensures."""
        assert 0 <= self.after_snapshot_id <= self.until_snapshot_id, "a range, perhaps empty"
        assert self.mode is not ChangesMode.AUTO, "the producer has decided the mode"

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The schema of the rows."""
        return changes_schema(self.schema, self.columns)

    def __iter__(self) -> Iterator[SnapshotChanges]:
        """Yield the changes of each snapshot that has any, oldest first.

        Raises:
            ChangesExpired: The changes of a snapshot have expired; the message names the first
                snapshot whose changes are kept.
            CorruptData: A snapshot or manifest is damaged.
        """
        begin, end = self.after_snapshot_id + 1, self.until_snapshot_id + 1
        with table_error_context(self.paths.identifier):
            if begin == end:
                # An empty range: its first snapshot need not exist yet.
                return
            with self.held(self.snapshot(begin)):
                for snapshot_id in range(begin, end):
                    snapshot = self.snapshot(snapshot_id)
                    entries = self._entries(snapshot)
                    if entries:
                        yield SnapshotChanges(snapshot=snapshot, entries=entries, changes=self)

    def to_arrow(self) -> pa.Table:
        """Return the rows of all snapshots as one table, oldest first; raises what iterating raises."""
        batches = (batch for part in self for batch in part.to_batches())
        return pa.Table.from_batches(batches, schema=self.arrow_schema)

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """Return a snapshot, or the changelog of an expired one, if the changes can be read from that.

        Raises:
            ChangesExpired: Neither the snapshot nor its changelog is kept.
        """
        kept = (SnapshotStore if self._needs_data else SnapshotsAndChangelogs)(
            self.file_io, self.paths
        )
        found = kept.find(snapshot_id)
        if found is None:
            ids = kept.list_ids()
            first = (
                f"; the oldest that are kept are those of snapshot {ids[0]}"
                if ids
                else "; none are kept"
            )
            raise _expired(snapshot_id, first)
        return found

    def lease(self, *, what: str, lease_id: str | None = None) -> Lease:
        """Keep the changes of the range until the lease is released or not refreshed in time.

        Args:
            what: Name of the holder, shown by `inspect.consumers`.
            lease_id: Id of a lease to continue, from any process; None: a new lease is taken.

        Raises:
            ChangesExpired: The first changes of the range have expired.
            LeaseLost: The changes expired before the lease was written.
        """
        with table_error_context(self.paths.identifier):
            first = self.snapshot(self.after_snapshot_id + 1)
            return self.keeper.lease(
                first, what=what, is_changelog=not self._needs_data, lease_id=lease_id
            )

    def held(self, snapshot: Snapshot) -> AbstractContextManager[None]:
        """Lease the changes of a snapshot and of all later snapshots, if the block takes long."""
        what = "a reader of changes"
        return self.keeper.hold(snapshot, what=what, is_changelog=not self._needs_data)

    @property
    def _needs_data(self) -> bool:
        """Whether changes are read from data files, which expire with their snapshot."""
        # Without a producer the data files are the changelog, and are kept as changelogs are.
        producer = self.schema.table_options.changelog_producer
        return self.mode is ChangesMode.DELTA and producer is not ChangelogProducer.NONE

    def _entries(self, snapshot: Snapshot) -> tuple[ManifestEntry, ...]:
        try:
            entries = changed_files(snapshot, self.schema, self.manifests, self.mode)
        except ManifestGone as error:
            # Expiry removes the snapshot before its manifests.
            self.snapshot(snapshot.id)
            if self.mode is ChangesMode.CHANGELOG:
                raise _expired(
                    snapshot.id,
                    ", because a rollback restored the snapshot from a tag, and tags keep rows only",
                ) from error
            message = (
                f"snapshot {snapshot.id} exists, but a file that it refers to does not: {error}"
            )
            raise CorruptData(message) from error
        return entries


def _expired(snapshot_id: int, what_is_kept: str) -> ChangesExpired:
    message = (
        f"the changes of snapshot {snapshot_id} are not kept{what_is_kept}\n"
        "hint: start anew: read the newest snapshot, then the changes after it"
    )
    return ChangesExpired(message)
