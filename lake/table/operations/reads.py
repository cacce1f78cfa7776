"""Reads of an opened table: scans, changes and lookups, whose state or range is fixed at the call, and schemas."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import pyarrow as pa

from braid.lake.files.data_files import ReadCounters
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.merge.fold import Machine
from braid.lake.merge.row_expiry import row_expiry
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.read.lookup.python_rows import Row
from braid.lake.read.predicate import Condition
from braid.lake.read.snapshot_changes import ChangesMode
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.lake.table.arguments import check_names, check_scan, checked_mode, chosen_columns
from braid.lake.table.lookup.key_buckets import own_buckets
from braid.lake.table.lookup.lookup_keys import KeyArrays, LookupKeys
from braid.lake.table.lookup.snapshot_lookup import SnapshotLookup
from braid.lake.table.opened_table import OpenedTable
from braid.lake.table.read.changes import Changes
from braid.lake.table.read.changes_range import find_range
from braid.lake.table.read.scan import Scan
from braid.lake.table.read.snapshot_source import SnapshotSource
from braid.lake.table.read_at import ReadAt, SnapshotRef
from braid.lake.table.readable_state import ReadableState, find_state

_BUCKETS_ALONE: Final = 16
"""Buckets that are planned alone at most; for more, all files of the table are."""


def scan(
    table: OpenedTable,
    at: SnapshotRef | None,
    *,
    columns: Sequence[str] | None,
    where: Sequence[Condition],
    batch_rows: int,
    machine: Machine,
    counters: ReadCounters | None,
    merged: bool = False,
    schema_id: int | None = None,
) -> Scan:
    """Return a scan (see `Table.scan`)."""
    state_ref = ReadAt.of(at)
    check_scan(where, batch_rows, machine)
    if columns is not None:
        check_names("columns", columns)
    names = [*(columns or ()), *(condition.column for condition in where)]
    state = _under(table, _state_with(table, state_ref, names), schema_id)
    expiry = row_expiry(state.schema)
    return Scan(
        source=_source(table, state, merged=merged),
        columns=chosen_columns(columns, state.schema, what="a scan"),
        where=tuple(where),
        batch_rows=batch_rows,
        machine=machine,
        keeper=table.keeper,
        counters=counters if counters is not None else ReadCounters(),
        live=None if expiry is None else expiry.at(table.store.clock.now_ms()),
    )


def changes(
    table: OpenedTable,
    after: SnapshotRef,
    until: SnapshotRef | None,
    *,
    mode: ChangesMode | str,
    columns: Sequence[str] | None,
    batch_rows: int,
    counters: ReadCounters | None,
) -> Changes:
    """Return the changes of a range (see `Table.changes`)."""
    check_scan((), batch_rows, Machine.COLUMN)
    if columns is not None:
        check_names("columns", columns)
    newest = table.latest_snapshot()
    first, last = find_range(table, after, until, newest=newest)
    schema = _with_names(table, table.schema_of(newest, is_newest=True), columns or ())
    store = table.store
    found = Changes(
        file_io=store.file_io,
        paths=store.paths,
        schema=schema,
        manifests=store.manifests,
        after_snapshot_id=first,
        until_snapshot_id=last,
        mode=checked_mode(mode).for_producer(schema.table_options.changelog_producer),
        columns=chosen_columns(columns, schema, what="a scan"),
        batch_rows=batch_rows,
        older_schemas=table.older_schemas,
        keeper=table.keeper,
        counters=counters if counters is not None else ReadCounters(),
    )
    if first < last:
        # A range whose beginning has expired is refused here, not at its first batch.
        found.snapshot(first + 1)
    return found


def get(
    table: OpenedTable,
    key: Mapping[str, object],
    at: SnapshotRef | None,
    *,
    columns: Sequence[str] | None,
) -> Row | None:
    """Return the row of one key (see `Table.get`)."""
    if columns is not None:
        check_names("columns", columns)
    names = (*_names_of(key), *(columns or ()))
    state = _state_with(table, ReadAt.of(at), names)
    found = _lookup_of(table, state, lambda: LookupKeys(state.schema).from_values([key]))
    return found.get(key, columns=columns)


def lookup(
    table: OpenedTable,
    keys: pa.Table | pa.RecordBatch,
    at: SnapshotRef | None,
    *,
    columns: Sequence[str] | None,
) -> pa.Table:
    """Return the rows of many keys (see `Table.lookup`)."""
    if columns is not None:
        check_names("columns", columns)
    names = (*_names_of(keys), *(columns or ()))
    state = _state_with(table, ReadAt.of(at), names)
    found = _lookup_of(table, state, lambda: LookupKeys(state.schema).from_arrow(keys))
    return found.rows(keys, columns=columns)


def lookup_at(
    table: OpenedTable,
    at: SnapshotRef | None,
    *,
    merged: bool = False,
    schema_id: int | None = None,
) -> SnapshotLookup:
    """Return the lookup of a state (see `Table.lookup_at`)."""
    state = _under(table, find_state(table, ReadAt.of(at)), schema_id)
    return _lookup(table, state, merged=merged)


def find_schema(table: OpenedTable, schema_id: int) -> TableSchema | None:
    """Return a schema (see `Table.find_schema`)."""
    schemas = table.store.schemas
    newest = schemas.latest_id()
    return schemas.get(schema_id) if newest is not None and schema_id <= newest else None


def all_schemas(table: OpenedTable) -> list[TableSchema]:
    """Return all schemas (see `Table.schemas`)."""
    schemas = table.store.schemas
    return [schemas.get(schema_id) for schema_id in schemas.ids()]


def _lookup_of(
    table: OpenedTable, state: ReadableState, keys: Callable[[], KeyArrays]
) -> SnapshotLookup:
    """Return a lookup of a state that has the files of some keys.

    Of a large table whose files are not known yet only the buckets of the keys are planned.
    """
    live, snapshot, schema = table.store.live, state.snapshot, state.schema
    if snapshot is None or table.lookups.has(snapshot, schema):
        return _lookup(table, state)
    try:
        if not live.is_large(snapshot) or live.cached_state(snapshot) is not None:
            return _lookup(table, state)
        wanted = own_buckets(keys(), schema)
        if wanted is None or len(wanted) > _BUCKETS_ALONE:
            return _lookup(table, state)
        entries = live.of_buckets(snapshot, wanted)
    except ManifestGone:
        # Reported with what is known of the snapshot.
        return _lookup(table, state)
    # Files that were routed for another count: the keys are in other buckets.
    if any(entry.total_buckets != schema.table_options.bucket for entry in entries):
        return _lookup(table, state)
    # Where a bucket has no files, the other buckets of its partition may be of another count.
    found = {(entry.partition, entry.bucket) for entry in entries}
    if found != set(wanted) and table.had_other_buckets(schema):
        return _lookup(table, state)

    def make(cache: LookupCache) -> SnapshotLookup:
        source = _source(table, state, entries=entries)
        return SnapshotLookup(source, cache, table.keeper, clock=table.store.clock)

    return table.lookups.at(snapshot, schema, make, buckets=frozenset(wanted))


def _lookup(table: OpenedTable, state: ReadableState, *, merged: bool = False) -> SnapshotLookup:
    def make(cache: LookupCache) -> SnapshotLookup:
        source = _source(table, state, merged=merged)
        return SnapshotLookup(source, cache, table.keeper, clock=table.store.clock)

    # A table that hides nothing has one lookup for both.
    is_other = merged and state.schema.table_options.hides_level_0
    return table.lookups.at(state.snapshot, state.schema, make, merged=is_other)


def _under(table: OpenedTable, state: ReadableState, schema_id: int | None) -> ReadableState:
    """Return a state with the schema of an id; None: as it is."""
    if schema_id is None or schema_id == state.schema.id:
        return state
    return replace(state, schema=table.store.schemas.get(schema_id))


def _state_with(table: OpenedTable, at: ReadAt, names: Iterable[object]) -> ReadableState:
    """Return a state; the newest state with a schema that has the names, if there is one."""
    state = find_state(table, at)
    if not at.is_newest:
        return state
    return replace(state, schema=_with_names(table, state.schema, names))


def _with_names(table: OpenedTable, newest: TableSchema, names: Iterable[object]) -> TableSchema:
    """Return the newest schema seen, or the newest of storage if the former lacks a name.

    Another process may have added the column after the newest snapshot, whose schema id is what a read
    normally learns new schemas from.
    """
    if all(name in newest.fields_by_name for name in names):
        return newest
    table.refresh()
    return table.store.schema


def _source(
    table: OpenedTable,
    state: ReadableState,
    *,
    merged: bool = False,
    entries: Sequence[ManifestEntry] | None = None,
) -> SnapshotSource:
    """Return the files of a state, or some of them, and how they are to be read."""
    store = table.store
    snapshot, schema = state.snapshot, state.schema
    if entries is None:
        entries = () if snapshot is None else table.live_entries(snapshot)
    return SnapshotSource(
        file_io=store.file_io,
        paths=store.paths,
        schema=schema,
        snapshot=snapshot,
        entries=entries,
        older_schemas=table.older_schemas(schema, entries),
        indexes=() if snapshot is None else table.indexes_of(snapshot),
        vectors=store.vectors,
        file_indexes=store.file_indexes,
        merged=merged,
        whole=None if snapshot is None else partial(table.whole_in, snapshot),
    )


def _names_of(keys: object) -> Iterable[object]:
    """Return the columns of a key, or of many keys in Arrow's form; none for anything else."""
    if isinstance(keys, pa.Table | pa.RecordBatch):
        return tuple(keys.schema.names)
    return keys if isinstance(keys, Mapping) else ()
