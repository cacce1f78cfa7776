"""Scans, changes and lookups, each fixed to what is there when it is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lake.errors import InvalidRequest, Problem
from lake.files.data_files import ReadCounters
from lake.format.schema import TableSchema
from lake.format.snapshot import Snapshot
from lake.merge.fold import Machine
from lake.read.lookup.lookup_cache import LookupCache
from lake.read.predicate import Condition
from lake.table.arguments import check_names, check_scan, chosen_columns, refuse_argument
from lake.table.changes import Changes, check_range
from lake.table.key_lookup import KeyLookup
from lake.table.opened_table import OpenedTable
from lake.table.scan import Scan
from lake.table.snapshot_files import SnapshotFiles
from lake.table.snapshot_lookup import SnapshotLookup


@dataclass(frozen=True, slots=True)
class TableReading:
    """What reads the rows of a table.

    Attributes:
        table: Of which it reads.
    """

    table: OpenedTable

    def scan(
        self,
        *,
        columns: Sequence[str] | None,
        where: Sequence[Condition],
        snapshot_id: int | None,
        tag: str | None,
        batch_rows: int,
        machine: Machine,
        counters: ReadCounters | None,
    ) -> Scan:
        """Return a scan (see `Table.scan`)."""
        check_scan(where, batch_rows, machine)
        if columns is not None:
            check_names("columns", columns)
        snapshot = self.table.snapshot_to_read(snapshot_id, tag)
        schema = self.table.schema_of(snapshot, is_newest=snapshot_id is None and tag is None)
        return Scan(
            source=self._files(snapshot, schema),
            columns=chosen_columns(columns, schema, what="a scan"),
            where=tuple(where),
            batch_rows=batch_rows,
            machine=machine,
            keeper=self.table.keeper,
            counters=counters if counters is not None else ReadCounters(),
        )

    def changes(
        self,
        after_snapshot_id: int,
        until_snapshot_id: int | None,
        *,
        columns: Sequence[str] | None,
        batch_rows: int,
        counters: ReadCounters | None,
    ) -> Changes:
        """Return the changes of a range (see `Table.changes`)."""
        check_scan((), batch_rows, Machine.COLUMN)
        if columns is not None:
            check_names("columns", columns)
        newest = self.table.latest_snapshot()
        first, last = check_range(
            after_snapshot_id, until_snapshot_id, 0 if newest is None else newest.id
        )
        schema = self.table.schema_of(newest, is_newest=True)
        store = self.table.store
        changes = Changes(
            file_io=store.file_io,
            paths=store.paths,
            schema=schema,
            manifests=store.manifests,
            after_snapshot_id=first,
            until_snapshot_id=last,
            columns=chosen_columns(columns, schema, what="a scan"),
            batch_rows=batch_rows,
            older_schemas=self.table.older_schemas,
            keeper=self.table.keeper,
            counters=counters if counters is not None else ReadCounters(),
        )
        if first < last:
            changes.snapshot(first + 1)
        return changes

    def key_lookup(self, key: Mapping[str, object]) -> KeyLookup:
        """Return what finds the row of one key (see `Table.get`)."""
        if not isinstance(key, Mapping):
            refuse_argument("key", key, "a mapping of column to value")
        schema = self.table.store.schema
        if set(key) != set(schema.primary_keys):
            problem = Problem(
                field="key",
                value=", ".join(sorted(str(name) for name in key)) or "nothing",
                message=f"a key names exactly the columns {', '.join(schema.primary_keys)}",
            )
            message = "the key does not fit the table"
            raise InvalidRequest(message, problems=[problem])
        return KeyLookup(schema, key)

    def lookup_at(self, snapshot_id: int | None) -> SnapshotLookup:
        """Return the lookup of a snapshot (see `Table.lookup_at`)."""
        snapshot = self.table.snapshot_to_read(snapshot_id, tag=None)
        schema = self.table.schema_of(snapshot, is_newest=snapshot_id is None)

        def make(cache: LookupCache) -> SnapshotLookup:
            return SnapshotLookup(self._files(snapshot, schema), cache)

        return self.table.lookups.at(snapshot, schema, make)

    def _files(self, snapshot: Snapshot | None, schema: TableSchema) -> SnapshotFiles:
        """Return what there is to read of a snapshot under a schema."""
        table, store = self.table, self.table.store
        entries = () if snapshot is None else table.live_files(snapshot)
        return SnapshotFiles(
            file_io=store.file_io,
            paths=store.paths,
            schema=schema,
            snapshot=snapshot,
            entries=entries,
            older_schemas=table.older_schemas(schema, entries),
            indexes=() if snapshot is None else table.indexes_of(snapshot),
            vectors=store.vectors,
        )
