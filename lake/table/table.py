"""A table: the methods that change it, plan changes, test rows and list schemas; `ReadableTable` has all others.

This file and `braid.lake.table.readable_table` are long because they have the contract of each method. The work is
done by functions over the opened table, one module for each subject (`braid.lake.table.operations`).
"""

from collections.abc import Callable, Collection, Iterable

import pyarrow as pa

from braid.lake.commit.commit_result import CommitResult
from braid.lake.commit.committer import TableCommitter
from braid.lake.errors import adds_table_to_errors
from braid.lake.evolution.schema_changes import SchemaChange
from braid.lake.format.bucket import BucketId
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.schema import TableSchema
from braid.lake.format.tag import Tag
from braid.lake.lsm.compaction_pick import PickState
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from braid.lake.maintenance.compaction.compaction_result import CompactionResult
from braid.lake.maintenance.expiry.expiry_result import ExpiryResult
from braid.lake.maintenance.orphan_files import DAY_MS, OrphanCleaner, OrphanReport
from braid.lake.maintenance.rescale.rescale_result import RescaleResult
from braid.lake.maintenance.rollback import RollbackResult
from braid.lake.maintenance.spread_work import Spread, here
from braid.lake.maintenance.table_tags import TagDeletion
from braid.lake.merge.fold import Machine
from braid.lake.snapshots.lease import LEASE_MS, Lease
from braid.lake.table.arguments import (
    check_buckets,
    check_flags,
    check_machine,
    check_number,
    check_text,
)
from braid.lake.table.operations import (
    compaction,
    consumers,
    expiry,
    reads,
    rescale,
    rollback,
    schema_alteration,
    tags,
    writes,
)
from braid.lake.table.operations.rescale import WAIT_MS
from braid.lake.table.readable_table import ReadableTable
from braid.lake.write.bulk_writer import BulkWriter
from braid.lake.write.table_writer import BUFFER_BYTES, TableWriter


