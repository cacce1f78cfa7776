"""Another number of buckets for a table that is read and written all the while.

1. Everything is rewritten for the new count, beside any writers, and what they commit meanwhile is
   rewritten in further rounds, until a round has little to do.
2. The schema with the new count is created. From here on commits of rows that were routed with the
   old count are turned back, so the rest is soon done. (Other engines of the format refuse it when
   they open a bucket for writing; one that has it open already may not look again.)
3. That rest is rewritten, and one OVERWRITE replaces exactly the files that were read. When somebody
   changed them meanwhile, only what is new is rewritten, and the commit tried again.
4. A commit that was planned before step 2 can land between looking and step 3 in a partition that
   had no files. The commit of step 3 ends that, because whoever loses the race to it looks at the
   schema again; so another look tells whether anything is left.

Readers see the rows of before at every moment, in old buckets or in new ones. Broken off before 2
nothing has changed; after it writers of partitions with old files are turned back until the rescale
is run again, which takes little, or back: a rescale that fails gives the table its old count back
itself where it can. Files of broken-off work are found by orphan cleaning.

Source: table-format 18.3; design 7.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from lake.commit.committer import TableCommitter
from lake.errors import CommitConflict, CommitUnknown, CorruptData, LakeError, StorageUnavailable
from lake.files.clock import Clock
from lake.files.storage.file_io import FileIO
from lake.format.bucket import BucketId
from lake.format.commit_message import CommitMessage, VectorsChange
from lake.format.manifest import FileIdentity, ManifestEntry
from lake.format.schema import TableSchema
from lake.format.snapshot import CommitKind, Snapshot
from lake.maintenance.rescale.rescale_plan import RescaleUnit, plan_rescale
from lake.maintenance.rescale.rescale_result import RescaleResult
from lake.maintenance.rescale.rescale_writer import RescaledUnit, RescaleWriter
from lake.snapshots.deletion_vectors import VectorStore
from lake.snapshots.live_table import LiveTable
from lake.snapshots.schema_store import SchemaStore

logger = logging.getLogger(__name__)

_ROUNDS_MAX: Final = 8
"""Beside writers, before they are turned back whatever is left."""

_LITTLE_BYTES: Final = 16 * 1024 * 1024
"""Rewritten in about a second, for which writers can wait."""

_COMMITS_MAX: Final = 20
"""Each but the first follows a compaction that was faster; writers are turned back meanwhile."""


@dataclass(kw_only=True)
class TableRescale:
    """One rescale of a table; `run` does it.

    Attributes:
        file_io: Storage.
        schema: The newest, under which all files were written.
        routing: The same with the new bucket count and the id that it will have.
        schemas: Of the table.
        writer: Of the table.
        vectors: Reads deletion vectors.
        committer: Of the table.
        newest: Reads the newest snapshot and what is live in it.
        commit_user: Named in the snapshots.
        clock: Says when a schema was made.
    """

    file_io: FileIO
    schema: TableSchema
    routing: TableSchema
    schemas: SchemaStore
    writer: RescaleWriter
    vectors: VectorStore
    committer: TableCommitter
    newest: Callable[[], tuple[Snapshot | None, LiveTable]]
    commit_user: str
    clock: Clock
    _done: dict[frozenset[FileIdentity], RescaledUnit] = field(default_factory=dict, init=False)
    _result: RescaleResult = field(init=False)
    _seen: LiveTable = field(init=False)
    _kept: set[str] = field(default_factory=set, init=False)

    def run(self) -> RescaleResult:
        """Rescale the table.

        Raises:
            CommitConflict: Somebody else has changed the schema, or goes on compacting; the table
                is as before, or was rescaled by them.
            CommitUnknown: The commit may have happened; rescale again.
            CorruptData: A file cannot be read, and it is not that somebody has replaced it.
            StorageUnavailable: The table is as before for readers; rescale again.
        """
        self._result = RescaleResult(buckets=self.buckets, snapshot_id=0, schema_id=self.routing.id)
        try:
            self._run()
        except BaseException:
            # Those of a commit stay, unless it is certain that it came to nothing.
            self._delete(path for path in self.writer.written if path not in self._kept)
            raise
        return self._result

    @property
    def buckets(self) -> int:
        """Return the new count."""
        return self.routing.table_options.bucket

    def _run(self) -> None:
        if self.routing.id == self.schema.id:
            # An earlier rescale got as far as the schema, or the table has the count already.
            snapshot, _, units = self._plan()
            newest_id = -1 if snapshot is None else snapshot.schema_id
            is_noticed = newest_id >= self.routing.id or self.routing.id == 0
            if units or not is_noticed:
                self._replace_all()
            return
        self._rewrite_beside_writers()
        try:
            self._create_schema()
            self._replace_all()
        except CommitUnknown:
            raise
        except LakeError:
            with suppress(LakeError, OSError):
                self._give_back()
            raise

    def _rewrite_beside_writers(self) -> None:
        for _ in range(_ROUNDS_MAX):
            if self._catch_up() <= _LITTLE_BYTES:
                return

    def _replace_all(self) -> None:
        """Replace all files of other counts, and make sure that no more come."""
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
            f"somebody goes on replacing files of {self.schema.table_options.bucket} buckets while "
            f"the table is rescaled to {self.buckets}\n"
            "hint: stop compactions of the table and rescale again"
        )
        raise CommitConflict(message)

    def _catch_up(self) -> int:
        """Rewrite what is not rewritten yet; return the bytes of the files that this took."""
        _, self._seen, planned = self._plan()
        units = {unit.inputs: unit for unit in planned}
        for inputs, done in list(self._done.items()):
            if inputs not in units or units[inputs].marks != done.unit.marks:
                self._delete(done.paths)
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
        """Rewrite a unit, unless somebody has replaced its files meanwhile."""
        begun = len(self.writer.written)
        try:
            self._done[unit.inputs] = self.writer.rewrite(unit)
        except CorruptData:
            # Files are immutable: only one that was replaced and removed may be absent.
            live = {entry.identity for entry in self.newest()[1].entries}
            if unit.inputs <= live:
                raise
            self._delete(self.writer.written[begun:])

    def _plan(self) -> tuple[Snapshot | None, LiveTable, tuple[RescaleUnit, ...]]:
        """Return the newest snapshot, what is live in it, and what is to be rewritten of that."""
        snapshot, live = self.newest()
        while True:
            try:
                vectors = {place: self.vectors.read(entry) for place, entry in live.vectors.items()}
            except CorruptData:
                before, (snapshot, live) = live, self.newest()
                if live.vectors == before.vectors:
                    raise
                # Somebody has replaced some, and expiry removed them: look at what is there now.
                continue
            return snapshot, live, plan_rescale(live.entries, vectors, buckets=self.buckets)

    def _create_schema(self) -> None:
        """Publish the new count.

        Raises:
            CommitConflict: Somebody else has changed the schema.
        """
        is_ours = self.schemas.latest_id() == self.schema.id and self.schemas.create(self.routing)
        if not is_ours:
            message = (
                f"the table's schema has changed since {self.schema.id}, which the rescale began "
                "with\nhint: rescale again"
            )
            raise CommitConflict(message)

    def _give_back(self) -> None:
        """Have the old count again, so that writers of old files can go on.

        Unless somebody has written with the new one already, or gave the table another.
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

        An empty one, too, where there are none: whoever planned a commit before the schema was
        created loses the race to it, and looks again.
        """
        done = list(self._done.values())
        paths = {path for unit in done for path in unit.paths}
        # Until it is certain that they are not live.
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
        """Yield what goes, by old bucket."""
        members: defaultdict[BucketId, list[ManifestEntry]] = defaultdict(list)
        for unit in done:
            for entry in unit.unit.entries:
                members[entry.partition, entry.bucket].append(entry)
        has_vectors = self.schema.table_options.deletion_vectors_enabled
        for (partition, bucket), entries in members.items():
            # As the plan saw them: the rows that they mark are those that were left out.
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
        """Yield what comes, by new bucket."""
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

    def _delete(self, paths: Iterator[str] | Sequence[str]) -> None:
        """Delete files; what cannot be deleted is left to orphan cleaning."""
        for path in paths:
            try:
                self.file_io.delete(path)
            except (OSError, StorageUnavailable):
                continue
