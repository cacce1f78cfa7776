"""One table: its schema, snapshots, scans, lookups, writers and commits."""

import random as random_module
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias
from uuid import UUID, uuid4

import pyarrow as pa

from lake.commit.commit_result import CommitResult
from lake.commit.committer import TableCommitter
from lake.errors import (
    CorruptData,
    InvalidRequest,
    LakeError,
    Problem,
    TableNotFound,
    UnsupportedFeature,
    names_table,
)
from lake.files.clock import Clock, SystemClock
from lake.files.data_file_path import live_file_path, table_paths
from lake.files.file_io import FileIO
from lake.files.open import file_io_for, path_for
from lake.files.parquet import ReadCounters
from lake.files.paths import TablePaths
from lake.format.commit_message import CommitMessage
from lake.format.index_manifest import IndexManifestEntry
from lake.format.manifest import ManifestEntry
from lake.format.schema import TableSchema, check_supported
from lake.format.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from lake.format.tag import Tag
from lake.lsm.compaction_pick import PickState
from lake.lsm.run_counts import count_runs
from lake.maintenance.compactable import check_compactable
from lake.maintenance.compaction_picks import CompactionMemory, Place
from lake.maintenance.compaction_result import CompactionResult
from lake.maintenance.expiry_result import ExpiryResult
from lake.maintenance.orphan_files import DAY_MS, OrphanReport
from lake.maintenance.rescale_result import RescaleResult
from lake.maintenance.rollback import RollbackResult
from lake.maintenance.table_compaction import LiveTable
from lake.maintenance.table_expiry import snapshot_retention
from lake.maintenance.table_tags import TagDeletion
from lake.merge.fold import Machine
from lake.options import DYNAMIC_BUCKET
from lake.read.lookup.lookup_cache import LookupCache
from lake.read.predicate import Condition
from lake.read.reader import BATCH_ROWS
from lake.snapshots.consumer_store import ConsumerFile
from lake.snapshots.deletion_vectors import VectorStore, vector_entries
from lake.snapshots.lease import LEASE_MS, Lease
from lake.snapshots.live_files import LiveFiles
from lake.snapshots.manifest_store import ManifestGone, ManifestStore
from lake.snapshots.schema_store import SchemaStore
from lake.snapshots.snapshot_store import SnapshotStore
from lake.snapshots.table_identity import TableIdentity
from lake.snapshots.tag_store import TagStore, branch_paths, list_branches
from lake.table.arguments import (
    check_machine,
    check_names,
    check_rows,
    check_scan,
    check_snapshot_id,
    check_writer,
    refuse_argument,
)
from lake.table.batch_write import BatchWrite
from lake.table.changes import Changes, check_range
from lake.table.compacting import Compacting
from lake.table.inspection.inspection import Inspection
from lake.table.key_lookup import KeyLookup
from lake.table.lookups import Lookups
from lake.table.rescaling import WAIT_MS, TableRescaling, check_wait, wait_while_rescaled
from lake.table.retention import TableRetention
from lake.table.scan import Scan
from lake.table.snapshot_lookup import SnapshotLookup
from lake.table.upkeep import TableUpkeep, refuse_branch
from lake.write.dynamic_buckets import DynamicBuckets
from lake.write.table_writer import BUFFER_BYTES, TableWriter

Row: TypeAlias = dict[str, object]


