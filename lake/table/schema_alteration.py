"""Schema changes, as the facade offers them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lake.errors import CommitConflict, InvalidRequest, UnsupportedFeature
from lake.evolution.change_schema import change_schema
from lake.evolution.problem_attribution import attribute_problems
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
        for _ in range(_ATTEMPTS_MAX):
            try:
                new = self.plan(changes)
            except InvalidRequest as error:
                raise self._refusal(error, changes) from error
            if new is self.table.store.schema or self.publish(new):
                return new
        message = f"others go on changing the schema of table {self.table.identifier}"
        raise CommitConflict(message)

    def plan(self, changes: Sequence[SchemaChange]) -> TableSchema:
        """Return what the changes would make of the newest schema (see `Table.plan_alter`)."""
        for change in changes:
            if not isinstance(change, SchemaChange):
                refuse_argument("changes", change, "schema changes")
        refuse_branch(self.table.store.paths)
        # Before the schema: a snapshot that comes later is one of rows that the change concerns.
        has_snapshots = self.table.latest_snapshot() is not None
        self.table.refresh()
        return self._changed(changes, has_snapshots=has_snapshots)

    def _changed(self, changes: Sequence[SchemaChange], *, has_snapshots: bool) -> TableSchema:
        store = self.table.store
        new = change_schema(
            store.schema, changes, has_snapshots=has_snapshots, now_ms=store.clock.now_ms()
        )
        if new is not store.schema:
            check_supported(new)
            check_writable(new)
        return new

    def _refusal(self, error: InvalidRequest, changes: Sequence[SchemaChange]) -> InvalidRequest:
        """Return the error with the changes that made what is wrong with the result."""
        problems = attribute_problems(
            error.problems,
            len(changes),
            # The changes can be made, so no rule about snapshots has refused any.
            lambda count: self._changed(changes[:count], has_snapshots=False),
        )
        if problems == list(error.problems):
            return error
        message = "the schema cannot be changed as asked"
        kind = UnsupportedFeature if isinstance(error, UnsupportedFeature) else InvalidRequest
        return kind(message, problems=problems)

    def publish(self, schema: TableSchema) -> bool:
        """Make a planned schema the newest one (see `Table.publish_schema`)."""
        refuse_branch(self.table.store.paths)
        is_there = self.table.store.schemas.create(schema)
        if is_there:
            self.table.refresh()
        return is_there

    def find_schema(self, schema_id: int) -> TableSchema | None:
        """Return a schema (see `Table.find_schema`)."""
        schemas = self.table.store.schemas
        newest = schemas.latest_id()
        return schemas.get(schema_id) if newest is not None and schema_id <= newest else None

    def schemas(self) -> list[TableSchema]:
        """Return all schemas (see `Table.schemas`)."""
        schemas = self.table.store.schemas
        return [schemas.get(schema_id) for schema_id in schemas.ids()]
