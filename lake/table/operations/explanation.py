"""Explanation of one row of an opened table, from its history as far back as snapshots exist."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from braid.lake.errors import CorruptData, LimitExceeded
from braid.lake.format.snapshot import Snapshot
from braid.lake.read.lookup.bucket_rows import KeyRecords
from braid.lake.snapshots.lineage import follows
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.lake.table.lookup.snapshot_history import (
    SNAPSHOTS_MAX,
    LookupHistory,
    snapshot_history,
)
from braid.lake.table.lookup.snapshot_lookup import SnapshotLookup
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.read.key_explanation import (
    KeyExplanation,
    KeyVersions,
    explain_versions,
    source_of,
)

VERSIONS_MAX: Final = 500
"""Most versions of a row that are explained: each has a reason for every column."""

_SNAPSHOT_BYTES: Final = 4_000
"""Approximate bytes of a snapshot with the positions of some streams in memory."""


def explain(
    table: OpenedTable, lookup: SnapshotLookup, key: Mapping[str, object]
) -> KeyExplanation:
    """Return why a row has its values (see `Table.explain`)."""
    history = _history(table, lookup)
    found: KeyExplanation | None = None
    if history is not None and history.lookup is not None:
        try:
            records = history.lookup.records_of(key)
        except CorruptData:
            # Its files may have been deleted since the history was read; then a newer history lacks them.
            if _history(table, lookup) is history:
                raise
            return explain(table, lookup, key)
        if records is not None and len(records.files) <= VERSIONS_MAX:
            found = _live(lookup, explain_versions(_versions(lookup, records, history)))
            # Where a compaction has dropped deletes or rounded sums, only what is stored now explains the row.
            if repr(found.row) != repr(lookup.get(key)):
                found = None
    if found is not None:
        return found
    records = lookup.records_of(key)
    if records is not None and len(records.files) > VERSIONS_MAX:
        message = (
            f"the row has {len(records.files)} versions, and at most {VERSIONS_MAX} are explained\n"
            "hint: compact the table, which merges them"
        )
        raise LimitExceeded(message)
    return _live(lookup, explain_versions(_versions(lookup, records, history)))


def _live(lookup: SnapshotLookup, found: KeyExplanation) -> KeyExplanation:
    """Return an explanation without its row if this is expired now."""
    if found.row is None or lookup.is_live(found.row):
        return found
    return replace(found, row=None)


def _versions(
    lookup: SnapshotLookup, found: KeyRecords | None, history: LookupHistory | None
) -> KeyVersions:
    if found is None:
        return KeyVersions.of_values(lookup.schema, ())
    origins = {} if history is None else history.origins
    return KeyVersions(
        schema=lookup.schema,
        records=found.records,
        sources=tuple(source_of(file, origins) for file in found.files),
    )


def _history(table: OpenedTable, lookup: SnapshotLookup) -> LookupHistory | None:
    """Return the history of a snapshot; None if only the snapshot itself can be read."""
    snapshot, snapshots = lookup.snapshot, table.store.snapshots
    if snapshot is None:
        return None
    oldest = snapshots.earliest_id()
    # A tag may outlive its snapshot; then another snapshot may have the id, after a rollback.
    if oldest is None or oldest > snapshot.id or not snapshot.is_same(snapshots.find(snapshot.id)):
        return None

    def make() -> LookupHistory:
        found = snapshot_history(
            snapshot,
            lookup.visible_files,
            _earlier(table, snapshot, oldest),
            table.store.manifests,
        )
        if {entry.identity for entry in found.entries} == {
            entry.identity for entry in lookup.visible_files
        }:
            return LookupHistory(lookup=None, origins=found.origins)
        source = lookup.source
        files = replace(
            source,
            entries=found.entries,
            merged=True,
            older_schemas=table.older_schemas(source.schema, found.entries),
            indexes=table.indexes_of(found.base),
        )
        cache, clock = table.lookups.cache, table.store.clock
        return LookupHistory(
            lookup=SnapshotLookup(files, cache, table.keeper, clock=clock),
            origins=found.origins,
        )

    try:
        return table.histories.get((snapshot, lookup.schema.id, lookup.source.merged, oldest), make)
    except ManifestGone:
        # Snapshots expire from the oldest on: the history begins later now.
        if snapshots.earliest_id() == oldest:
            raise
        return _history(table, lookup)


def _earlier(table: OpenedTable, snapshot: Snapshot, oldest: int) -> Iterator[Snapshot]:
    """Yield the snapshots before a snapshot, newest first."""
    cache, paths = table.store.manifests.cache, table.store.paths
    for _ in range(SNAPSHOTS_MAX):
        if snapshot.id <= oldest:
            return
        # By the name of the snapshot's own list, which is unique: after a rollback another snapshot has its id.
        name = f"{paths.manifest(snapshot.delta_manifest_list)}@previous"
        previous = cache.get(name)
        if not isinstance(previous, Snapshot):
            previous = table.store.snapshots.find(snapshot.id - 1)
            if previous is None or follows(snapshot, previous) is False:
                return
            cache.put(name, previous, _SNAPSHOT_BYTES)
        yield previous
        snapshot = previous