class Table:
    """One table of the format, at the newest schema that it has seen.

    Can be shared between threads and sent to other processes; caches stay behind.
    """

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
    ) -> None:
        """Take over what `open` has read."""
        check_supported(schema)
        self._file_io = file_io
        self._paths = replace(table_paths(path, schema), branch=branch)
        self._identifier = identifier
        self._schema = schema
        self._clock = clock
        self._random = random

    @classmethod
    def open(
        cls,
        path: str,
        *,
        file_io: FileIO | None = None,
        clock: Clock | None = None,
        random: random_module.Random | None = None,
        identifier: str | None = None,
    ) -> "Table":
        """Open the table at a path.

        Args:
            path: Of the table's directory, or a URI when no `file_io` is given.
            file_io: Storage; chosen by the address when None.
            clock: Says what time it is; the machine's when None.
            random: Source of names and waiting times; the system's when None.
            identifier: `db.table`; taken from the path when None.

        Raises:
            TableNotFound: No table is there.
            UnsupportedFeature: The table needs what this version does not have.
        """
        if file_io is None:
            file_io, path = file_io_for(path), path_for(path)
        schema = SchemaStore(file_io, TablePaths(path)).latest()
        if schema is None:
            message = f"no table at {path}: it has no schema"
            raise TableNotFound(message)
        return cls(
            file_io=file_io,
            path=path,
            identifier=identifier or TablePaths(path).identifier,
            schema=schema,
            clock=clock or SystemClock(),
            random=random,
        )

    def __getstate__(self) -> dict[str, object]:
        """Return what another process needs; caches are made anew there."""
        cached = {
            "_identity",
            "_schemas",
            "_snapshots",
            "_manifests",
            "_live_files",
            "_vectors",
            "_lookups",
        }
        return {name: value for name, value in self.__dict__.items() if name not in cached}

    @property
    def identifier(self) -> str:
        """`db.table`."""
        return self._identifier

    @property
    def path(self) -> str:
        """The table's directory."""
        return self._paths.root

    @property
    def schema(self) -> TableSchema:
        """The newest schema that was seen."""
        return self._schema

    @property
    def paths(self) -> TablePaths:
        """Names of the table's files."""
        return self._paths

    @property
    def file_io(self) -> FileIO:
        """The storage the table lives on."""
        return self._file_io

    @names_table
    def refresh(self) -> None:
        """Look for a newer schema.

        Raises:
            TableNotFound: The table is gone, or another one is in its place.
            UnsupportedFeature: The new schema needs what this version does not have.
        """
        self._identity.confirm(None)
        schema = self._schemas.latest()
        if schema is None:
            message = f"table {self.identifier} at {self.path} is gone"
            raise TableNotFound(message)
        check_supported(schema)
        self._schema = schema

    @names_table
    def latest_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot, read from storage; None before the first commit.

        Raises:
            TableNotFound: The table is gone, or another one is in its place.
        """
        snapshot = self._snapshots.latest()
        self._identity.confirm(snapshot)
        return snapshot

    @names_table
    def snapshot(self, snapshot_id: int) -> Snapshot:
        """Return a snapshot.

        Raises:
            InvalidRequest: It was never made or has expired; the message names those kept.
            TableNotFound: The table is gone, or another one is in its place.
        """
        check_snapshot_id(snapshot_id)
        snapshot = self._snapshots.find(snapshot_id)
        self._identity.confirm(snapshot)
        return self._snapshots.get(snapshot_id) if snapshot is None else snapshot

    @names_table
    def live_files(self, snapshot: Snapshot) -> list[ManifestEntry]:
        """Return the entries of the data files that a snapshot consists of, in no order.

        Raises:
            InvalidRequest: The snapshot has expired.
            CorruptData: A manifest is damaged, or absent although the snapshot is there.
        """
        try:
            return self._live_files.entries(snapshot)
        except ManifestGone as error:
            # Expiry removes the snapshot before its manifests.
            if not self._snapshots.exists(snapshot.id):
                raise
            message = f"snapshot {snapshot.id} is there, but not all that it names: {error}"
            raise CorruptData(message) from error

    @names_table
    def scan(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: Sequence[Condition] = (),
        snapshot_id: int | None = None,
        tag: str | None = None,
        batch_rows: int = BATCH_ROWS,
        machine: Machine = Machine.COLUMN,
        counters: ReadCounters | None = None,
    ) -> Scan:
        """Return a scan of one snapshot, fixed by this call.

        Args:
            columns: Of the result, in order; None means all.
            where: A conjunction; its columns need not be among `columns`.
            snapshot_id: The snapshot to read; None means the newest now.
            tag: The tag to read instead, even where its snapshot has expired.
            batch_rows: Upper bound of the rows of a batch.
            machine: Which execution merges.
            counters: Added to while reading when given.

        Raises:
            InvalidRequest: No such column, snapshot or tag, or both of the last.
            UnsupportedFeature: Reading the snapshot right takes what this version does not have.
        """
        check_scan(where, batch_rows, machine)
        if columns is not None:
            check_names("columns", columns)
        snapshot = self._snapshot_to_read(snapshot_id, tag)
        schema = self._schema_of(snapshot, is_newest=snapshot_id is None and tag is None)
        entries = [] if snapshot is None else self.live_files(snapshot)
        indexes = () if snapshot is None else self._indexes_of(snapshot)
        self._check_readable(snapshot, schema, entries)
        return Scan(
            file_io=self._file_io,
            paths=self._paths,
            schema=schema,
            snapshot=snapshot,
            entries=entries,
            columns=_check_columns(columns, schema),
            where=tuple(where),
            batch_rows=batch_rows,
            machine=machine,
            counters=counters if counters is not None else ReadCounters(),
            indexes=indexes,
            vectors=self._vectors,
        )

    @names_table
    def changes(
        self,
        after_snapshot_id: int,
        until_snapshot_id: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
        counters: ReadCounters | None = None,
    ) -> Changes:
        """Return what the snapshots of a range changed, fixed by this call.

        What a snapshot tells depends on the table's `changelog-producer`: without one, the records
        that appends brought, as they were written; else its changelog. Overwrites are not told of.

        Args:
            after_snapshot_id: The last snapshot that is known already; 0 starts at the beginning.
            until_snapshot_id: The last one wanted; None means the newest now.
            columns: Of the result, in order, after the kinds; None means all.
            batch_rows: Upper bound of the rows of a batch.
            counters: Added to while reading when given.

        Raises:
            InvalidRequest: No such column or range, or its first changes have expired.
        """
        check_scan((), batch_rows, Machine.COLUMN)
        if columns is not None:
            check_names("columns", columns)
        newest = self.latest_snapshot()
        first, last = check_range(
            after_snapshot_id, until_snapshot_id, 0 if newest is None else newest.id
        )
        schema = self._schema_of(newest, is_newest=True)
        changes = Changes(
            file_io=self._file_io,
            paths=self._paths,
            schema=schema,
            manifests=self._manifests,
            after_snapshot_id=first,
            until_snapshot_id=last,
            columns=_check_columns(columns, schema),
            batch_rows=batch_rows,
            check=lambda entries: self._check_shapes(schema, entries),
            counters=counters if counters is not None else ReadCounters(),
        )
        if first < last:
            changes.snapshot(first + 1)
        return changes

    @names_table
    def get(
        self,
        key: Mapping[str, object],
        *,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
    ) -> Row | None:
        """Return the row of a primary key; None when there is none.

        The same merge as a scan, of the one bucket and the files whose key range holds the key.

        Args:
            key: A value for each column of the primary key; NaN is a key, -0.0 and 0.0 are two.
            columns: Of the row; None means all.
            snapshot_id: The snapshot to read; None means the newest now.

        Returns:
            Values as `pa.Array.to_pylist()` gives them, but TIMESTAMP(7..9) as whole nanoseconds
            since 1970.

        Raises:
            InvalidRequest: The key does not name exactly the primary key, or a value does not fit.
            UnsupportedFeature: Another engine made the table, with partition columns outside of the
                primary key, and the key has rows in several partitions.
        """
        if not isinstance(key, Mapping):
            refuse_argument("key", key, "a mapping of column to value")
        expected = set(self._schema.primary_keys)
        if set(key) != expected:
            problem = Problem(
                field="key",
                value=", ".join(sorted(str(name) for name in key)) or None,
                message=f"a key names exactly the columns {', '.join(self._schema.primary_keys)}",
            )
            message = f"the key does not fit table {self.identifier}"
            raise InvalidRequest(message, problems=[problem])
        return KeyLookup(self._schema, key).find(
            lambda wanted, where: self.scan(columns=wanted, where=where, snapshot_id=snapshot_id),
            columns,
        )

    @names_table
    def lookup(
        self,
        keys: pa.Table | pa.RecordBatch,
        *,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
    ) -> pa.Table:
        """Return the rows of many primary keys, in the keys' order; see `SnapshotLookup.rows`.

        Reads which snapshot is the newest each time; `lookup_at` asks once.
        """
        return self.lookup_at(snapshot_id).rows(keys, columns=columns)

    @names_table
    def lookup_at(self, snapshot_id: int | None = None) -> SnapshotLookup:
        """Return what finds rows of one snapshot by key, fixed by this call.

        Files are made ready for it when a key may be in them, once in the lifetime of this table:
        small ones in memory, others on this machine's disk, within `lookup.cache-max-memory-size`
        and `lookup.cache-max-disk-size`.

        Args:
            snapshot_id: The snapshot; None means the newest now.

        Raises:
            InvalidRequest: No such snapshot.
            UnsupportedFeature: Reading the snapshot right takes what this version does not have.
        """
        snapshot = self.latest_snapshot() if snapshot_id is None else self.snapshot(snapshot_id)
        schema = self._schema_of(snapshot, is_newest=snapshot_id is None)

        def make(cache: LookupCache) -> SnapshotLookup:
            entries = [] if snapshot is None else self.live_files(snapshot)
            indexes = () if snapshot is None else self._indexes_of(snapshot)
            self._check_readable(snapshot, schema, entries)
            return SnapshotLookup(
                file_io=self._file_io,
                paths=self._paths,
                schema=schema,
                snapshot=snapshot,
                entries=entries,
                indexes=indexes,
                vectors=self._vectors,
                cache=cache,
            )

        return self._lookups.at(snapshot, schema, make)

    @names_table
    def writer(
        self,
        *,
        first_sequence_number: int | None = None,
        buffer_bytes: int = BUFFER_BYTES,
        machine: Machine = Machine.COLUMN,
        drop_null_columns: bool = True,
    ) -> TableWriter:
        """Return a writer of this table.

        Of a table with `bucket = -1` there should be one writer at a time: what it routes is only
        right while nobody else adds keys, and the commit of whoever comes second is a
        `CommitConflict`.

        Args:
            first_sequence_number: Above every number in the table, from 0 to 2**62; None finds it
                out.
            buffer_bytes: Rows in memory before a flush, from 1.
            machine: Which execution folds.
            drop_null_columns: Leave columns without a value out of files.

        Raises:
            UnsupportedFeature: This version cannot write the table.
            CorruptData: A snapshot, manifest or index manifest cannot be read.
        """
        check_machine(machine)
        check_writer(first_sequence_number, buffer_bytes, drop_null_columns)
        # Before the sequence number: keys that come after this make the commit a conflict.
        dynamic_buckets = self._dynamic_buckets()
        if first_sequence_number is None:
            first_sequence_number = self.committer().max_sequence_number() + 1
        return TableWriter(
            self._file_io,
            self._paths,
            self._schema,
            first_sequence_number=first_sequence_number,
            clock=self._clock,
            uuid_source=self._new_uuid,
            buffer_bytes=buffer_bytes,
            machine=machine,
            drop_null_columns=drop_null_columns,
            dynamic_buckets=dynamic_buckets,
        )

    def committer(self) -> TableCommitter:
        """Return a committer of this table.

        Raises:
            UnsupportedFeature: This is a branch, which is only read.
        """
        refuse_branch(self._paths)
        return TableCommitter(
            self._file_io,
            self._paths,
            clock=self._clock,
            random=self._random or random_module.SystemRandom(),
            manifests=self._manifests,
            live=self._live_files,
            identity=self._identity,
        )

    @names_table
    def write_and_commit(
        self,
        rows: pa.Table | pa.RecordBatch,
        *,
        kinds: pa.Array | None = None,
        commit_user: str | None = None,
        machine: Machine = Machine.COLUMN,
    ) -> CommitResult:
        """Write rows and commit them as one snapshot, for batch use.

        Not repeatable: after `CommitUnknown` look whether the rows are there before trying again.
        Rows that a rescale overtakes are written again for the new buckets.

        Args:
            rows: Table columns by name; missing ones become null.
            kinds: int8 row kinds (0 +I, 1 -U, 2 +U, 3 -D), one per row; None means all +I. A table
                with `rowkind.field` takes them from that column, and none may be given.
            commit_user: Named in the snapshot; a fresh random one when None.
            machine: Which execution folds.

        Raises:
            SchemaMismatch: Rows that do not fit; nothing was written.
            CommitConflict: Nothing was committed, and no file stays behind.
            StorageUnavailable: Nothing was committed, and nothing stays behind that could be
                deleted.
            CommitUnknown: The commit may have happened.
        """
        check_rows(rows, kinds)
        user = commit_user or str(self._new_uuid())
        write = BatchWrite(
            new_writer=lambda: self.writer(machine=machine),
            commit=lambda result: self.committer().commit(
                result.messages,
                commit_user=user,
                commit_identifier=BATCH_COMMIT_IDENTIFIER,
                next_sequence_number=_next(result.max_sequence_number),
            ),
            delete=self.delete_uncommitted,
            follow_schema=self.follow_schema,
        )
        return write.run(rows, kinds)

    @names_table
    def compact(
        self,
        *,
        full: bool = True,
        buckets: Collection[Place] | None = None,
        memory: CompactionMemory | None = None,
        commit_user: str | None = None,
        machine: Machine = Machine.COLUMN,
    ) -> CompactionResult:
        """Compact every bucket: fully, or as far as the rules of universal compaction say.

        Fully means one sorted run on the highest level, without retracts.

        Scans give the same rows as before, except where the merge engine itself answers otherwise
        once retracts are gone (a row written again after its removal starts empty). Rows of
        first-row tables become visible by it. What others commit meanwhile stays as it is, and none
        of them fails because of the compaction; where another compaction was faster, the work on
        that bucket is dropped and told in the result. Works on write-only tables too.

        Memory: batches of the runs of one section, and one file of about the target size.

        Args:
            full: Compact everything; else only what is due.
            buckets: Serialised partition row and number of the buckets to look at; None for all.
            memory: Of those who compact what is due again and again; changed by this call.
            commit_user: Named in the snapshot; a fresh random one when None.
            machine: Which execution folds.

        Returns:
            What was done. When nothing was to be done no snapshot is made.

        Raises:
            UnsupportedFeature: A compaction of this version would leave the table wrong: deletion
                vectors, or a changelog that the compaction owes.
            SchemaMismatch: Records that the table's merge refuses; nothing was committed.
            CommitUnknown: The commit may have happened; compacting again is safe either way.
            StorageUnavailable: Nothing was committed, and nothing stays behind that could be
                deleted.

        Source:
            merge-semantics 7.4.
        """
        check_machine(machine)
        if commit_user is not None and not isinstance(commit_user, str):
            refuse_argument("commit_user", commit_user, "text")
        compacting, live = self._compacting(machine)
        return compacting.run(
            live, full=full, buckets=buckets, memory=memory, commit_user=commit_user
        )

    @names_table
    def compaction_places(
        self, *, full: bool = False, memory: CompactionMemory | None = None
    ) -> dict[Place, PickState | None]:
        """Return the buckets that `compact` would find something to do in; for who distributes them.

        Args:
            full: Look for all that a full compaction would change; else for what is due.
            memory: Of those who ask again and again; it goes on for the buckets that are not
                returned, and forgets those that are gone.

        Returns:
            By serialised partition row and bucket number, what `memory` knows of it: give it to
            who compacts the bucket, as `CompactionMemory(states={place: state})`.

        Raises:
            UnsupportedFeature: As `compact`.
        """
        compacting, live = self._compacting(Machine.COLUMN)
        return compacting.places(live, full=full, memory=memory or CompactionMemory())

    @names_table
    def runs_per_bucket(self) -> dict[Place, int]:
        """Return the number of sorted runs of each bucket in the newest snapshot.

        Each file of level 0 is a run, and so is each higher level that has files. Costs what is new
        in the metadata since the last call.

        Returns:
            By serialised partition row and bucket number; only buckets with files.
        """
        return count_runs(self._newest_live()[1].entries)

    def _compacting(self, machine: Machine) -> tuple[Compacting, LiveTable]:
        """Return what compacts the table, and what is live now."""
        snapshot, live = self._newest_live()
        schema = self._schema_of(snapshot, is_newest=True)
        check_compactable(schema)
        self._check_readable(snapshot, schema, live.entries)
        compacting = Compacting(
            file_io=self._file_io,
            paths=self._paths,
            schema=schema,
            clock=self._clock,
            new_uuid=self._new_uuid,
            vectors=self._vectors,
            lookups=self._lookups.cache,
            committer=self.committer(),
            newest=lambda: self._newest_live()[1],
            machine=machine,
        )
        return compacting, live

    @names_table
    def rescale(self, buckets: int, *, commit_user: str | None = None) -> RescaleResult:
        """Give the table another number of buckets, beside readers and writers.

        Every record keeps its level, sequence number and kind, so scans, lookups, changelogs and
        later compactions find what they would have found. Commits of rows that were routed for the
        old count are `CommitConflict` from one moment on; streams and `write_and_commit` wait for
        the end, which is close then, and write them again. Other writers: see `follow_schema`.

        Run again what broke off: it goes on where it stopped, or back with the old count. A table
        that was rolled back behind a rescale is rescaled anew.

        Args:
            buckets: From 1.
            commit_user: Named in the snapshots; a fresh random one when None.

        Returns:
            What was done. When nothing was to be done no snapshot is made.

        Raises:
            UnsupportedFeature: This is a branch, or a table without a fixed bucket count.
            CommitConflict: Somebody else has changed the schema, or goes on compacting.
            CommitUnknown: The last commit may have happened; rescale again.
            StorageUnavailable: Readers see the table as before; rescale again.

        Source:
            table-format 18.3; design 7.
        """
        self.refresh()
        user = commit_user or str(self._new_uuid())
        try:
            return self._rescaling.rescale(self.committer(), buckets, user=user)
        finally:
            with suppress(LakeError):
                self.refresh()

    @names_table
    def follow_schema(self, *, wait_ms: int = WAIT_MS) -> bool:
        """Look for a newer schema, and wait for the end of a rescale that is under way.

        For whoever writes, after a `CommitConflict`: rows that were routed for another bucket count
        are to be written again, if this returns True.

        Args:
            wait_ms: How long at most, milliseconds; the table's writers are turned back meanwhile.

        Returns:
            Whether there was either.

        Raises:
            CommitConflict: The rescale takes longer, or broke off.
            TableNotFound: The table is gone, or another one is in its place.
        """
        check_wait(wait_ms)
        known = self._schema.id
        self.refresh()
        has_waited = wait_while_rescaled(self._is_rescaled, wait_ms=wait_ms)
        return has_waited or self._schema.id > known

    @names_table
    def delete_uncommitted(self, messages: Iterable[CommitMessage]) -> None:
        """Delete the new files of messages that will never be committed.

        For batches that turned out to be replays or fenced, and for conflicts; never after
        `CommitUnknown`.

        Args:
            messages: From writers of this table, none of them in any snapshot.
        """
        for message in messages:
            for file in (*message.new_files, *message.changelog_files):
                path = live_file_path(
                    self._paths, self._schema, message.partition, message.bucket, file
                )
                self._file_io.delete(path)
            for index in message.new_index_files:
                self._file_io.delete(self._paths.index(index.file_name))

    @names_table
    def expire(
        self,
        *,
        retain_min: int | None = None,
        retain_max: int | None = None,
        older_than_ms: int | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> ExpiryResult:
        """Remove the oldest snapshots that nobody needs, and the files that only they need.

        Never in passing: no commit waits for it. Beside any readers, writers, compactions and other
        expiries, of this engine or another. A snapshot that is there can be read whole at every
        moment; a process that dies leaves at most files that nothing names.

        What stays: the newest snapshot; `retain_min` of the newest; what a consumer or lease needs
        and all that is newer; what was the newest until `older_than_ms` or later, as long as there
        are no more than `retain_max`; and the newest snapshot that knows the positions of streams.
        Files of tags and branches stay. Where changelogs are to outlive snapshots, these go on as
        changelogs and expire by the `changelog.*` options.

        Args:
            retain_min: Default `snapshot.num-retained.min`, and no more than `retain_max`.
            retain_max: Default `snapshot.num-retained.max`.
            older_than_ms: Milliseconds since 1970 UTC; default now less `snapshot.time-retained`.
            max_deletes: How many at most; default `snapshot.expire.limit`.
            dry_run: Only say which snapshots would go.

        Raises:
            InvalidRequest: The numbers contradict each other.
            UnsupportedFeature: This is a branch.
            CorruptData: A snapshot that stays, a tag or a consumer cannot be read, so that nobody can
                say what may be deleted.
            StorageUnavailable: What was done is whole, but for files that nothing names: orphan
                cleaning finds them.

        Source:
            table-format 19.
        """
        return self._retention.expire(
            snapshot_retention(
                self.schema.table_options,
                now_ms=self._clock.now_ms(),
                retain_min=retain_min,
                retain_max=retain_max,
                older_than_ms=older_than_ms,
                max_deletes=max_deletes,
            ),
            is_dry_run=dry_run,
        )

    @names_table
    def lease(
        self,
        snapshot_id: int | None = None,
        *,
        holder: str | None = None,
        lease_ms: int = LEASE_MS,
    ) -> Lease:
        """Keep a snapshot, and all newer ones, from expiring while it is read.

        In a `with` statement the lease refreshes itself and is released at the end. Other engines
        respect it too: it is a consumer file, and one with a deadline.

        Args:
            snapshot_id: None for the newest now.
            holder: Who takes it, for people.
            lease_ms: How long it holds without a refresh, milliseconds; at most
                `consumer.expiration-time`, after which other engines forget it.

        Raises:
            InvalidRequest: There is no such snapshot.
            LeaseLost: It expired in this moment.
        """
        return self._retention.lease(snapshot_id, holder=holder, lease_ms=lease_ms)

    @names_table
    def consumers(self) -> list[ConsumerFile]:
        """Return who still needs snapshots: consumers of any engine, and leases, by id.

        Raises:
            CorruptData: A consumer's file cannot be read.
        """
        return self._retention.consumers()

    @names_table
    def reset_consumer(self, consumer_id: str, next_snapshot_id: int) -> None:
        """Set from which snapshot on a consumer needs the table, whether it was there or not.

        Raises:
            InvalidRequest: No consumer can have the id, or no snapshot the number.
        """
        self._retention.reset_consumer(consumer_id, next_snapshot_id)

    @names_table
    def delete_consumer(self, consumer_id: str) -> bool:
        """Forget a consumer; return whether it was there.

        Raises:
            InvalidRequest: No consumer can have the id.
        """
        return self._retention.delete_consumer(consumer_id)

    @names_table
    def tags(self) -> list[Tag]:
        """Return the tags by snapshot id and name.

        Raises:
            CorruptData: A tag file cannot be read.
        """
        return TagStore(self._file_io, self._paths).list()

    @names_table
    def create_tag(
        self, name: str, *, snapshot_id: int | None = None, retained_ms: int | None = None
    ) -> Tag:
        """Give a snapshot a name, under which it stays readable when it has expired itself.

        Args:
            name: Not taken yet.
            snapshot_id: The snapshot to tag; None means the newest now.
            retained_ms: Time to live, milliseconds; None takes `tag.default-time-retained`, without
                which a tag lives for ever.

        Raises:
            InvalidRequest: The name is taken or none at all, or there is no such snapshot.
            StorageUnavailable: Nobody knows whether the tag was made; look for it.
        """
        return self._upkeep.create_tag(name, snapshot_id=snapshot_id, retained_ms=retained_ms)

    @names_table
    def delete_tag(self, name: str) -> TagDeletion:
        """Delete a tag, and the files that nothing else in the table needs.

        Raises:
            InvalidRequest: There is no such tag; the message names those there are.
            StorageUnavailable: The tag may be deleted; files that are left are found by
                `clean_orphans`.
        """
        return self._upkeep.tags.delete(name)

    @names_table
    def expire_tags(self) -> list[TagDeletion]:
        """Delete the tags whose time to live is over, as `delete_tag` does.

        Raises:
            CorruptData: A tag file cannot be read.
            StorageUnavailable: Expire again.
        """
        return self._upkeep.tags.expire()

    @names_table
    def branches(self) -> list[str]:
        """Return the names of the branches, without the main one."""
        return list_branches(self._file_io, self._paths)

    @names_table
    def branch(self, name: str) -> "Table":
        """Return a branch as a table of its own, to be read only.

        Raises:
            InvalidRequest: There is no such branch; the message names those there are.
        """
        paths = branch_paths(self._file_io, self._paths, name)
        schema = SchemaStore(self._file_io, paths).latest()
        if schema is None:
            message = f"branch `{name}` of table {self.identifier} has no schema"
            raise TableNotFound(message)
        return Table(
            file_io=self._file_io,
            path=self.path,
            identifier=f"{self.identifier}$branch_{name}",
            schema=schema,
            clock=self._clock,
            random=self._random,
            branch=name,
        )

    @names_table
    def rollback(
        self,
        *,
        snapshot_id: int | None = None,
        tag: str | None = None,
        commit_user: str | None = None,
    ) -> RollbackResult:
        """Take the table back to a snapshot or a tag; what came after it is gone for good.

        Stop the table's streams first. One that runs all the same is fenced: its commits fail with
        `StreamFenced`. When it is started again it continues at the offsets of the target. Readers
        see the newest rows until one moment, and those of the target from then on.

        Files of what was removed stay until `clean_orphans`, as somebody may be reading them.

        Args:
            snapshot_id: The snapshot to go back to.
            tag: Or the tag, even where its snapshot has expired.
            commit_user: Named in the snapshot that fences the streams; a fresh random one when None.

        Raises:
            InvalidRequest: Not one of the two is given, it is not there, or it does not say where
                the streams were.
            CommitConflict: Somebody goes on committing.
            CommitUnknown, StorageUnavailable: The table is as before or as at the target; roll back
                again.
        """
        user = commit_user or str(self._new_uuid())
        return self._upkeep.rollback(self.committer(), snapshot_id=snapshot_id, tag=tag, user=user)

    @names_table
    def clean_orphans(self, *, min_age_ms: int = DAY_MS, delete: bool = False) -> OrphanReport:
        """Find the files that nothing in the table names, and delete them if told to.

        Safe beside commits, expiry and everything else, as long as no writer takes longer than the
        minimum age from its first file to its commit.

        Args:
            min_age_ms: Younger files are left alone, milliseconds by storage's clock.
            delete: Delete what was found; otherwise nothing is changed.

        Returns:
            The files, with why each is an orphan.

        Raises:
            InvalidRequest: A negative age.
            CorruptData: Something that is in use cannot be read, so nobody can say what it needs;
                nothing was deleted.
            StorageUnavailable: What was deleted is gone; clean again.
        """
        return self._upkeep.clean_orphans(min_age_ms=min_age_ms, delete=delete)

    @property
    def inspect(self) -> Inspection:
        """What the table consists of, as Arrow tables: snapshots, files, buckets and so on.

        Each look reads anew: `table.inspect.buckets()`.
        """
        return Inspection(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            schema_store=self._schemas,
            manifests=self._manifests,
            newest=self._newest_live,
            at=self._live_at,
        )

    @property
    def _rescaling(self) -> TableRescaling:
        return TableRescaling(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            schemas=self._schemas,
            newest=self._newest_live,
            vectors=self._vectors,
            clock=self._clock,
            new_uuid=self._new_uuid,
        )

    def _is_rescaled(self) -> bool:
        """Return whether a rescale is between its schema and its last commit."""
        self.refresh()
        buckets = self._schema.table_options.bucket
        entries = self._newest_live()[1].entries
        return buckets > 0 and any(entry.total_buckets != buckets for entry in entries)

    @property
    def _retention(self) -> TableRetention:
        return TableRetention(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            manifests=self._manifests,
            live=self._live_files,
            clock=self._clock,
            new_uuid=self._new_uuid,
        )

    @property
    def _upkeep(self) -> TableUpkeep:
        return TableUpkeep(
            file_io=self._file_io,
            paths=self._paths,
            schema=self._schema,
            manifests=self._manifests,
            live=self._live_files,
            clock=self._clock,
            new_uuid=self._new_uuid,
        )

    def _snapshot_to_read(self, snapshot_id: int | None, tag: str | None) -> Snapshot | None:
        if tag is None:
            return self.latest_snapshot() if snapshot_id is None else self.snapshot(snapshot_id)
        if snapshot_id is not None:
            refuse_argument("tag", tag, "no tag, as a snapshot is given")
        return TagStore(self._file_io, self._paths).get(tag).snapshot

    @cached_property
    def _identity(self) -> TableIdentity:
        return TableIdentity(self._file_io, self._paths, self._schema)

    @cached_property
    def _schemas(self) -> SchemaStore:
        return SchemaStore(self._file_io, self._paths)

    @cached_property
    def _snapshots(self) -> SnapshotStore:
        return SnapshotStore(self._file_io, self._paths)

    @cached_property
    def _manifests(self) -> ManifestStore:
        return ManifestStore(self._file_io, self._paths)

    @cached_property
    def _vectors(self) -> VectorStore:
        return VectorStore(self._file_io, self._paths)

    @cached_property
    def _live_files(self) -> LiveFiles:
        return LiveFiles(self._manifests)

    @cached_property
    def _lookups(self) -> Lookups:
        return Lookups(self._schema.table_options)

    def _live_at(self, snapshot_id: int) -> LiveTable:
        """Return what is live in a snapshot."""
        snapshot = self.snapshot(snapshot_id)
        return LiveTable(
            entries=self.live_files(snapshot), vectors=vector_entries(self._indexes_of(snapshot))
        )

    def _newest_live(self) -> tuple[Snapshot | None, LiveTable]:
        """Return the newest snapshot and what is live in it, whatever expires meanwhile."""
        while True:
            snapshot = self.latest_snapshot()
            if snapshot is None:
                return None, LiveTable(entries=(), vectors={})
            try:
                entries = self.live_files(snapshot)
                vectors = vector_entries(self._indexes_of(snapshot))
                return snapshot, LiveTable(entries=entries, vectors=vectors)
            except ManifestGone:
                # Only a snapshot with a successor expires, so there is a newer one.
                continue

    def _schema_of(self, snapshot: Snapshot | None, *, is_newest: bool) -> TableSchema:
        """Return the schema to read a snapshot with: the newest, or for time travel its own."""
        if snapshot is None:
            return self._schema
        if is_newest:
            if snapshot.schema_id > self._schema.id:
                self.refresh()
            return self._schema
        schema = self._schemas.get(snapshot.schema_id)
        check_supported(schema)
        return schema

    def _check_readable(
        self, snapshot: Snapshot | None, schema: TableSchema, entries: Iterable[ManifestEntry]
    ) -> None:
        """Refuse what a reader of this version would silently get wrong."""
        if snapshot is None:
            return
        self._check_shapes(schema, entries)

    def _check_shapes(self, schema: TableSchema, entries: Iterable[ManifestEntry]) -> None:
        """Refuse files whose columns are not those of the schema."""
        for schema_id in {entry.file.schema_id for entry in entries} - {schema.id}:
            if not _is_same_shape(self._schemas.get(schema_id), schema):
                message = (
                    f"table {self.identifier} has files of schema {schema_id}, whose columns are "
                    f"not those of schema {schema.id}; reading across schema changes is not in "
                    "this version"
                )
                raise UnsupportedFeature(message)

    def _dynamic_buckets(self) -> DynamicBuckets | None:
        """Return the newest snapshot's buckets; None for a table with a fixed number of them."""
        if self._schema.table_options.bucket != DYNAMIC_BUCKET:
            return None
        while True:
            snapshot = self.latest_snapshot()
            try:
                indexes = () if snapshot is None else self._indexes_of(snapshot)
            except ManifestGone:
                # Only a snapshot with a successor expires, so there is a newer one.
                continue
            return DynamicBuckets(self._file_io, self._paths, self._schema, indexes)

    def _indexes_of(self, snapshot: Snapshot) -> tuple[IndexManifestEntry, ...]:
        """Return all index files of a snapshot.

        Raises:
            ManifestGone: The snapshot has expired.
            CorruptData: The index manifest is damaged, or absent although the snapshot is there.
        """
        if snapshot.index_manifest is None:
            return ()
        try:
            return self._manifests.read_index_manifest(snapshot.index_manifest)
        except ManifestGone as error:
            if not self._snapshots.exists(snapshot.id):
                raise
            path = self._paths.manifest(snapshot.index_manifest)
            message = f"index manifest {path} of snapshot {snapshot.id} is absent"
            raise CorruptData(message) from error

    def _new_uuid(self) -> UUID:
        if self._random is None:
            return uuid4()
        return UUID(int=self._random.getrandbits(128), version=4)


def _check_columns(columns: Sequence[str] | None, schema: TableSchema) -> tuple[str, ...]:
    if columns is None:
        return schema.field_names
    for name in columns:
        schema.field(name)
    if not columns or len(set(columns)) < len(columns):
        problem = Problem(
            field="columns",
            value=", ".join(columns) or None,
            message="expected at least one column, each once",
        )
        message = "a scan needs columns"
        raise InvalidRequest(message, problems=[problem])
    return tuple(columns)


def _is_same_shape(one: TableSchema, other: TableSchema) -> bool:
    """Return whether files of one schema can be read under the other without any mapping."""
    shapes = [
        (
            [(field.id, field.name, field.type) for field in schema.fields],
            schema.primary_keys,
            schema.partition_keys,
        )
        for schema in (one, other)
    ]
    return shapes[0] == shapes[1]


def _next(max_sequence_number: int | None) -> int | None:
    return None if max_sequence_number is None else max_sequence_number + 1
