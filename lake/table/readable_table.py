"""The methods of a table that read its rows, changes and metadata.

`Table` adds some methods that change nothing either: it lists schemas, tests rows, and plans changes of the schema
and compactions.

The file is long because it has the docstrings of all these methods, which are their contract. The work of reading
rows is done in `braid.lake.table.operations.reads`.
"""

import random as random_module
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Self

import pyarrow as pa

from braid.lake.errors import TableNotFound, adds_table_to_errors
from braid.lake.files.clock import Clock, SystemClock
from braid.lake.files.data_file_path import table_paths
from braid.lake.files.data_files import ReadCounters
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.files.storage.open import file_io_for, path_for
from braid.lake.format.bucket import BucketId
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.format.tag import Tag
from braid.lake.lsm.run_counts import count_runs
from braid.lake.merge.fold import Machine
from braid.lake.read.lookup.copy_store import CopyStore
from braid.lake.read.lookup.python_rows import Row
from braid.lake.read.predicate import Condition
from braid.lake.read.reader import BATCH_ROWS
from braid.lake.read.snapshot_changes import ChangesMode
from braid.lake.snapshots.consumer_store import ConsumerFile
from braid.lake.snapshots.metadata_cache import MetadataCache
from braid.lake.snapshots.schema_store import SchemaStore
from braid.lake.snapshots.tag_store import branch_paths, list_branches
from braid.lake.table.inspection.inspection import Inspection
from braid.lake.table.lookup.snapshot_lookup import SnapshotLookup
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.operations import reads
from braid.lake.table.operations.explanation import explain
from braid.lake.table.read.changed_keys import ChangedKeys, ChangedKeysPosition, changed_keys
from braid.lake.table.read.changes import Changes
from braid.lake.table.read.key_explanation import KeyExplanation
from braid.lake.table.read.scan import Scan
from braid.lake.table.read_at import SnapshotRef
from braid.lake.table.readable_state import live_at


