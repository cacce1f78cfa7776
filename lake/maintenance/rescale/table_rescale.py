"""Rescale of a table to another number of buckets, while it is read and written.

1. All files are rewritten for the new count, while writers may commit. Files that are committed meanwhile are
   rewritten in further rounds, until a round has little to do or the maximum number of rounds is reached.
2. The schema with the new count is created. From here on, commits of rows that were routed with the old count are
   refused, so little is left to rewrite. (Other engines of the format refuse such rows when they open a bucket for
   writing; an engine that has the bucket open already may not check again.)
3. The rest is rewritten, and one OVERWRITE replaces exactly the files that were read. If another process
   has changed some of them meanwhile, its new files are rewritten and the commit is tried again.
4. A commit that was planned before step 2 may add files of the old count, to a partition that had no files,
   between the last reading and the commit of step 3. After step 3 this is impossible: a writer that loses the
   race against its commit reads the schema again. So one more reading shows whether any file of the old count is
   left; if so, step 3 is repeated.

Readers see the same rows at every moment, in old buckets or in new ones. An interruption before step 2 changes
nothing. After an interruption between step 2 and the commit of step 3, writers of partitions with old files are
refused until the rescale is run again or undone. A second run rewrites all files of the old count, because nothing
records what the first run has rewritten. To undo a rescale takes one small commit. If a first run fails, it restores
the old count itself if it can, unless it is unknown whether the commit happened. Orphan cleaning finds the files of
interrupted work.

Source: table-format 18.3; decision 0013.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from braid.lake.commit.committer import TableCommitter
from braid.lake.errors import CommitConflict, CommitUnknown, CorruptData, LakeError
from braid.lake.files.best_effort_delete import delete_best_effort
from braid.lake.files.clock import Clock
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.bucket import BucketId
from braid.lake.format.commit_message import CommitMessage, VectorsChange
from braid.lake.format.manifest import FileIdentity, ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.maintenance.rescale.rescale_plan import RescaleUnit, plan_rescale
from braid.lake.maintenance.rescale.rescale_result import RescaleResult
from braid.lake.maintenance.rescale.rescale_writer import RescaledUnit, RescaleWriter
from braid.lake.snapshots.deletion_vectors import VectorStore
from braid.lake.snapshots.live_table import LiveTable
from braid.lake.snapshots.schema_store import SchemaStore

logger = logging.getLogger(__name__)

_ROUNDS_MAX: Final = 8
"""Number of rounds while writers may commit; after the last one they are refused, however much is left to
rewrite."""

_LITTLE_BYTES: Final = 16 * 1024 * 1024
"""Bytes that are rewritten in about a second, so that writers are refused only briefly."""

_COMMITS_MAX: Final = 20
"""Number of attempts at the final commit. Each but the first follows a conflict with a compaction, because writers
are refused by then."""


@dataclass(kw_only=True)
class TableRescale:
    """One rescale of a table; `run` performs it.

    Attributes:
        file_io: Storage.
        schema: The newest schema, under which files are read and rewritten.
        routing: The same schema with the new bucket count and the id that it will have.
        schemas: Reads and creates schemas of the table.
        writer: Rewrites units of the table.
        vectors: Reads deletion vectors.
        committer: Committer of the table.
        newest: Reads the newest snapshot and its live files.
        whole: Returns live entries with whole statistics, in their order.
        commit_user: Commit user of the snapshots.
        clock: Gives the creation time of the schema.
    """

    file_io: FileIO
    schema: TableSchema
    routing: TableSchema
    schemas: SchemaStore
    writer: RescaleWriter
    vectors: VectorStore
    committer: TableCommitter
    newest: Callable[[], tuple[Snapshot | None, LiveTable]]
    whole: Callable[[Sequence[ManifestEntry]], Sequence[ManifestEntry]]
    commit_user: str
    clock: Clock
    _done: dict[frozenset[FileIdentity], RescaledUnit] = field(default_factory=dict, init=False)
    _result: RescaleResult = field(init=False)
    _seen: LiveTable = field(init=False)
    _kept: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        assert self.routing.id - self.schema.id in (0, 1), "the new count is in the next schema"

    def run(self) -> RescaleResult:
        """Rescale the table.

        Raises:
            CommitConflict: Another process has changed the schema, or keeps compacting. The table is as
                before, unless that process has rescaled it.
            CommitUnknown: The commit may have happened; rescale again.
            CorruptData: A live file cannot be read.
            StorageUnavailable: For readers the table is as before; rescale again.
        """
        self._result = RescaleResult(buckets=self.buckets, snapshot_id=0, schema_id=self.routing.id)
        try:
            self._run()
        except BaseException:
            # Files of a commit stay, unless it certainly committed nothing.
            unused = [path for path in self.writer.written if path not in self._kept]
            delete_best_effort(self.file_io, unused)
            raise
        return self._result

    @property
    def buckets(self) -> int:
        """Return the new count."""
        return self.routing.table_options.bucket

    def _run(self) -> None:
        if self.routing.id == self.schema.id:
            # An earlier rescale was interrupted after it created the schema, or the table has the
            # count already. Without units a commit is still needed while the newest snapshot is of an
            # older schema: it ends the writers that were planned before (step 4).
            snapshot, _, units = self._plan()
            newest_id = -1 if snapshot is None else snapshot.schema_id
            is_published = newest_id >= self.routing.id or self.routing.id == 0
            if units or not is_published:
                self._replace_all()
            return
        self._rewrite_beside_writers()
        try:
            self._create_schema()
            self._replace_all()
        except CommitUnknown:
            # The table may have the new count already, so the old one must not come back.
            raise
        except LakeError:
            with suppress(LakeError, OSError):
                self._restore_old_count()
            raise

    def _rewrite_beside_writers(self) -> None:
        for _ in range(_ROUNDS_MAX):
            if self._catch_up() <= _LITTLE_BYTES:
                return

    def _replace_all(self) -> None:
        """Replace all files of other counts until no such file is left (steps 3 and 4)."""
        for _ in range(_COMMITS_MAX):
            self._catch_up()
            try:
                self._commit()
            except CommitConflict:
                newest = self.schemas.latest_id()
                if newest != self.routing.id:
                    raise
                continue
            if not self._plan()[2]:
                return
        message = (
            "another process keeps replacing files that were written for "
            f"{self.schema.table_options.bucket} buckets "
            f"while the table is rescaled to {self.buckets} buckets\n"
            "hint: stop compactions of the table and rescale again"
        )
        raise CommitConflict(message)

    def _catch_up(self) -> int:
        """Rewrite the units that are not rewritten yet; return the bytes of their files."""
        _, self._seen, planned = self._plan()
        units = {unit.inputs: unit for unit in planned}
        for inputs, done in list(self._done.items()):
            # A compaction has replaced the old files meanwhile, or other rows of them are marked as deleted
            # now. So the new files are useless.
            if inputs not in units or units[inputs].marks != done.unit.marks:
                delete_best_effort(self.file_io, done.paths)
                del self._done[inputs]
        lacking = [unit for inputs, unit in units.items() if inputs not in self._done]
        for number, unit in enumerate(lacking, start=1):
            logger.info(
                "rescaling to %d buckets: part %d of %d, level %d, files: %d, rows: %d",
                self.buckets,
                number,
                len(lacking),
                unit.level,
                len(unit.entries),
                sum(entry.file.row_count for entry in unit.entries),
            )
            self._rewrite(unit)
        self._result = replace(self._result, rounds=self._result.rounds + 1)
        return sum(unit.size for unit in lacking)

    def _rewrite(self, unit: RescaleUnit) -> None:
        """Rewrite a unit, unless another process has replaced its files meanwhile."""
        begun = len(self.writer.written)
        try:
            # New entries are made from those of the files.
            whole = tuple(self.whole(unit.entries))
            if len(whole) < len(unit.entries):
                return
            self._done[unit.inputs] = self.writer.rewrite(replace(unit, entries=whole))
        except CorruptData:
            # Files are immutable, so an absent one can only have been replaced and then removed by
            # expiry. The next round plans the unit as it is then.
            live = {entry.identity for entry in self.newest()[1].entries}
            if unit.inputs <= live:
                raise
            delete_best_effort(self.file_io, self.writer.written[begun:])

    def _plan(self) -> tuple[Snapshot | None, LiveTable, tuple[RescaleUnit, ...]]:
        """Return the newest snapshot, its live files, and the units to rewrite."""
        snapshot, live = self.newest()
        while True:
            try:
                vectors = {
                    bucket_id: self.vectors.read(entry) for bucket_id, entry in live.vectors.items()
                }
            except CorruptData:
                before, (snapshot, live) = live, self.newest()
                if live.vectors == before.vectors:
                    raise
                # Some vectors have been replaced, and expiry has removed the old ones: read the new ones.
                continue
            return snapshot, live, plan_rescale(live.entries, vectors, buckets=self.buckets)

    def _create_schema(self) -> None:
        """Create the schema with the new count.

        Raises:
            CommitConflict: Another process has changed the schema.
        """
        is_ours = self.schemas.latest_id() == self.schema.id and self.schemas.create(self.routing)
        if not is_ours:
            message = (
                f"the rescale began with schema {self.schema.id}, and the table's schema has changed "
                "since\nhint: rescale again"
            )
            raise CommitConflict(message)

    def _restore_old_count(self) -> None:
        """Create a schema with the old count again, so that writers of old files can continue.

        Nothing is created if files of the new count are live already, or if another process has changed the
        schema.
        """
        if self.schemas.latest_id() != self.routing.id:
            return
        if self.schemas.get(self.routing.id) != self.routing:
            return
        if any(entry.total_buckets == self.buckets for entry in self.newest()[1].entries):
            return
        now_ms = self.clock.now_ms()
        self.schemas.create(replace(self.schema, id=self.routing.id + 1, time_millis=now_ms))

    def _commit(self) -> None:
        """Replace the files of all rewritten units in one commit.

        The commit is made even if no unit was rewritten: a writer that planned its own commit before the
        schema was created loses the race to this one, and reads the schema again.
        """
        done = list(self._done.values())
        paths = {path for unit in done for path in unit.paths}
        # Kept before the commit, so that an error of any kind leaves them in place.
        self._kept |= paths
        try:
            committed = self.committer.commit(
                [*self._removals(done), *self._additions(done)],
                commit_user=self.commit_user,
                kind=CommitKind.OVERWRITE,
                allow_empty=True,
            )
        except LakeError as error:
            if error.committed_nothing:
                self._kept -= paths
            raise
        assert committed.snapshot_id > 0, "also an empty replacement makes a snapshot"
        files = [file for unit in done for part in unit.files.values() for file in part]
        self._done.clear()
        self._result = replace(
            self._result,
            snapshot_id=committed.snapshot_id,
            files_in=self._result.files_in + sum(len(unit.unit.entries) for unit in done),
            files_out=self._result.files_out + len(files),
            rows=self._result.rows + sum(file.row_count for file in files),
        )

    def _removals(self, done: Sequence[RescaledUnit]) -> Iterator[CommitMessage]:
        """Yield the deletions of the old files, by old bucket."""
        members: defaultdict[BucketId, list[ManifestEntry]] = defaultdict(list)
        for unit in done:
            for entry in unit.unit.entries:
                members[entry.partition, entry.bucket].append(entry)
        has_vectors = self.schema.table_options.deletion_vectors_enabled
        for (partition, bucket), entries in members.items():
            # The vectors that the plan has read: exactly the rows marked by them were left out.
            index = self._seen.vectors.get((partition, bucket))
            yield CommitMessage(
                partition=partition,
                bucket=bucket,
                total_buckets=entries[0].total_buckets,
                schema_id=self.routing.id,
                new_files=(),
                compact_before=tuple(entry.file for entry in entries),
                vectors=(
                    VectorsChange(base=None if index is None else index.file_name, new=None)
                    if has_vectors
                    else None
                ),
            )

    def _additions(self, done: Sequence[RescaledUnit]) -> Iterator[CommitMessage]:
        """Yield the additions of the new files, by new bucket."""
        for unit in done:
            for bucket, files in unit.files.items():
                yield CommitMessage(
                    partition=unit.unit.partition,
                    bucket=bucket,
                    total_buckets=self.buckets,
                    schema_id=self.routing.id,
                    new_files=(),
                    compact_after=files,
                )