class Table(ReadableTable):
    """A table of the format, at the newest schema that this handle has seen.

    Can be shared between threads, and pickled to other processes without its caches.
    """

    @adds_table_to_errors
    def writer(
        self,
        *,
        first_sequence_number: int | None = None,
        buffer_bytes: int = BUFFER_BYTES,
        machine: Machine = Machine.COLUMN,
        drop_null_columns: bool = True,
    ) -> TableWriter:
        """Return a writer of this table.

        A table with `bucket = -1` should have one writer at a time: its routing is right only while
        no other process adds keys, and of two writers the one that commits second gets a
        `CommitConflict`.

        Args:
            first_sequence_number: Greater than all sequence numbers in the table, from 0 to 2**62;
                None: it is read from the table.
            buffer_bytes: Bytes of rows in memory before a flush, from 1.
            machine: Which execution folds.
            drop_null_columns: Leave columns without a value out of files.

        Raises:
            UnsupportedFeature: This version cannot write the table.
            CorruptData: A snapshot, manifest or index manifest cannot be read.
        """
        return writes.new_writer(
            self._opened,
            first_sequence_number=first_sequence_number,
            buffer_bytes=buffer_bytes,
            machine=machine,
            drop_null_columns=drop_null_columns,
        )

    @adds_table_to_errors
    def bulk_writer(
        self, *, buffer_bytes: int = BUFFER_BYTES, machine: Machine = Machine.COLUMN
    ) -> BulkWriter:
        """Return a writer that fills an empty table with one sorted run per bucket, on the highest level.

        The rows need no compaction after it. All of them are committed at once; until then they are on the local
        disk (`TMPDIR`). The commit is a `CommitConflict` if a compaction has filled the level meanwhile.

        Args:
            buffer_bytes: Bytes of rows in memory before they are sorted and put on the disk, from 1.
            machine: Which execution folds.

        Raises:
            UnsupportedFeature: The table has a changelog, buckets that are made as needed, or row kinds in a
                column; or this version cannot write it.
            StorageUnavailable: The local disk has no room.
        """
        return writes.new_bulk_writer(self._opened, buffer_bytes=buffer_bytes, machine=machine)

    @adds_table_to_errors
    def try_rows(self, rows: pa.Table | pa.RecordBatch, *, kinds: pa.Array | None = None) -> None:
        """Write rows to memory and discard them, to find out whether the table accepts them.

        Steps after the checks of `TableWriter.write` can refuse rows, too. So the rows are also
        routed, folded, encoded and described by statistics.

        Args:
            rows: As for `TableWriter.write`.
            kinds: Likewise.

        Raises:
            SchemaMismatch: As `TableWriter.write` and `TableWriter.flush`.
        """
        writes.try_rows(self._opened, rows, kinds=kinds)

    def committer(self) -> TableCommitter:
        """Return a committer of this table.

        Raises:
            UnsupportedFeature: This is a branch, which is read-only.
        """
        return self._opened.committer()

    @adds_table_to_errors
    def write_and_commit(
        self,
        rows: pa.Table | pa.RecordBatch,
        *,
        kinds: pa.Array | None = None,
        commit_user: str | None = None,
        machine: Machine = Machine.COLUMN,
    ) -> CommitResult:
        """Write rows and commit them as one snapshot, for batch use.

        Not idempotent: after `CommitUnknown` check whether the rows are there before trying again.
        When a rescale or a schema change is committed first, the rows are written again for the new
        buckets or schema; rows that do not fit the schema seen are written again if storage has a
        newer schema. There are up to 100 attempts; an attempt that follows a schema change begins
        at once.

        Args:
            rows: Table columns by name; missing ones become null.
            kinds: int8 row kinds (0 +I, 1 -U, 2 +U, 3 -D), one per row; None means all +I. Must be
                None in a table with `rowkind.field`, whose column has them.
            commit_user: Named in the snapshot; a fresh random one when None.
            machine: Which execution folds.

        Raises:
            SchemaMismatch: Rows that do not fit the newest schema; nothing was written.
            CommitConflict: Nothing was committed, and no file stays behind: the table was altered
                during each attempt, a rescale does not end, other writers published first each time
                (`RetryPolicy`), or another commit assigned keys to dynamic buckets meanwhile.
            StorageUnavailable: Nothing was committed, and nothing stays behind that could be
                deleted.
            CommitUnknown: The commit may have happened.
        """
        return writes.write_and_commit(
            self._opened, rows, kinds=kinds, commit_user=commit_user, machine=machine
        )

    @adds_table_to_errors
    def delete_uncommitted(self, messages: Iterable[CommitMessage]) -> None:
        """Delete the new files of messages that will never be committed.

        For messages that were never given to a committer, and after a commit that committed
        nothing: an error with `committed_nothing`, or a replay with `are_files_unused`. After any
        other outcome the files may be live; `commit_or_discard` makes the distinction. Files that
        cannot be deleted are left to `clean_orphans`.

        Args:
            messages: From writers of this table, none of them in any snapshot.
        """
        writes.delete_uncommitted(self._opened, messages)

    @adds_table_to_errors
    def follow_schema(self, *, wait_ms: int = WAIT_MS) -> bool:
        """Read the newest schema, and wait for the end of a rescale that is under way.

        For writers, after a `CommitConflict`: if this returns True, rows that were routed for the
        old bucket count, or written under the old schema, have to be written again.

        Args:
            wait_ms: Longest wait, milliseconds; commits of writers are refused meanwhile.

        Returns:
            Whether there was a newer schema or a rescale.

        Raises:
            CommitConflict: The rescale takes longer, or broke off.
            TableNotFound: The table was dropped, or created anew.
        """
        return rescale.follow_schema(self._opened, wait_ms=wait_ms)

    @adds_table_to_errors
    def compact(
        self,
        *,
        full: bool = True,
        buckets: Collection[BucketId] | None = None,
        memory: CompactionMemory | None = None,
        commit_user: str | None = None,
        machine: Machine = Machine.COLUMN,
    ) -> CompactionResult:
        """Compact every bucket: fully, or as far as the rules of universal compaction require.

        Fully means one sorted run on the highest level, without retracts except those that
        `braid.delete-retention` keeps.

        Scans give the same rows as before, except where the merge engine itself gives another
        result once retracts are gone (a row written again after its removal starts empty). The
        compaction makes new rows of first-row tables visible. Commits of other processes are kept,
        and appends to level 0 do not fail because of the compaction; where another compaction was faster, the
        work on that bucket is dropped, as the result shows. Works on write-only tables too.

        Each bucket is replaced as a whole. Small buckets share a snapshot: up to 100 of them, as
        long as no more than `target-file-size` was rewritten for them. Buckets that were committed
        before an error, or before the process was killed, stay compacted; the next call does the
        others.

        Memory: batches of the runs of one section, and one row group of each file that is being written.

        Args:
            full: Compact everything; else only what is due.
            buckets: Serialised partition row and number of the buckets to compact; None for all.
            memory: State that a caller keeps to compact due buckets repeatedly; changed by this
                call.
            commit_user: Named in the snapshots; a fresh random one when None.
            machine: Which execution folds.

        Returns:
            What was done. No snapshot is made when nothing is due.

        Raises:
            UnsupportedFeature: This is a branch; or options of the table, which `problems` names,
                require a compaction that this version does not support; or the table has an
                aggregate function that is not installed here.
            SchemaMismatch: Records that the table's merge refuses; nothing of their bucket was
                committed.
            CommitUnknown: The last commit may have happened; compacting again is safe either way.
            StorageUnavailable: Files of buckets that were not committed are deleted, if possible.

        Source:
            merge-semantics 7.4.
        """
        check_machine(machine)
        check_text(commit_user=commit_user)
        check_flags(full=full)
        if buckets is not None:
            check_buckets(buckets)
        return compaction.compact(
            self._opened,
            full=full,
            buckets=buckets,
            memory=memory or CompactionMemory(),
            commit_user=commit_user,
            machine=machine,
        )

    @adds_table_to_errors
    def buckets_to_compact(
        self, *, full: bool = False, memory: CompactionMemory | None = None
    ) -> dict[BucketId, PickState | None]:
        """Return the buckets that `compact` would change, to distribute them over processes.

        Args:
            full: Return all buckets that a full compaction would change; else the buckets that are
                due.
            memory: State that a caller keeps to repeat this call; updated for the buckets that are
                not returned, and cleared of buckets that are gone.

        Returns:
            By serialised partition row and bucket number, the state of the bucket in `memory`: the
            process that compacts the bucket needs its state, as
            `CompactionMemory(states={bucket_id: state})`.

        Raises:
            UnsupportedFeature: As `compact`.
        """
        return compaction.buckets_to_compact(
            self._opened, full=full, memory=memory or CompactionMemory()
        )

    @adds_table_to_errors
    def alter(self, *changes: SchemaChange) -> TableSchema:
        """Change the schema, all of the changes or none; no file is rewritten.

        Existing rows are read under the new schema from then on: columns are matched by their ids,
        missing ones are null, and values of another type are cast. Rows that a writer prepared under
        the old schema are refused at their commit; `write_and_commit` writes them again under the new
        one.

        Args:
            changes: The changes in order; each is applied to the result of the changes before.

        Returns:
            The newest schema; the same as before when nothing changes.

        Raises:
            InvalidRequest: `problems` names each change that cannot be made (`changes[1].name`), or
                whose result is no valid table (`changes[1].write-only`), and why.
            UnsupportedFeature: This is a branch, or the result needs what this version does not have.
            CommitConflict: Other processes keep changing the schema; try again.
            StorageUnavailable: The change was made or not; read the schema, and alter again.

        Source:
            merge-semantics 8.3.
        """
        return schema_alteration.alter(self._opened, changes)

    @adds_table_to_errors
    def plan_alter(self, *changes: SchemaChange) -> TableSchema:
        """Return the schema that `alter` would make of the newest one now; changes nothing.

        For callers that have to record the schema before it takes effect; `publish_schema` then makes
        it the table's.

        Args:
            changes: As for `alter`.

        Returns:
            The schema with the next id; `self.schema`, the newest one, when nothing would change.

        Raises:
            InvalidRequest: As `alter`, but problems of the result name the column or option, not
                the change.
            UnsupportedFeature: Likewise.
        """
        return schema_alteration.plan_alter(self._opened, changes)

    @adds_table_to_errors
    def publish_schema(self, schema: TableSchema) -> bool:
        """Make a schema of `plan_alter` the newest one, unless another schema has its id.

        Idempotent: any process that has the same schema may repeat it.

        Args:
            schema: The schema as planned, its time included.

        Returns:
            Whether the table has exactly this schema under its id, by this call or an earlier one;
            if not, another change was faster, so plan again.

        Raises:
            UnsupportedFeature: This is a branch, which is read-only.
            StorageUnavailable: The schema was created or not; repeat the call.
        """
        return schema_alteration.publish_schema(self._opened, schema)

    @adds_table_to_errors
    def find_schema(self, schema_id: int) -> TableSchema | None:
        """Return the schema of an id; None when the id is above that of the newest schema.

        Raises:
            CorruptData: Its file cannot be read.
        """
        return reads.find_schema(self._opened, schema_id)

    @adds_table_to_errors
    def schemas(self) -> list[TableSchema]:
        """Return all schemas of the table, oldest first; costs one listing, and a read of each.

        Raises:
            CorruptData: A file cannot be read.
        """
        return reads.all_schemas(self._opened)

    @adds_table_to_errors
    def rescale(self, buckets: int, *, commit_user: str | None = None) -> RescaleResult:
        """Change the number of buckets, while readers and writers continue.

        Every record keeps its level, sequence number and kind, so scans, lookups, changelogs and
        later compactions find what they would have found. Near the end, commits of rows that were
        routed for the old count fail with `CommitConflict`; streams and `write_and_commit` wait for
        the end and write such rows again. Other writers: see `follow_schema`.

        A rescale that was interrupted is run again, which rewrites all files of the old count, or is
        undone by a rescale to the old count. A table that was rolled back to a snapshot before a rescale is rescaled anew.

        Args:
            buckets: From 1.
            commit_user: Named in the snapshots; a fresh random one when None.

        Returns:
            What was done. No snapshot is made when the table has that number already.

        Raises:
            UnsupportedFeature: This is a branch, or a table without a fixed bucket count.
            CommitConflict: Another process has changed the schema, or keeps compacting.
            CommitUnknown: The last commit may have happened; rescale again.
            StorageUnavailable: Readers see the table as before; rescale again.

        Source:
            table-format 18.3; decision 0013.
        """
        check_text(commit_user=commit_user)
        return rescale.rescale(self._opened, buckets, commit_user=commit_user)

    @adds_table_to_errors
    def expire(
        self,
        *,
        retain_min: int | None = None,
        retain_max: int | None = None,
        older_than_ms: int | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> ExpiryResult:
        """Remove the oldest snapshots that are not retained, and the files that only they need.

        Commits never expire snapshots themselves, and never wait for it. Safe beside readers,
        writers, compactions and other expiries, of this engine or another: every snapshot that is
        listed can be read whole at any time, and a killed process leaves at most unreferenced files.

        Retained are: the newest snapshot; the `retain_min` newest snapshots; the snapshot that a
        consumer or lease needs, and all newer ones; those that were the newest at `older_than_ms`
        or later, as long as there are no more than `retain_max`; and the newest snapshot that has
        the positions of streams. Where that is not the newest snapshot of all, because another
        engine has committed, an empty commit carries the positions forward first. Files of tags and
        branches are kept. Where changelogs outlive snapshots, the expired snapshots are kept as
        changelogs, which expire by the `changelog.*` options.

        Args:
            retain_min: Smallest number of snapshots to keep, at most `retain_max`; default
                `snapshot.num-retained.min`.
            retain_max: Largest number of snapshots to keep for their age; default
                `snapshot.num-retained.max`.
            older_than_ms: Time from which snapshots are kept for their age, milliseconds since 1970
                UTC; default now less `snapshot.time-retained`.
            max_deletes: Largest number of snapshots to remove; default `snapshot.expire.limit`.
            dry_run: Return which snapshots would be removed, and change nothing.

        Raises:
            InvalidRequest: The numbers contradict each other.
            UnsupportedFeature: This is a branch.
            CorruptData: A retained snapshot or a tag cannot be read, so that it is unknown what may be
                deleted. A consumer that cannot be read keeps all snapshots.
            StorageUnavailable: Each snapshot is removed completely or not at all; unreferenced
                files may be left, which orphan cleaning finds.

        Source:
            table-format 19.
        """
        return expiry.expire(
            self._opened,
            retain_min=retain_min,
            retain_max=retain_max,
            older_than_ms=older_than_ms,
            max_deletes=max_deletes,
            dry_run=dry_run,
        )

    @adds_table_to_errors
    def lease(
        self,
        snapshot_id: int | None = None,
        *,
        holder: str | None = None,
        lease_ms: int = LEASE_MS,
    ) -> Lease:
        """Keep a snapshot, and all newer ones, from expiring while it is read.

        In a `with` statement the lease is refreshed in the background and released at the end. Other
        engines respect it too: it is a consumer file, with a deadline.

        Args:
            snapshot_id: None for the newest now.
            holder: Name of the holder, shown by `inspect.consumers`.
            lease_ms: How long the lease lasts without a refresh, milliseconds; at most a day, and
                at most `consumer.expiration-time`, after which other engines ignore it.

        Raises:
            InvalidRequest: There is no such snapshot.
            LeaseLost: The snapshot expired before the lease was written.
        """
        store = self._opened.confirmed_store()
        return consumers.take_lease(store, snapshot_id, holder=holder, lease_ms=lease_ms)

    @adds_table_to_errors
    def reset_consumer(self, consumer_id: str, next_snapshot_id: int) -> None:
        """Create or move a consumer, which then needs the snapshots from an id on.

        Raises:
            InvalidRequest: The consumer's id or the snapshot's is invalid.
        """
        consumers.reset_consumer(self._opened.confirmed_store(), consumer_id, next_snapshot_id)

    @adds_table_to_errors
    def delete_consumer(self, consumer_id: str) -> bool:
        """Delete a consumer; return whether it existed.

        Raises:
            InvalidRequest: The id is invalid.
        """
        return self._opened.confirmed_store().consumers.delete(consumer_id)

    @adds_table_to_errors
    def create_tag(
        self,
        name: str,
        *,
        snapshot_id: int | None = None,
        retained_ms: int | None = None,
        announce: Callable[[], None] | None = None,
    ) -> Tag:
        """Give a snapshot a name, under which it stays readable after it has expired.

        Args:
            name: Of the tag; no tag may have it yet.
            snapshot_id: The snapshot to tag; None means the newest now.
            retained_ms: Time to live, milliseconds; None takes `tag.default-time-retained`, without
                which a tag is kept for ever.
            announce: Called when the arguments are known to be valid, right before the tag is created; raises what keeps
                it from being created.

        Raises:
            InvalidRequest: The name is taken or invalid, or there is no such snapshot.
            StorageUnavailable: The tag was created or not; check with `tags`.
        """
        store = self._opened.confirmed_store()
        return tags.create_tag(
            store, name, snapshot_id=snapshot_id, retained_ms=retained_ms, announce=announce
        )

    @adds_table_to_errors
    def delete_tag(self, name: str) -> TagDeletion:
        """Delete a tag, and the files that nothing else in the table needs.

        Raises:
            InvalidRequest: There is no such tag; the message lists the tags.
            StorageUnavailable: The tag may be deleted; `clean_orphans` finds files that are left.
        """
        return tags.table_tags(self._opened.confirmed_store()).delete(name)

    @adds_table_to_errors
    def expire_tags(self) -> list[TagDeletion]:
        """Delete the tags whose time to live is over, as `delete_tag` does.

        Raises:
            CorruptData: A tag file cannot be read.
            StorageUnavailable: Some tags may be deleted; repeat the call.
        """
        return tags.table_tags(self._opened.confirmed_store()).expire()

    @adds_table_to_errors
    def rollback(
        self,
        *,
        snapshot_id: int | None = None,
        tag: str | None = None,
        commit_user: str | None = None,
    ) -> RollbackResult:
        """Take the table back to a snapshot or a tag; all later snapshots are lost.

        Stop the table's streams first. A stream that runs nevertheless is fenced: its commits fail
        with `StreamFenced`. After a restart the stream continues at the offsets of the target. For
        readers the change is atomic: they see either the newest rows or the rows of the target.

        Consumers that had passed the target continue after it. The target is leased meanwhile, and
        if the rollback is interrupted for a day, or for a shorter `consumer.expiration-time`.

        Files of the lost snapshots are left to `clean_orphans`, because readers may have them open.

        Args:
            snapshot_id: The snapshot to go back to.
            tag: The tag to go back to instead, even where its snapshot has expired.
            commit_user: Named in the snapshot that fences the streams; a fresh random one when None.

        Raises:
            InvalidRequest: Neither or both of `snapshot_id` and `tag` are given, the target does
                not exist, or it does not have the positions of the streams.
            CommitConflict: Other processes keep committing.
            CommitUnknown, StorageUnavailable: The table is as before or as at the target; roll back
                again.
        """
        return rollback.rollback(
            self._opened, snapshot_id=snapshot_id, tag=tag, commit_user=commit_user
        )

    @adds_table_to_errors
    def clean_orphans(
        self, *, min_age_ms: int = DAY_MS, delete: bool = False, spread: Spread | None = None
    ) -> OrphanReport:
        """Find the files that nothing in the table references, and delete them on request.

        Safe beside commits, expiry and everything else, as long as no writer takes longer than the
        minimum age from its first file to its commit.

        Args:
            min_age_ms: Younger files are kept, milliseconds by storage's clock.
            delete: Delete what was found; otherwise nothing is changed.
            spread: Does the work on many paths, such as on the machines of a cluster; None: this process.

        Returns:
            The files, each with the reason why it is an orphan.

        Raises:
            InvalidRequest: A negative age.
            CorruptData: Metadata in use cannot be read, so that it is unknown which files it needs;
                nothing was deleted.
            StorageUnavailable: Some files may be deleted; repeat the call.
        """
        check_number("min_age_ms", min_age_ms)
        check_flags(delete=delete)
        store = self._opened.confirmed_store()
        return OrphanCleaner(store).clean(
            now_ms=store.clock.now_ms(), min_age_ms=min_age_ms, delete=delete, spread=spread or here
        )
