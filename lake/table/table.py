"""One table: written, committed, compacted, tagged, expired, and read as `ReadableTable` says.

What a method promises is told here and in `lake.table.readable_table`. How it is done is in the
module of its concern (reading, writing, compacting, rescaling, retention, history); all of them work
on the one `OpenedTable`.
"""

from collections.abc import Collection, Iterable

import pyarrow as pa

from lake.commit.commit_result import CommitResult
from lake.commit.committer import TableCommitter
from lake.errors import adds_table_to_errors
from lake.evolution.schema_changes import SchemaChange
from lake.format.bucket import BucketId
from lake.format.commit_message import CommitMessage
from lake.format.schema import TableSchema
from lake.format.tag import Tag
from lake.lsm.compaction_pick import PickState
from lake.maintenance.compaction.compaction_picks import CompactionMemory
from lake.maintenance.compaction.compaction_result import CompactionResult
from lake.maintenance.expiry.expiry_result import ExpiryResult
from lake.maintenance.orphan_files import DAY_MS, OrphanCleaner, OrphanReport
from lake.maintenance.rescale.rescale_result import RescaleResult
from lake.maintenance.rollback import RollbackResult
from lake.maintenance.table_tags import TagDeletion
from lake.merge.fold import Machine
from lake.snapshots.lease import LEASE_MS, Lease
from lake.table.arguments import (
    check_flags,
    check_machine,
    check_number,
    check_places,
    check_text,
)
from lake.table.compaction import TableCompacting
from lake.table.expiry import TableRetention
from lake.table.readable_table import ReadableTable
from lake.table.rescale import WAIT_MS, TableRescaling
from lake.table.schema_alteration import TableAltering
from lake.table.tags import TableHistory
from lake.table.writes import TableWriting
from lake.write.table_writer import BUFFER_BYTES, TableWriter


