"""Schema changes of an opened table: planned on the newest schema, published by exclusive creation."""

from collections.abc import Sequence
from typing import Final

from braid.lake.errors import CommitConflict, InvalidRequest, UnsupportedFeature
from braid.lake.evolution.change_schema import change_schema
from braid.lake.evolution.problem_attribution import attribute_problems
from braid.lake.evolution.schema_changes import SchemaChange
from braid.lake.format.schema import TableSchema, check_supported
from braid.lake.table.arguments import refuse_argument
from braid.lake.table.branches import refuse_branch
from braid.lake.table.opened_table import OpenedTable
from braid.lake.write.writable import check_writable

_ATTEMPTS_MAX: Final = 100
"""An attempt fails only if another process has changed the schema meanwhile, so this many fail in a
row only if a process never stops changing it."""


def alter(table: OpenedTable, changes: Sequence[SchemaChange]) -> TableSchema:
    """Change the schema (see `Table.alter`)."""
    for _ in range(_ATTEMPTS_MAX):
        try:
            new = plan_alter(table, changes)
        except InvalidRequest as error:
            raise _refusal(table, error, changes) from error
        if new is table.store.schema or publish_schema(table, new):
            return new
    message = f"other processes keep changing the schema of table {table.identifier}"
    raise CommitConflict(message)


def plan_alter(table: OpenedTable, changes: Sequence[SchemaChange]) -> TableSchema:
    """Return what the changes would make of the newest schema (see `Table.plan_alter`)."""
    for change in changes:
        if not isinstance(change, SchemaChange):
            refuse_argument("changes", change, "schema changes")
    refuse_branch(table.store.paths)
    # A first snapshot that is committed after this read counts as later than the change: until the schema is
    # published, none can be excluded.
    has_snapshots = table.latest_snapshot() is not None
    table.refresh()
    return _changed(table, changes, has_snapshots=has_snapshots)


def publish_schema(table: OpenedTable, schema: TableSchema) -> bool:
    """Make a planned schema the newest one (see `Table.publish_schema`)."""
    refuse_branch(table.store.paths)
    is_published = table.store.schemas.create(schema)
    if is_published:
        table.refresh()
    return is_published


def _changed(
    table: OpenedTable, changes: Sequence[SchemaChange], *, has_snapshots: bool
) -> TableSchema:
    store = table.store
    new = change_schema(
        store.schema, changes, has_snapshots=has_snapshots, now_ms=store.clock.now_ms()
    )
    if new is not store.schema:
        check_supported(new)
        check_writable(new)
    return new


def _refusal(
    table: OpenedTable, error: InvalidRequest, changes: Sequence[SchemaChange]
) -> InvalidRequest:
    """Return the error with each problem of the result attributed to the change that causes it."""
    problems = attribute_problems(
        error.problems,
        len(changes),
        # Each change alone was accepted, so whether the table has snapshots makes no difference.
        lambda count: _changed(table, changes[:count], has_snapshots=False),
    )
    if problems == list(error.problems):
        return error
    message = "the schema cannot be changed as requested"
    kind = UnsupportedFeature if isinstance(error, UnsupportedFeature) else InvalidRequest
    return kind(message, problems=problems)
