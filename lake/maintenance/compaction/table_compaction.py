"""A table, compacted bucket by bucket; who breaks off has compacted the buckets up to there.

1. Pick and plan each bucket on the newest snapshot, or on a newer one where its deletion vectors
   have been replaced and expired.
2. Write the new files. A bucket whose old files vanish meanwhile (somebody else compacted it, and
   expiry removed them) is dropped; those that are only looked at are among them.
3. Commit. When that does not fit any more, the buckets where somebody else was faster are dropped,
   and the others are committed.

Steps 2 and 3 take turns: each bucket is replaced as a whole, and buckets are committed together as
long as little was rewritten for them. So large buckets have a snapshot each, and what is lost with a
process is the work on one of them; a table of many small ones has no more snapshots than it needs.

A compaction always yields: whatever else is committed meanwhile stays, and no writer ever fails
because of it. Whatever was written for nothing is deleted.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lake.commit.committer import TableCommitter
from lake.errors import CommitConflict, CorruptData, LakeError
from lake.files.best_effort_delete import delete_best_effort
from lake.files.storage.file_io import FileIO
from lake.format.bucket import BucketId
from lake.format.indexes.index_manifest import IndexManifestEntry
from lake.format.manifest import FileIdentity, ManifestEntry
from lake.format.partition_path import partition_directory
from lake.format.schema import TableSchema
from lake.format.snapshot import CommitKind
from lake.lsm.compaction_plan import plan_compaction
from lake.lsm.levels import levels_of
from lake.maintenance.compaction.bucket_compaction import (
    BucketCompactor,
    CompactedBucket,
    PlannedBucket,
)
from lake.maintenance.compaction.compaction_picks import Pick
from lake.maintenance.compaction.compaction_result import CompactionResult, DroppedCompaction
from lake.snapshots.deletion_vectors import VectorStore
from lake.snapshots.live_table import LiveTable

logger = logging.getLogger(__name__)

_GONE: Final = "files to be replaced are not live any more"
_LEVEL_TAKEN: Final = "somebody else has put files on the output level"
_VECTORS_CHANGED: Final = "somebody else has marked rows of the bucket"
_OUTRUN: Final = "the race to commit was lost too often"

_BUCKETS_PER_COMMIT: Final = 100
"""At most; they take some seconds, however small they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCompaction:
    """One compaction of a table; `run` does it.

    Attributes:
        file_io: Storage.
        schema: Under which all files were written.
        pick: Says what to compact of a bucket.
        compactor: Of the table.
        vectors: Reads deletion vectors.
        committer: Of the table.
        newest: Reads the newest snapshot.
        commit_user: Named in the snapshot.
    """

    file_io: FileIO
    schema: TableSchema
    pick: Pick
    compactor: BucketCompactor
    vectors: VectorStore
    committer: TableCommitter
    newest: Callable[[], LiveTable]
    commit_user: str

    def run(self, live: LiveTable) -> CompactionResult:
        """Compact the buckets of a snapshot and commit.

        Whatever is raised, buckets that were committed before stay so, and of the others nothing is.

        Raises:
            SchemaMismatch: Records that the table's merge refuses.
            CommitUnknown: The last commit may have happened; its new files stay.
            CorruptData, StorageUnavailable: As they say.
        """
        result = CompactionResult()
        done: list[CompactedBucket] = []
        planned = list(self.plan(live))
        for number, work in enumerate(planned, start=1):
            self._tell_begin(work, number, len(planned))
            try:
                compacted = self._compact(work)
            except BaseException:
                for begun in (*(one.work for one in done), work):
                    self._delete_written(begun)
                raise
            if compacted is None:
                self._delete_written(work)
                result = result.plus(CompactionResult(dropped=(self._dropped(work, _GONE),)))
                continue
            done.append(compacted)
            if self._is_worth_a_commit(done):
                result = result.plus(self._commit(done))
                done = []
        return result.plus(self._commit(done))

    def _is_worth_a_commit(self, done: Sequence[CompactedBucket]) -> bool:
        """Return whether so much was done that it should not be lost with the next bucket."""
        rewritten_bytes = sum(
            file.file_size
            for compacted in done
            for rewrite in compacted.work.plan.rewrites
            for file in rewrite.files
        )
        is_much = rewritten_bytes >= self.schema.table_options.target_file_size_bytes
        return is_much or len(done) >= _BUCKETS_PER_COMMIT

    def _tell_begin(self, work: PlannedBucket, number: int, count: int) -> None:
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
        """Yield the work on each bucket that has any; nothing is written."""
        members: defaultdict[BucketId, list[ManifestEntry]] = defaultdict(list)
        for entry in live.entries:
            members[entry.partition, entry.bucket].append(entry)
        for place, entries in members.items():
            work = self._plan_bucket(place, entries, live.vectors.get(place))
            if work is not None:
                yield work

    def _plan_bucket(
        self, place: BucketId, entries: Sequence[ManifestEntry], index: IndexManifestEntry | None
    ) -> PlannedBucket | None:
        """Return the work on a bucket; None when there is none."""
        if any(entry.file.schema_id > self.schema.id for entry in entries):
            # Read under our schema, its new columns would be lost: the next compaction knows them.
            return None
        options = self.schema.table_options
        levels = levels_of([entry.file for entry in entries], options)
        try:
            vectors = self.vectors.read(index)
        except CorruptData:
            newest = self.newest()
            now = newest.vectors.get(place)
            if now == index:
                raise
            # Somebody else has replaced it, and expiry removed it: look at what is there now.
            return self._plan_bucket(place, newest.of({place}).entries, now)
        unit = self.pick(place, levels, frozenset(vectors.vectors))
        if unit is None:
            return None
        plan = plan_compaction(unit, levels, self.schema.key_fields, options)
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

    def _compact(self, work: PlannedBucket) -> CompactedBucket | None:
        """Return the bucket's new files, None when its old ones are live no more."""
        try:
            return self.compactor.compact(work)
        except CorruptData:
            # Files are immutable: only one that was replaced and removed may be absent. Lookups
            # read others than the inputs, too.
            place = work.partition, work.bucket
            live = {entry.file.file_name for entry in self.newest().of({place}).entries}
            if all(file.file_name in live for file in work.levels.files):
                raise
            return None

    def _commit(self, done: Sequence[CompactedBucket]) -> CompactionResult:
        left, dropped = list(done), list[DroppedCompaction]()
        while left:
            try:
                committed = self.committer.commit(
                    [compacted.message for compacted in left],
                    commit_user=self.commit_user,
                    kind=CommitKind.COMPACT,
                )
            except LakeError as error:
                if not error.committed_nothing:
                    raise
                if not isinstance(error, CommitConflict):
                    for compacted in left:
                        self._delete_written(compacted.work)
                    raise
                left = self._drop_lost(left, dropped)
            else:
                return _result(committed.snapshot_id, left, dropped)
        return CompactionResult(dropped=tuple(dropped))

    def _drop_lost(
        self, left: Sequence[CompactedBucket], dropped: list[DroppedCompaction]
    ) -> list[CompactedBucket]:
        """Give up the buckets that do not fit any more; all of them if none stands out."""
        try:
            reasons = self._reasons_to_drop(left)
        except BaseException:
            for compacted in left:
                self._delete_written(compacted.work)
            raise
        kept: list[CompactedBucket] = []
        for compacted, reason in zip(left, reasons, strict=True):
            if reason is None and any(reasons):
                kept.append(compacted)
                continue
            self._delete_written(compacted.work)
            dropped.append(self._dropped(compacted.work, reason or _OUTRUN))
        return kept

    def _reasons_to_drop(self, left: Sequence[CompactedBucket]) -> list[str | None]:
        """Return for each bucket why it does not fit the newest snapshot, None if it does."""
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

    def _delete_written(self, work: PlannedBucket) -> None:
        """Delete the new files of a bucket; what cannot be deleted is left to orphan cleaning."""
        delete_best_effort(self.file_io, work.paths_written)


def _result(
    snapshot_id: int, done: Sequence[CompactedBucket], dropped: Sequence[DroppedCompaction]
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
