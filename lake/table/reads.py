"""Scans, changes and lookups, each fixed to what is there when it is made."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lake.errors import InvalidRequest, Problem
from lake.files.data_files import ReadCounters
from lake.format.schema import TableSchema
from lake.merge.fold import Machine
from lake.read.changes import ChangesMode
from lake.read.lookup.lookup_cache import LookupCache
from lake.read.predicate import Condition
from lake.read.reader import BATCH_ROWS
from lake.table.arguments import (
    check_names,
    check_scan,
    checked_mode,
    chosen_columns,
    refuse_argument,
)
from lake.table.changes import Changes
from lake.table.changes_range import find_range
from lake.table.key_lookup import KeyLookup
from lake.table.opened_table import OpenedTable
from lake.table.python_rows import Row
from lake.table.read_at import ReadAt, SnapshotRef
from lake.table.readable_state import ReadableState, find_state
from lake.table.scan import Scan
from lake.table.snapshot_lookup import SnapshotLookup
from lake.table.snapshot_source import SnapshotSource


@dataclass(frozen=True, slots=True)
class TableReading:
    """What reads the rows of a table.

    Attributes:
        table: Of which it reads.
    """

    table: OpenedTable

    def scan(
        self,
        at: ReadAt,
        *,
        columns: Sequence[str] | None,
        where: Sequence[Condition],
        batch_rows: int,
        machine: Machine,
        counters: ReadCounters | None,
    ) -> Scan:
        """Return a scan (see `Table.scan`)."""
        check_scan(where, batch_rows, machine)
        if columns is not None:
            check_names("columns", columns)
        names = [*(columns or ()), *(condition.column for condition in where)]
        return self._scan(
            self._state_with(at, names),
            columns=columns,
            where=where,
            batch_rows=batch_rows,
            machine=machine,
            counters=counters,
        )

    def _scan(
        self,
        state: ReadableState,
        *,
        columns: Sequence[str] | None,
        where: Sequence[Condition],
        batch_rows: int = BATCH_ROWS,
        machine: Machine = Machine.COLUMN,
        counters: ReadCounters | None = None,
    ) -> Scan:
        return Scan(
            source=self._files(state),
            columns=chosen_columns(columns, state.schema, what="a scan"),
            where=tuple(where),
            batch_rows=batch_rows,
            machine=machine,
            keeper=self.table.keeper,
            counters=counters if counters is not None else ReadCounters(),
        )

    def changes(
        self,
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
        newest = self.table.latest_snapshot()
        first, last = find_range(self.table, after, until, newest=newest)
        schema = self._with(self.table.schema_of(newest, is_newest=True), columns or ())
        store = self.table.store
        changes = Changes(
            file_io=store.file_io,
            paths=store.paths,
            schema=schema,
            manifests=store.manifests,
            after_snapshot_id=first,
            until_snapshot_id=last,
            mode=checked_mode(mode).for_producer(schema.table_options.changelog_producer),
            columns=chosen_columns(columns, schema, what="a scan"),
            batch_rows=batch_rows,
            older_schemas=self.table.older_schemas,
            keeper=self.table.keeper,
            counters=counters if counters is not None else ReadCounters(),
        )
        if first < last:
            changes.snapshot(first + 1)
        return changes

    def get(
        self, key: Mapping[str, object], at: ReadAt, *, columns: Sequence[str] | None
    ) -> Row | None:
        """Return the row of one key (see `Table.get`)."""
        if columns is not None:
            check_names("columns", columns)
        state = self._state_with(at, (*_names_of(key), *(columns or ())))
        return self.get_at(self._lookup(state), key, columns=columns)

    def get_at(
        self,
        lookup: SnapshotLookup,
        key: Mapping[str, object],
        *,
        columns: Sequence[str] | None,
    ) -> Row | None:
        """Return the row of one key (see `Table.get_at`)."""
        _check_key(key, lookup.schema)
        state = ReadableState(snapshot=lookup.snapshot, schema=lookup.schema)
        return KeyLookup(state.schema, key).find(
            lookup, lambda wanted, where: self._scan(state, columns=wanted, where=where), columns
        )

    def lookup(
        self,
        keys: pa.Table | pa.RecordBatch,
        at: ReadAt,
        *,
        columns: Sequence[str] | None,
    ) -> pa.Table:
        """Return the rows of many keys (see `Table.lookup`)."""
        if columns is not None:
            check_names("columns", columns)
        state = self._state_with(at, (*_names_of(keys), *(columns or ())))
        return self._lookup(state).rows(keys, columns=columns)

    def lookup_at(self, at: ReadAt) -> SnapshotLookup:
        """Return the lookup of a state (see `Table.lookup_at`)."""
        return self._lookup(find_state(self.table, at))

    def _lookup(self, state: ReadableState) -> SnapshotLookup:
        def make(cache: LookupCache) -> SnapshotLookup:
            return SnapshotLookup(self._files(state), cache, self.table.keeper)

        return self.table.lookups.at(state.snapshot, state.schema, make)

    def _state_with(self, at: ReadAt, names: Iterable[object]) -> ReadableState:
        """Return the state that is meant; of the newest one with a schema that has the names."""
        state = find_state(self.table, at)
        return replace(state, schema=self._with(state.schema, names)) if at.is_newest else state

    def _with(self, newest: TableSchema, names: Iterable[object]) -> TableSchema:
        """Return the newest schema seen; where a name is not in it, the newest there is.

        Somebody else may have made the column, and nobody written under that schema yet.
        """
        if all(name in newest.fields_by_name for name in names):
            return newest
        self.table.refresh()
        return self.table.store.schema

    def _files(self, state: ReadableState) -> SnapshotSource:
        """Return what there is to read of a state."""
        table, store = self.table, self.table.store
        snapshot, schema = state.snapshot, state.schema
        entries = () if snapshot is None else table.live_files(snapshot)
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
        )


def _names_of(keys: object) -> Iterable[object]:
    """Return the columns of a key, or of many in Arrow's form; none of what is neither."""
    if isinstance(keys, pa.Table | pa.RecordBatch):
        return tuple(keys.schema.names)
    return keys if isinstance(keys, Mapping) else ()


def _check_key(key: object, schema: TableSchema) -> None:
    if not isinstance(key, Mapping):
        refuse_argument("key", key, "a mapping of column to value")
    if set(key) != set(schema.primary_keys):
        problem = Problem(
            field="key",
            value=", ".join(sorted(str(name) for name in key)) or "nothing",
            message=f"a key names exactly the columns {', '.join(schema.primary_keys)}",
        )
        message = "the key does not fit the table"
        raise InvalidRequest(message, problems=[problem])
