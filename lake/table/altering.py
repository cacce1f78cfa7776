"""Schema changes, as the facade offers them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lake.errors import CommitConflict
from lake.evolution.change_schema import change_schema
from lake.evolution.schema_changes import SchemaChange
from lake.format.schema import TableSchema, check_supported
from lake.table.arguments import refuse_argument
from lake.table.branches import refuse_branch
from lake.table.opened_table import OpenedTable
from lake.write.writable import check_writable

_ATTEMPTS_MAX: Final = 100
"""Each one lost means that somebody else's change was made; nobody loses so often for long."""


@dataclass(frozen=True, slots=True)
class TableAltering:
    """What changes the schema of a table.

    Attributes:
        table: Whose schema it is.
    """

    table: OpenedTable

    def alter(self, changes: Sequence[SchemaChange]) -> TableSchema:
        """Change the schema (see `Table.alter`)."""
        for change in changes:
            if not isinstance(change, SchemaChange):
                refuse_argument("changes", change, "schema changes")
        refuse_branch(self.table.store.paths)
        for _ in range(_ATTEMPTS_MAX):
            # Before the schema: a snapshot that comes later is one of rows that the change concerns.
            has_snapshots = self.table.latest_snapshot() is not None
            self.table.refresh()
            store = self.table.store
            new = change_schema(
                store.schema,
                changes,
                has_snapshots=has_snapshots,
                now_ms=store.clock.now_ms(),
            )
            if new is store.schema:
                return new
            check_supported(new)
            check_writable(new)
            if store.schemas.create(new):
                self.table.refresh()
                return new
        message = f"others go on changing the schema of table {self.table.identifier}"
        raise CommitConflict(message)
