"""Compaction, as the facade offers it."""

from collections.abc import Collection
from dataclasses import dataclass

from lake.commit.committer import TableCommitter
from lake.format.bucket import BucketId
from lake.format.schema import TableSchema
from lake.format.snapshot import Snapshot
from lake.lsm.compaction_pick import PickState
from lake.maintenance.compaction.bucket_compaction import BucketCompactor
from lake.maintenance.compaction.compactable import check_compactable
from lake.maintenance.compaction.compaction_picks import (
    CompactionMemory,
    Pick,
    due_pick,
    full_pick,
)
from lake.maintenance.compaction.compaction_result import CompactionResult
from lake.maintenance.compaction.table_compaction import TableCompaction
from lake.merge.fold import Machine
from lake.snapshots.live_table import LiveTable
from lake.table.opened_table import OpenedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCompacting:
    """What compacts a table, from what was live when it was made.

    Attributes:
        table: To be compacted.
        schema: Under which files are read and written.
        snapshot: The newest then; None in an empty table.
        live: What was live in it.
        committer: Of the table.
        machine: Which execution folds.
    """

    table: OpenedTable
    schema: TableSchema
    snapshot: Snapshot | None
    live: LiveTable
    committer: TableCommitter
    machine: Machine

    @staticmethod
    def of(table: OpenedTable, machine: Machine = Machine.COLUMN) -> "TableCompacting":
        """Return what compacts a table as it is now.

        Raises:
            UnsupportedFeature: A compaction of this version would leave the table wrong or
                incomplete; or it is a branch.
        """
        snapshot, live = table.newest_live()
        schema = table.schema_of(snapshot, is_newest=True)
        check_compactable(schema)
        return TableCompacting(
            table=table,
            schema=schema,
            snapshot=snapshot,
            live=live,
            committer=table.committer(),
            machine=machine,
        )

    def run(
        self,
        *,
        full: bool,
        buckets: Collection[BucketId] | None,
        memory: CompactionMemory | None,
        commit_user: str | None,
    ) -> CompactionResult:
        """Compact (see `Table.compact`)."""
        pick = self._pick(full=full, memory=memory or CompactionMemory())
        chosen = self.live if buckets is None else self.live.of(buckets)
        with self.table.keeper.hold(self.snapshot, what="a compaction"):
            return self._compaction(pick, commit_user).run(chosen)

    def places(self, *, full: bool, memory: CompactionMemory) -> dict[BucketId, PickState | None]:
        """Return the buckets with something to compact (see `Table.buckets_to_compact`)."""
        trial = CompactionMemory(states=dict(memory.states))
        works = self._compaction(self._pick(full=full, memory=trial), None).plan(self.live)
        due = {(work.partition, work.bucket): None for work in works}
        there = {(entry.partition, entry.bucket) for entry in self.live.entries}
        found = {place: memory.states.get(place) for place in due}
        memory.states = {
            place: state
            for place, state in {**trial.states, **found}.items()
            if place in there and state is not None
        }
        return found

    def _pick(self, *, full: bool, memory: CompactionMemory) -> Pick:
        if full:
            return full_pick(self.schema, now_ms=self.table.store.clock.now_ms())
        return due_pick(self.schema, memory, now_ms=self.table.store.clock.now_ms())

    def _compaction(self, pick: Pick, commit_user: str | None) -> TableCompaction:
        store = self.table.store
        return TableCompaction(
            file_io=store.file_io,
            schema=self.schema,
            pick=pick,
            compactor=BucketCompactor(
                file_io=store.file_io,
                paths=store.paths,
                schema=self.schema,
                older_schemas=self.table.older_schemas(self.schema, self.live.entries),
                clock=store.clock,
                uuid=store.new_uuid(),
                machine=self.machine,
                vectors=store.vectors,
                lookups=self.table.lookups.cache,
            ),
            vectors=store.vectors,
            committer=self.committer,
            newest=lambda: self.table.newest_live()[1],
            commit_user=commit_user or str(store.new_uuid()),
        )
