"""Compaction of a table, bucket by bucket.

1. Pick and plan each bucket on the snapshot that is the newest at the start. If the bucket's deletion vectors have
   been replaced and have expired meanwhile, plan the bucket on the snapshot that is the newest then.
2. Write the new files. A bucket is dropped if another process has compacted it meanwhile and expiry has removed any
   of its old files, even a file that is read only to look up old rows.
3. Commit. If the commit conflicts, the buckets that another process has changed are dropped, and the rest
   is committed. If no bucket was changed, the race to commit was lost too often, and all are dropped.

Steps 2 and 3 alternate. All new files of a bucket are committed together. A commit is made when the buckets
rewritten since the last commit have enough bytes, or are many. So a large bucket is committed as soon as it is
rewritten, and small buckets share a snapshot. A process that dies loses the work since the last commit. Buckets
with files of a newer schema are left to the next compaction.

A compaction yields to commits that were made meanwhile: it drops the buckets that no longer fit them. Appends to
level 0 do not conflict with a compaction. If the compaction commits first, a later commit conflicts if it replaces
the same files or puts files on the same higher level. New files that are not committed are deleted, unless it is
unknown whether the commit happened.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from braid.lake.commit.committer import TableCommitter
from braid.lake.errors import CommitConflict, CorruptData, LakeError
from braid.lake.files.best_effort_delete import delete_best_effort
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.bucket import BucketId
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.indexes.index_manifest import IndexManifestEntry
from braid.lake.format.manifest import FileIdentity, ManifestEntry
from braid.lake.format.partition_path import partition_directory
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import CommitKind
from braid.lake.lsm.compaction_pick import CompactionUnit
from braid.lake.lsm.compaction_plan import plan_compaction
from braid.lake.lsm.levels import Levels, levels_of
from braid.lake.maintenance.compaction.bucket_compaction import BucketCompactor
from braid.lake.maintenance.compaction.compaction_picks import Pick
from braid.lake.maintenance.compaction.compaction_result import CompactionResult, DroppedCompaction
from braid.lake.maintenance.compaction.planned_bucket import PlannedBucket
from braid.lake.snapshots.deletion_vectors import VectorStore
from braid.lake.snapshots.live_state import by_bucket
from braid.lake.snapshots.live_table import LiveTable

logger = logging.getLogger(__name__)

_GONE: Final = "files to be replaced are not live any more"
_LEVEL_TAKEN: Final = "another process has put files on the output level"
_VECTORS_CHANGED: Final = "another process has marked rows of the bucket"
_OUTRUN: Final = "the race to commit was lost too often"

_BUCKETS_PER_COMMIT: Final = 100
"""Buckets that are committed together at most: compacting them takes some seconds, however small they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _CompactedBucket:
    """A bucket whose new files are written and not committed.

    Attributes:
        work: The bucket and its plan.
        message: The message that commits the new files.
        paths: Paths of the new files, which are deleted if they are not committed.
    """

    work: PlannedBucket
    message: CommitMessage
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCompaction:
    """One compaction of a table; `run` performs it.

    Attributes:
        file_io: Storage.
        schema: The schema under which files are read and rewritten.
        pick: Chooses the files of a bucket to compact.
        expired: Returns the files of a bucket that may have expired rows, by name.
        compactor: Compacts buckets of the table.
        vectors: Reads deletion vectors.
        committer: Committer of the table.
        newest: Reads the live files and deletion vectors of the newest snapshot.
        commit_user: Commit user of the snapshots.
        whole: Returns live entries with whole statistics, in their order.
        needs_statistics: Whether picks depend on value statistics: those of expired rows do.
    """

    file_io: FileIO
    schema: TableSchema
    pick: Pick
    expired: Callable[[Levels], Collection[str]]
    compactor: BucketCompactor
    vectors: VectorStore
    committer: TableCommitter
    newest: Callable[[], LiveTable]
    commit_user: str
    whole: Callable[[Sequence[ManifestEntry]], Sequence[ManifestEntry]]
    needs_statistics: bool

    def run(self, live: LiveTable) -> CompactionResult:
        """Compact the buckets of a snapshot and commit.

        After an error the buckets that were committed before it stay compacted, and the others are as
        they were.

        Raises:
            SchemaMismatch: The table's merge refuses some records.
            CommitUnknown: The last commit may have happened; its new files stay.
            CorruptData: A live file cannot be read.
            StorageUnavailable: Storage failed.
        """
        result = CompactionResult()
        done: list[_CompactedBucket] = []
        planned = list(self.plan(live))
        for number, work in enumerate(planned, start=1):
            self._log_begin(work, number, len(planned))
            try:
                compacted = self._compact(work)
            except BaseException:
                self._discard(done)
                raise
            if compacted is None:
                result = result.plus(CompactionResult(dropped=(self._dropped(work, _GONE),)))
                continue
            done.append(compacted)
            if self._is_worth_a_commit(done):
                result = result.plus(self._commit(done))
                done = []
        return result.plus(self._commit(done))

    def _is_worth_a_commit(self, done: Sequence[_CompactedBucket]) -> bool:
        """Return whether to commit now; a failure of the next bucket would lose the work so far.

        Rewritten files of the target size together are worth a snapshot, and so are many small buckets.
        """
        rewritten_bytes = sum(
            file.file_size
            for compacted in done
            for rewrite in compacted.work.plan.rewrites
            for file in rewrite.files
        )
        is_much = rewritten_bytes >= self.schema.table_options.target_file_size_bytes
        return is_much or len(done) >= _BUCKETS_PER_COMMIT

    def _log_begin(self, work: PlannedBucket, number: int, count: int) -> None:
        directory = partition_directory(work.partition, self.schema)
        logger.info(
            "compacting %sbucket %d (%d of %d), files: %d, rows: %d",
            f"{directory}/" if directory else "",
            work.bucket,
            number,
            count,
            len(work.plan.files),
            sum(file.row_count for file in work.plan.files),
        )

    def plan(self, live: LiveTable) -> Iterator[PlannedBucket]:
        """Yield the buckets that have something to compact, with their plans; writes nothing."""
        for bucket_id, entries in by_bucket(live.entries).items():
            work = self._plan_bucket(bucket_id, tuple(entries), live.vectors.get(bucket_id))
            if work is not None:
                yield work

    def _plan_bucket(
        self,
        bucket_id: BucketId,
        entries: Sequence[ManifestEntry],
        index: IndexManifestEntry | None,
    ) -> PlannedBucket | None:
        """Return the plan of a bucket; None when there is nothing to compact."""
        if any(entry.file.schema_id > self.schema.id for entry in entries):
            # A rewrite under this older schema would lose the values of new columns. The next
            # compaction opens the table with the newer schema.
            return None
        if self.needs_statistics:
            entries = self.whole(entries)
        options = self.schema.table_options
        levels = levels_of([entry.file for entry in entries], options)
        try:
            vectors = self.vectors.read(index)
        except CorruptData:
            newest = self.newest()
            now = newest.vectors.get(bucket_id)
            if now == index:
                raise
            # The vectors have been replaced meanwhile, and expiry has removed the old ones: plan the
            # bucket as it is now.
            return self._plan_bucket(bucket_id, newest.of({bucket_id}).entries, now)
        unit = self.pick(bucket_id, levels, frozenset(vectors.vectors))
        if unit is None:
            return None
        # New entries are made from those of the files, so these have their whole statistics from here on.
        whole = self.whole(entries)
        if len(whole) < len(entries):
            # Another process has replaced files meanwhile.
            return None
        levels = levels_of([entry.file for entry in whole], options)
        unit = _of_files(unit, levels.files)
        plan = plan_compaction(
            unit, levels, self.schema.key_fields, options, expired=self.expired(levels)
        )
        if plan.is_empty:
            return None
        names = {file.file_name for file in plan.files}
        return PlannedBucket(
            partition=entries[0].partition,
            bucket=entries[0].bucket,
            total_buckets=entries[0].total_buckets,
            levels=levels,
            plan=plan,
            vectors=vectors,
            inputs=frozenset(e.identity for e in entries if e.file.file_name in names),
            settled=frozenset(e.identity for e in entries if e.file.level == plan.output_level),
        )

    def _compact(self, work: PlannedBucket) -> _CompactedBucket | None:
        """Return the bucket with its new files; None when its old files are no longer live.

        If no bucket is returned, the new files that were begun are deleted.
        """
        paths: list[str] = []
        message: CommitMessage | None = None
        try:
            message = self.compactor.compact(work, on_new_file=paths.append)
        except CorruptData:
            # Files are immutable, so an absent one can only have been replaced and then removed by
            # expiry. All files of the bucket count, not only the inputs: lookups read the others.
            bucket_id = work.partition, work.bucket
            live = {entry.file.file_name for entry in self.newest().of({bucket_id}).entries}
            if all(file.file_name in live for file in work.levels.files):
                raise
            return None
        finally:
            if message is None:
                delete_best_effort(self.file_io, paths)
        return _CompactedBucket(work=work, message=message, paths=tuple(paths))

    def _commit(self, done: Sequence[_CompactedBucket]) -> CompactionResult:
        """Commit buckets together; drop those that another process has changed meanwhile."""
        left, dropped = list(done), list[DroppedCompaction]()
        while left:
            try:
                committed = self.committer.commit(
                    [compacted.message for compacted in left],
                    commit_user=self.commit_user,
                    kind=CommitKind.COMPACT,
                )
            except LakeError as error:
                # A snapshot may name the files, so they stay.
                if not error.committed_nothing:
                    raise
                if not isinstance(error, CommitConflict):
                    self._discard(left)
                    raise
                left, lost = self._without_lost(left)
                dropped += lost
            else:
                return _result(committed.snapshot_id, left, dropped)
        return CompactionResult(dropped=tuple(dropped))

    def _without_lost(
        self, left: Sequence[_CompactedBucket]
    ) -> tuple[list[_CompactedBucket], list[DroppedCompaction]]:
        """Return the buckets that still fit, and those that are dropped; delete the files of the latter.

        If all buckets still fit, all are dropped: then the race to commit was lost too often, and another
        try would take as long.
        """
        try:
            reasons = self._reasons_to_drop(left)
        except BaseException:
            self._discard(left)
            raise
        kept: list[_CompactedBucket] = []
        dropped: list[DroppedCompaction] = []
        for compacted, reason in zip(left, reasons, strict=True):
            if reason is None and any(reasons):
                kept.append(compacted)
                continue
            self._discard([compacted])
            dropped.append(self._dropped(compacted.work, reason or _OUTRUN))
        # Each round drops at least one bucket, so `_commit` ends.
        assert len(kept) < len(left), "a conflict drops a bucket"
        return kept, dropped

    def _reasons_to_drop(self, left: Sequence[_CompactedBucket]) -> list[str | None]:
        """Return for each bucket why it does not fit the newest snapshot, None if it fits."""
        newest = self.newest()
        live: defaultdict[BucketId, dict[FileIdentity, int]] = defaultdict(dict)
        for entry in newest.entries:
            live[entry.partition, entry.bucket][entry.identity] = entry.file.level
        reasons: list[str | None] = []
        for compacted in left:
            work = compacted.work
            levels = live[work.partition, work.bucket]
            settled = {i for i, level in levels.items() if level == work.plan.output_level}
            index = newest.vectors.get((work.partition, work.bucket))
            if not work.inputs <= levels.keys():
                reasons.append(_GONE)
            elif work.vectors.base != (None if index is None else index.file_name):
                reasons.append(_VECTORS_CHANGED)
            elif work.plan.output_level > 0 and not settled <= work.settled:
                reasons.append(_LEVEL_TAKEN)
            else:
                reasons.append(None)
        return reasons

    def _dropped(self, work: PlannedBucket, reason: str) -> DroppedCompaction:
        return DroppedCompaction(
            partition=partition_directory(work.partition, self.schema),
            bucket=work.bucket,
            files=len(work.plan.files),
            reason=reason,
        )

    def _discard(self, buckets: Iterable[_CompactedBucket]) -> None:
        """Delete new files of buckets; orphan cleaning finds those that cannot be deleted."""
        for compacted in buckets:
            delete_best_effort(self.file_io, compacted.paths)


def _of_files(unit: CompactionUnit, files: Sequence[DataFileMeta]) -> CompactionUnit:
    """Return a unit with other metadata of its files."""
    known = {(file.file_name, file.level): file for file in files}
    runs = tuple(
        replace(run, files=tuple(known[file.file_name, file.level] for file in run.files))
        for run in unit.runs
    )
    return replace(unit, runs=runs)


def _result(
    snapshot_id: int, done: Sequence[_CompactedBucket], dropped: Sequence[DroppedCompaction]
) -> CompactionResult:
    before = [file for compacted in done for file in compacted.message.compact_before]
    after = [file for compacted in done for file in compacted.message.compact_after]
    return CompactionResult(
        snapshot_id=snapshot_id,
        buckets=len(done),
        files_in=len(before),
        files_out=len(after),
        files_moved=sum(len(compacted.work.plan.upgrades) for compacted in done),
        rows_in=sum(file.row_count for file in before),
        rows_out=sum(file.row_count for file in after),
        dropped=tuple(dropped),
    )