class ReadableTable:
    """The methods of a table that only read; `Table` adds those that change it, plan changes and list schemas."""

    def __init__(
        self,
        *,
        file_io: FileIO,
        path: str,
        identifier: str,
        schema: TableSchema,
        clock: Clock,
        random: random_module.Random | None,
        branch: str = "",
        copies: CopyStore | None = None,
        metadata_cache: MetadataCache | None = None,
    ) -> None:
        """Wrap a table whose schema `open` has read."""
        self._opened = OpenedTable(
            file_io=file_io,
            paths=replace(table_paths(path, schema), branch=branch),
            identifier=identifier,
            schema=schema,
            clock=clock,
            random=random,
            copies=copies,
            metadata_cache=metadata_cache,
        )

    @classmethod
    def open(
        cls,
        path: str,
        *,
        file_io: FileIO | None = None,
        clock: Clock | None = None,
        random: random_module.Random | None = None,
        identifier: str | None = None,
        copies: CopyStore | None = None,
        metadata_cache: MetadataCache | None = None,
    ) -> Self:
        """Open the table at a path.

        Args:
            path: Path of the table's directory, or its URI when no `file_io` is given.
            file_io: Storage; chosen by the address when None.
            clock: The time of commits; the system's when None.
            random: Source of names and waiting times; the system's when None.
            identifier: `db.table`; taken from the path when None.
            copies: Copies of files for lookups, shared with other tables; its own when None.
            metadata_cache: Decoded metadata, shared with other tables; of its own when None.

        Raises:
            TableNotFound: There is no table at the path.
            UnsupportedFeature: The table needs what this version does not have.
        """
        if file_io is None:
            file_io, path = file_io_for(path), path_for(path)
        schema = SchemaStore(file_io, TablePaths(path)).latest()
        if schema is None:
            message = (
                f"no table at {path}: it has no schema\nhint: check the name and the warehouse"
            )
            raise TableNotFound(message)
        return cls(
            file_io=file_io,
            path=path,
            identifier=identifier or TablePaths(path).identifier,
            schema=schema,
            clock=clock or SystemClock(),
            random=random,
            copies=copies,
            metadata_cache=metadata_cache,
        )

    @property
    def identifier(self) -> str:
        """`db.table`."""
        return self._opened.identifier

    @property
    def path(self) -> str:
        """The table's directory."""
        return self._opened.store.paths.root

    @property
    def schema(self) -> TableSchema:
        """The newest schema that this handle has seen."""
        return self._opened.store.schema

    @property
    def paths(self) -> TablePaths:
        """Names of the table's files."""
        return self._opened.store.paths

    @property
    def file_io(self) -> FileIO:
        """The storage of the table."""
        return self._opened.store.file_io

    @adds_table_to_errors
    def refresh(self) -> None:
        """Read the newest schema.

        Raises:
            TableNotFound: The table was dropped, or created anew.
            UnsupportedFeature: The new schema needs what this version does not have.
        """
        self._opened.refresh()

    @adds_table_to_errors
    def latest_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot, read from storage; None before the first commit.

        Raises:
            TableNotFound: The table was dropped, or created anew.
        """
        return self._opened.latest_snapshot()

    @adds_table_to_errors
    def snapshot(self, snapshot_id: int) -> Snapshot:
        """Return a snapshot.

        Raises:
            InvalidRequest: The snapshot was never made or has expired; the message names the
                snapshots that are kept.
            TableNotFound: The table was dropped, or created anew.
        """
        return self._opened.snapshot(snapshot_id)

    @adds_table_to_errors
    def live_files(self, snapshot: Snapshot) -> list[ManifestEntry]:
        """Return the entries of the live data files of a snapshot, in no particular order.

        Raises:
            InvalidRequest: The snapshot has expired.
            CorruptData: A manifest is damaged, or absent although the snapshot exists.
        """
        return self._opened.live_files(snapshot)

    @adds_table_to_errors
    def scan(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: Sequence[Condition] = (),
        at: SnapshotRef | None = None,
        batch_rows: int = BATCH_ROWS,
        machine: Machine = Machine.COLUMN,
        counters: ReadCounters | None = None,
        merged: bool = False,
        schema_id: int | None = None,
    ) -> Scan:
        """Return a scan of one state, fixed by this call.

        The newest state is read with the newest schema that this handle has seen; where that lacks a
        column of the call, with the newest in storage. An older state is read with the schema of its
        snapshot.

        Args:
            columns: Columns of the result, in order; None means all.
            where: A conjunction; its columns need not be among `columns`.
            at: The state to read: the id of a snapshot, or a `ReadAt`; None means the newest now.
            batch_rows: Upper bound of the rows of a batch.
            machine: The execution of merging; both give the same rows.
            counters: Counters to add to while reading, if given.
            merged: Read and merge level 0, too, where the table hides it from readers (`hides_level_0`), as
                with `deletion-vectors.merge-on-read`.
            schema_id: Id of the schema to read with, at least as new as the state; None means the usual one.

        Raises:
            InvalidRequest: No such column or state.
            UnsupportedFeature: Reading the snapshot needs what this version does not have.
        """
        return reads.scan(
            self._opened,
            at,
            columns=columns,
            where=where,
            batch_rows=batch_rows,
            machine=machine,
            counters=counters,
            merged=merged,
            schema_id=schema_id,
        )

    @adds_table_to_errors
    def to_arrow_reader(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: Sequence[Condition] = (),
        at: SnapshotRef | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> pa.RecordBatchReader:
        """Return the rows of one state as an Arrow stream of batches.

        Memory: as `Scan.to_batches`. No data file is read before the first batch is requested. The stream
        can be read once; a `Scan` is an Arrow stream that can be read any number of times.

        Args:
            columns: As for `scan`.
            where: As for `scan`; engines that read Arrow streams cannot push their own conditions
                down.
            at: As for `scan`.
            batch_rows: As for `scan`.

        Raises:
            InvalidRequest, UnsupportedFeature: As `scan`.
        """
        scan = self.scan(columns=columns, where=where, at=at, batch_rows=batch_rows)
        return scan.to_arrow_reader()

    @adds_table_to_errors
    def changes(
        self,
        after: SnapshotRef,
        until: SnapshotRef | None = None,
        *,
        mode: ChangesMode | str = ChangesMode.AUTO,
        columns: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
        counters: ReadCounters | None = None,
    ) -> Changes:
        """Return the changes of a range of snapshots, fixed by this call.

        The changes of a snapshot depend on the table's `changelog-producer`: without one, the records
        that appends added, as they were written; else its changelog. Overwrites have no changes.

        Args:
            after: The last snapshot before the range, by its id or as a state; 0, or a time before
                the first commit, means the beginning.
            until: The last snapshot of the range, by its id or as a state; None means the newest
                now.
            mode: `delta` reads the records that appends added even if the table has a changelog;
                `changelog` requires one.
            columns: Columns of the result, in order, after the kinds; None means all.
            batch_rows: Upper bound of the rows of a batch.
            counters: Counters to add to while reading, if given.

        Raises:
            InvalidRequest: No such column, state or range, or no changelog.
            ChangesExpired: The first changes have expired.
        """
        return reads.changes(
            self._opened,
            after,
            until,
            mode=mode,
            columns=columns,
            batch_rows=batch_rows,
            counters=counters,
        )

    @adds_table_to_errors
    def changed_keys(
        self, after: ChangedKeysPosition, until: Snapshot | None, *, records_max: int
    ) -> ChangedKeys:
        """Return the next part of the keys whose rows may have changed, for readers that then look up the rows.

        Every key with another row than at the position is in one of the parts up to `until`; some have the same row. A
        row that has expired by its time to live has not changed. Keys come in the same order at every call.

        Args:
            after: The position: of a snapshot, or of an earlier part.
            until: The last snapshot to read, which may be older than the newest; None: the table has none.
            records_max: Upper bound of the records that are read; a part may have fewer.

        Raises:
            ChangesExpired: Snapshots after the position have expired, or the table was rolled back.
            LeaseLost: Snapshots have expired while they were read.
            CorruptData: A file is absent or does not match its metadata.
        """
        return changed_keys(self._opened, after, until, records_max=records_max)

    @adds_table_to_errors
    def get(
        self,
        key: Mapping[str, object],
        *,
        columns: Sequence[str] | None = None,
        at: SnapshotRef | None = None,
    ) -> Row | None:
        """Return the row of a primary key; None when there is none.

        It is the row that a scan gives. The search is that of `lookup_at`: a file that has a copy answers
        in microseconds; of a file without one, the row groups that may have the key are read.

        Args:
            key: A value for each column of the primary key; NaN is a key, -0.0 and 0.0 are two.
            columns: Columns of the row; None means all.
            at: The state to read: the id of a snapshot, or a `ReadAt`; None means the newest now.

        Returns:
            Values as `pa.Array.to_pylist()` gives them, but TIMESTAMP(7..9) as whole nanoseconds
            since 1970.

        Raises:
            InvalidRequest: The key does not name exactly the primary key, a value does not fit its
                column, or there is no such state.
            UnsupportedFeature: A date or time that Python cannot hold; or another engine made the table,
                with partition columns outside of the primary key, and the key has rows in several
                partitions.
        """
        return reads.get(self._opened, key, at, columns=columns)

    @adds_table_to_errors
    def lookup(
        self,
        keys: pa.Table | pa.RecordBatch,
        *,
        columns: Sequence[str] | None = None,
        at: SnapshotRef | None = None,
    ) -> pa.Table:
        """Return the rows of many primary keys, in the keys' order; see `SnapshotLookup.rows`.

        Reads the newest snapshot at each call; use `lookup_at` to read it once.
        """
        return reads.lookup(self._opened, keys, at, columns=columns)

    @adds_table_to_errors
    def lookup_at(
        self,
        at: SnapshotRef | None = None,
        *,
        merged: bool = False,
        schema_id: int | None = None,
    ) -> SnapshotLookup:
        """Return a lookup of rows of one state by key, fixed by this call.

        Files that keys may be in are copied, once for all snapshots: small files to memory, other
        files to local disk, within `lookup.cache-max-memory-size` and `lookup.cache-max-disk-size`.
        Large files are copied in the background, and beyond the bounds not at all: the row groups
        that may have a key are read instead.

        Args:
            at: The state: the id of a snapshot, or a `ReadAt`; None means the newest now.
            merged: As for `scan`.
            schema_id: As for `scan`.

        Raises:
            InvalidRequest: No such state.
            UnsupportedFeature: Reading the snapshot needs what this version does not have.
        """
        return reads.lookup_at(self._opened, at, merged=merged, schema_id=schema_id)

    @adds_table_to_errors
    def explain(
        self,
        key: Mapping[str, object],
        *,
        at: SnapshotRef | SnapshotLookup | None = None,
    ) -> KeyExplanation:
        """Return why a row has its values: the versions of its key, and for each column the one that gives the value.

        The versions are those that were written, as far as snapshots exist that have them: compactions are undone
        (`braid.lake.table.lookup.snapshot_history`). An older version is one that a compaction has merged from
        others, which are not known.

        Args:
            key: A value for each column of the primary key.
            at: The state: a lookup, the id of a snapshot, or a `ReadAt`; None means the newest now.

        Raises:
            InvalidRequest: As `get`.
            SchemaMismatch: The table's merge refuses the records of the key.
            LimitExceeded: More than 500 versions of the row are stored: compact the table.
            LeaseLost: A file is gone, because the snapshot has expired.
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        lookup = at if isinstance(at, SnapshotLookup) else reads.lookup_at(self._opened, at)
        return explain(self._opened, lookup, key)

    @property
    def inspect(self) -> Inspection:
        """Views of the table's metadata as Arrow tables: snapshots, files, buckets and so on.

        Each call reads the current state: `table.inspect.buckets()`.
        """
        store = self._opened.store
        return Inspection(
            file_io=store.file_io,
            paths=store.paths,
            schema=store.schema,
            schema_store=store.schemas,
            manifests=store.manifests,
            newest=self._opened.newest_live,
            at=partial(live_at, self._opened),
        )

    @adds_table_to_errors
    def runs_per_bucket(self) -> dict[BucketId, int]:
        """Return the number of sorted runs of each bucket in the newest snapshot.

        Each file of level 0 is a run, and so is each higher level that has files. Reads only the
        metadata that is new since the last call.

        Returns:
            By serialised partition row and bucket number; only buckets with files.
        """
        return count_runs(self._opened.newest_live()[1].entries)

    @adds_table_to_errors
    def tags(self) -> list[Tag]:
        """Return the tags by snapshot id and name.

        Raises:
            CorruptData: A tag file cannot be read.
        """
        return self._opened.store.tags.list()

    @adds_table_to_errors
    def consumers(self) -> list[ConsumerFile]:
        """Return the consumers that keep snapshots, of any engine, and the leases, by id.

        A consumer whose file cannot be read is included, with the reason as its `error`.
        """
        return self._opened.store.consumers.list()

    @adds_table_to_errors
    def branches(self) -> list[str]:
        """Return the names of the branches, without the main one."""
        return list_branches(self.file_io, self.paths)

    @adds_table_to_errors
    def branch(self, name: str) -> Self:
        """Return a branch as a read-only table.

        Raises:
            InvalidRequest: There is no such branch; the message lists the branches.
        """
        paths = branch_paths(self.file_io, self.paths, name)
        schema = SchemaStore(self.file_io, paths).latest()
        if schema is None:
            message = f"branch `{name}` of table {self.identifier} has no schema"
            raise TableNotFound(message)
        return type(self)(
            file_io=self.file_io,
            path=self.path,
            identifier=f"{self.identifier}$branch_{name}",
            schema=schema,
            clock=self._opened.store.clock,
            random=self._opened.random,
            branch=name,
            copies=self._opened.copies,
            metadata_cache=self._opened.metadata_cache,
        )
