"""Compaction, as the facade offers it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID

from lake.commit.committer import TableCommitter
from lake.files.clock import Clock
from lake.files.file_io import FileIO
from lake.files.paths import TablePaths
from lake.format.schema import TableSchema
from lake.lsm.compaction_pick import PickState
from lake.maintenance.bucket_compaction import BucketCompactor
from lake.maintenance.compaction_picks import CompactionMemory, Pick, Place, due_pick, full_pick
from lake.maintenance.compaction_result import CompactionResult
from lake.maintenance.table_compaction import LiveTable, TableCompaction
from lake.merge.fold import Machine
from lake.read.lookup.lookup_cache import LookupCache
from lake.snapshots.deletion_vectors import VectorStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacting:
    """What compacts a table.

    Attributes:
        file_io: Storage.
        paths: Of the table.
        schema: Under which all files were written.
        clock: Says when files are made, and what is due.
        new_uuid: Names files and commits.
        vectors: Reads and writes deletion vectors.
        lookups: Keeps what lookups of old rows need.
        committer: Of the table.
        newest: Reads the newest snapshot.
        machine: Which execution folds.
    """

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    clock: Clock
    new_uuid: Callable[[], UUID]
    vectors: VectorStore
    lookups: LookupCache
    committer: TableCommitter
    newest: Callable[[], LiveTable]
    machine: Machine = Machine.COLUMN

    def run(
        self,
        live: LiveTable,
        *,
        full: bool,
        buckets: Collection[Place] | None,
        memory: CompactionMemory | None,
        commit_user: str | None,
    ) -> CompactionResult:
        """Compact (see `Table.compact`)."""
        pick = self._pick(full=full, memory=memory or CompactionMemory())
        chosen = live if buckets is None else live.of(buckets)
        return self._compaction(pick, commit_user).run(chosen)

    def places(
        self, live: LiveTable, *, full: bool, memory: CompactionMemory
    ) -> dict[Place, PickState | None]:
        """Return the buckets with something to compact (see `Table.compaction_places`)."""
        trial = CompactionMemory(states=dict(memory.states))
        works = self._compaction(self._pick(full=full, memory=trial), None).plan(live)
        due = {(work.partition, work.bucket): None for work in works}
        there = {(entry.partition, entry.bucket) for entry in live.entries}
        found = {place: memory.states.get(place) for place in due}
        memory.states = {
            place: state
            for place, state in {**trial.states, **found}.items()
            if place in there and state is not None
        }
        return found

    def _pick(self, *, full: bool, memory: CompactionMemory) -> Pick:
        if full:
            return full_pick(self.schema)
        return due_pick(self.schema, memory, now_ms=self.clock.now_ms())

    def _compaction(self, pick: Pick, commit_user: str | None) -> TableCompaction:
        return TableCompaction(
            file_io=self.file_io,
            schema=self.schema,
            pick=pick,
            compactor=BucketCompactor(
                file_io=self.file_io,
                paths=self.paths,
                schema=self.schema,
                clock=self.clock,
                uuid=self.new_uuid(),
                machine=self.machine,
                vectors=self.vectors,
                lookups=self.lookups,
            ),
            vectors=self.vectors,
            committer=self.committer,
            newest=self.newest,
            commit_user=commit_user or str(self.new_uuid()),
        )