class Table(ReadableTable):
    """One table of the format, at the newest schema that it has seen.

    Can be shared between threads and sent to other processes; caches stay behind.
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
        return TableWriting(self._opened).writer(
            first_sequence_number=first_sequence_number,
            buffer_bytes=buffer_bytes,
            machine=machine,
            drop_null_columns=drop_null_columns,
        )

    @adds_table_to_errors
    def try_rows(self, rows: pa.Table | pa.RecordBatch, *, kinds: pa.Array | None = None) -> None:
        """Write rows to memory, and forget them: to find out whether this table takes them.

        What a writer checks when it takes rows is only a part of what can refuse them: they are
        routed, folded, encoded and described by statistics here as well.

        Args:
            rows: As for `TableWriter.write`.
            kinds: Likewise.

        Raises:
            SchemaMismatch: As `TableWriter.write` and `TableWriter.flush`.
        """
        TableWriting(self._opened).try_rows(rows, kinds=kinds)

    def committer(self) -> TableCommitter:
        """Return a committer of this table.

        Raises:
            UnsupportedFeature: This is a branch, which is only read.
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

        Not repeatable: after `CommitUnknown` look whether the rows are there before trying again.
        Rows that a rescale overtakes are written again for the new buckets. So are, under the newest
        schema, rows that do not fit the one that was seen, or that a change of it has overtaken: up to
        100 times in all, without a wait.

        Args:
            rows: Table columns by name; missing ones become null.
            kinds: int8 row kinds (0 +I, 1 -U, 2 +U, 3 -D), one per row; None means all +I. A table
                with `rowkind.field` takes them from that column, and none may be given.
            commit_user: Named in the snapshot; a fresh random one when None.
            machine: Which execution folds.

        Raises:
            SchemaMismatch: Rows that do not fit the newest schema; nothing was written.
            CommitConflict: Nothing was committed, and no file stays behind: the table was altered
                during each attempt, or a rescale does not end.
            StorageUnavailable: Nothing was committed, and nothing stays behind that could be
                deleted.
            CommitUnknown: The commit may have happened.
        """
        return TableWriting(self._opened).write_and_commit(
            rows, kinds=kinds, commit_user=commit_user, machine=machine
        )

    @adds_table_to_errors
    def delete_uncommitted(self, messages: Iterable[CommitMessage]) -> None:
        """Delete the new files of messages that will never be committed.

        For what was never handed to a committer, and after a commit that says that nothing was
        committed: an error with `committed_nothing`, or a replay with `are_files_unused`. After
        anything else the files may be live: `commit_or_discard` tells them apart. What cannot be
        deleted is left to `clean_orphans`.

        Args:
            messages: From writers of this table, none of them in any snapshot.
        """
        TableWriting(self._opened).delete_uncommitted(messages)

    @adds_table_to_errors
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
        return TableRescaling(self._opened).follow_schema(wait_ms=wait_ms)

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
        """Compact every bucket: fully, or as far as the rules of universal compaction say.

        Fully means one sorted run on the highest level, without retracts.

        Scans give the same rows as before, except where the merge engine itself answers otherwise
        once retracts are gone (a row written again after its removal starts empty). Rows of
        first-row tables become visible by it. What others commit meanwhile stays as it is, and none
        of them fails because of the compaction; where another compaction was faster, the work on
        that bucket is dropped and told in the result. Works on write-only tables too.

        Each bucket is replaced as a whole. Small ones share a snapshot: up to 100, as long as no
        more than `target-file-size` was rewritten for them. What a process that is killed, or an
        error, leaves committed stays compacted, and the next call goes on from there.

        Memory: batches of the runs of one section, and one file of about the target size.

        Args:
            full: Compact everything; else only what is due.
            buckets: Serialised partition row and number of the buckets to look at; None for all.
            memory: Of those who compact what is due again and again; changed by this call.
            commit_user: Named in the snapshots; a fresh random one when None.
            machine: Which execution folds.

        Returns:
            What was done. When nothing was to be done no snapshot is made.

        Raises:
            UnsupportedFeature: This is a branch; the table has options by which a compaction owes it
                what this version does not do, and `problems` names them; or it has an aggregate
                function that is not known here.
            SchemaMismatch: Records that the table's merge refuses; nothing of their bucket was
                committed.
            CommitUnknown: The last commit may have happened; compacting again is safe either way.
            StorageUnavailable: What was not committed does not stay behind, if it could be deleted.

        Source:
            merge-semantics 7.4.
        """
        check_machine(machine)
        check_text(commit_user=commit_user)
        check_flags(full=full)
        if buckets is not None:
            check_places(buckets)
        return TableCompacting.of(self._opened, machine).run(
            full=full, buckets=buckets, memory=memory, commit_user=commit_user
        )

    @adds_table_to_errors
    def buckets_to_compact(
        self, *, full: bool = False, memory: CompactionMemory | None = None
    ) -> dict[BucketId, PickState | None]:
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
        return TableCompacting.of(self._opened).places(
            full=full, memory=memory or CompactionMemory()
        )

    @adds_table_to_errors
    def alter(self, *changes: SchemaChange) -> TableSchema:
        """Change the schema, all of the changes or none; rows stay where they are.

        Rows that are there are read under the new schema from then on: columns are known by their
        ids, what they lack is null, and what has another type now is cast. Rows that others write
        under the old schema are turned back at their commit; `write_and_commit` takes the new one up
        and writes them again.

        Args:
            changes: In order; each sees what those before have made.

        Returns:
            The newest schema, the same as before when nothing is to be changed.

        Raises:
            InvalidRequest: `problems` names each change that cannot be made (`changes[1].name`), or
                that makes of the table what no table can be (`changes[1].write-only`), and why.
            UnsupportedFeature: This is a branch, or the result is more than this version has.
            CommitConflict: Others go on changing the schema; try again.
            StorageUnavailable: The change was made or not; look, and alter again.

        Source:
            merge-semantics 8.3.
        """
        return TableAltering(self._opened).alter(changes)

    @adds_table_to_errors
    def plan_alter(self, *changes: SchemaChange) -> TableSchema:
        """Return the schema that `alter` would make of the newest one now; changes nothing.

        For whoever has to write something down before the schema is there. `publish_schema` then
        makes it the table's.

        Args:
            changes: As for `alter`.

        Returns:
            The schema with the next id; `self.schema`, the newest one, when nothing would change.

        Raises:
            InvalidRequest: As `alter`, but what is wrong with the result is told by the column or
                option alone.
            UnsupportedFeature: Likewise.
        """
        return TableAltering(self._opened).plan(changes)

    @adds_table_to_errors
    def publish_schema(self, schema: TableSchema) -> bool:
        """Make a schema of `plan_alter` the newest one, unless another has its id.

        May be repeated, by anybody who has the same schema: it is made once.

        Args:
            schema: As planned, its time included.

        Returns:
            Whether the table has had exactly this schema under its id, now or earlier; if not,
            another change was faster, and it is to be planned again.

        Raises:
            UnsupportedFeature: This is a branch, which is only read.
            StorageUnavailable: It was made or not; repeat the call.
        """
        return TableAltering(self._opened).publish(schema)

    @adds_table_to_errors
    def find_schema(self, schema_id: int) -> TableSchema | None:
        """Return the schema of an id; None when the table has not come to it.

        Raises:
            CorruptData: Its file cannot be read.
        """
        return TableAltering(self._opened).find_schema(schema_id)

    @adds_table_to_errors
    def schemas(self) -> list[TableSchema]:
        """Return all schemas that the table ever had, oldest first; one listing, one read each.

        Raises:
            CorruptData: A file cannot be read.
        """
        return TableAltering(self._opened).schemas()

    @adds_table_to_errors
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
        check_text(commit_user=commit_user)
        return TableRescaling(self._opened).rescale(buckets, commit_user=commit_user)

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
        """Remove the oldest snapshots that nobody needs, and the files that only they need.

        Never in passing: no commit waits for it. Beside any readers, writers, compactions and other
        expiries, of this engine or another. A snapshot that is there can be read whole at every
        moment; a process that dies leaves at most files that nothing names.

        What stays: the newest snapshot; `retain_min` of the newest; what a consumer or lease needs
        and all that is newer; what was the newest until `older_than_ms` or later, as long as there
        are no more than `retain_max`; and the newest snapshot that knows the positions of streams.
        Where that is not the newest of all, as another engine has committed, an empty commit carries
        the positions on first.
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
        return self._retention().expire(
            retain_min=retain_min,
            retain_max=retain_max,
            older_than_ms=older_than_ms,
            max_deletes=max_deletes,
            dry_run=dry_run,
            committer=self.committer,
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

        In a `with` statement the lease refreshes itself and is released at the end. Other engines
        respect it too: it is a consumer file, and one with a deadline.

        Args:
            snapshot_id: None for the newest now.
            holder: Who takes it, for people.
            lease_ms: How long it holds without a refresh, milliseconds; at most a day,
                and at most `consumer.expiration-time`, after which other engines forget it.

        Raises:
            InvalidRequest: There is no such snapshot.
            LeaseLost: It expired in this moment.
        """
        return self._retention().lease(snapshot_id, holder=holder, lease_ms=lease_ms)

    @adds_table_to_errors
    def reset_consumer(self, consumer_id: str, next_snapshot_id: int) -> None:
        """Set from which snapshot on a consumer needs the table, whether it was there or not.

        Raises:
            InvalidRequest: No consumer can have the id, or no snapshot the number.
        """
        self._retention().reset_consumer(consumer_id, next_snapshot_id)

    @adds_table_to_errors
    def delete_consumer(self, consumer_id: str) -> bool:
        """Forget a consumer; return whether it was there.

        Raises:
            InvalidRequest: No consumer can have the id.
        """
        return self._retention().delete_consumer(consumer_id)

    @adds_table_to_errors
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
        return self._history().create_tag(name, snapshot_id=snapshot_id, retained_ms=retained_ms)

    @adds_table_to_errors
    def delete_tag(self, name: str) -> TagDeletion:
        """Delete a tag, and the files that nothing else in the table needs.

        Raises:
            InvalidRequest: There is no such tag; the message names those there are.
            StorageUnavailable: The tag may be deleted; files that are left are found by
                `clean_orphans`.
        """
        return self._history().tags.delete(name)

    @adds_table_to_errors
    def expire_tags(self) -> list[TagDeletion]:
        """Delete the tags whose time to live is over, as `delete_tag` does.

        Raises:
            CorruptData: A tag file cannot be read.
            StorageUnavailable: Expire again.
        """
        return self._history().tags.expire()

    @adds_table_to_errors
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

        Consumers that had come past the target continue after it. The target is leased meanwhile, and
        for a day when this breaks off.

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
        check_text(commit_user=commit_user)
        user = commit_user or str(self._opened.store.new_uuid())
        return self._history().rollback(
            self.committer(), snapshot_id=snapshot_id, tag=tag, user=user
        )

    @adds_table_to_errors
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
        check_number("min_age_ms", min_age_ms)
        check_flags(delete=delete)
        store = self._opened.confirmed_store()
        return OrphanCleaner(store).clean(
            now_ms=store.clock.now_ms(), min_age_ms=min_age_ms, delete=delete
        )

    def _retention(self) -> TableRetention:
        return TableRetention(self._opened.confirmed_store())

    def _history(self) -> TableHistory:
        return TableHistory(self._opened.confirmed_store())
