"""Compaction of an opened table, planned on the files live at its start; and the search for buckets to compact."""

from collections.abc import Collection

from braid.lake.format.bucket import BucketId
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.lsm.compaction_pick import PickState
from braid.lake.maintenance.compaction.bucket_compaction import BucketCompactor
from braid.lake.maintenance.compaction.compactable import check_compactable
from braid.lake.maintenance.compaction.compaction_picks import (
    CompactionMemory,
    ExpiredShares,
    Pick,
    due_pick,
    expired_in,
    full_pick,
)
from braid.lake.maintenance.compaction.compaction_result import CompactionResult
from braid.lake.maintenance.compaction.table_compaction import TableCompaction
from braid.lake.merge.fold import Machine
from braid.lake.merge.row_expiry import row_expiry
from braid.lake.snapshots.live_state import by_bucket
from braid.lake.snapshots.live_table import LiveTable
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.operations.iceberg import publish_or_log


def compact(
    table: OpenedTable,
    *,
    full: bool,
    buckets: Collection[BucketId] | None,
    memory: CompactionMemory,
    commit_user: str | None,
    machine: Machine,
) -> CompactionResult:
    """Compact a table (see `Table.compact`)."""
    snapshot, live, schema = _newest(table)
    expired = _expired(table, schema, live)
    pick = _pick(table, schema, expired, full=full, memory=memory)
    compaction = table_compaction(
        table,
        schema,
        live,
        pick=pick,
        expired=expired,
        commit_user=commit_user,
        machine=machine,
    )
    with table.keeper.hold(snapshot, what="a compaction"):
        result = compaction.run(live if buckets is None else live.of(buckets))
    if result.snapshot_id:
        publish_or_log(table.store)
    return result


def buckets_to_compact(
    table: OpenedTable, *, full: bool, memory: CompactionMemory
) -> dict[BucketId, PickState | None]:
    """Return the buckets with something to compact (see `Table.buckets_to_compact`)."""
    _, live, schema = _newest(table)
    # Picking changes the memory that it is given, so it gets a copy: the process that compacts a
    # returned bucket picks again, from the state before.
    trial = CompactionMemory(states=dict(memory.states))
    expired = _expired(table, schema, live)
    pick = _pick(table, schema, expired, full=full, memory=trial)
    compaction = table_compaction(
        table,
        schema,
        live,
        pick=pick,
        expired=expired,
        commit_user=None,
        machine=Machine.COLUMN,
    )
    due = {(work.partition, work.bucket): None for work in compaction.plan(live)}
    present = by_bucket(live.entries)
    found = {bucket: memory.states.get(bucket) for bucket in due}
    assert all(bucket in present for bucket in found), "only buckets with files are compacted"
    memory.states = {
        bucket: state
        for bucket, state in {**trial.states, **found}.items()
        if bucket in present and state is not None
    }
    return found


def table_compaction(
    table: OpenedTable,
    schema: TableSchema,
    live: LiveTable,
    *,
    pick: Pick,
    expired: ExpiredShares,
    commit_user: str | None,
    machine: Machine,
) -> TableCompaction:
    """Return the compaction of a table under a schema, whose plan leaves files of newer schemas out.

    Args:
        table: The table.
        schema: Files are read and written under it.
        live: What is live; its files may have older schemas.
        pick: Chooses the files to compact in each bucket.
        expired: Estimates the expired rows of files.
        commit_user: Named in the snapshots; a fresh random one when None.
        machine: Which execution folds.

    Raises:
        UnsupportedFeature: This is a branch.
    """
    store = table.store
    return TableCompaction(
        file_io=store.file_io,
        schema=schema,
        pick=pick,
        expired=expired,
        compactor=BucketCompactor(
            file_io=store.file_io,
            paths=store.paths,
            schema=schema,
            older_schemas=table.older_schemas(schema, live.entries),
            clock=store.clock,
            uuid=store.new_uuid(),
            machine=machine,
            vectors=store.vectors,
            lookups=table.lookups.cache,
        ),
        vectors=store.vectors,
        committer=table.committer(),
        newest=lambda: table.newest_live()[1],
        commit_user=commit_user or str(store.new_uuid()),
        whole=table.whole,
        needs_statistics=row_expiry(schema) is not None,
    )


def _newest(table: OpenedTable) -> tuple[Snapshot | None, LiveTable, TableSchema]:
    """Return the newest snapshot, what is live in it, and the schema to compact under.

    Raises:
        UnsupportedFeature: A compaction of this version would leave the table wrong or incomplete.
    """
    snapshot, live = table.newest_live()
    schema = table.schema_of(snapshot, is_newest=True)
    check_compactable(schema)
    return snapshot, live, schema


def _expired(table: OpenedTable, schema: TableSchema, live: LiveTable) -> ExpiredShares:
    older_schemas = table.older_schemas(schema, live.entries)
    return expired_in(schema, older_schemas, now_ms=table.store.clock.now_ms())


def _pick(
    table: OpenedTable,
    schema: TableSchema,
    expired: ExpiredShares,
    *,
    full: bool,
    memory: CompactionMemory,
) -> Pick:
    now_ms = table.store.clock.now_ms()
    if full:
        return full_pick(schema, expired, now_ms=now_ms)
    return due_pick(schema, memory, expired, now_ms=now_ms)
