"""The schema that comes of a list of changes, or everything that is wrong with the list.

Changes are applied one after another, each to what the ones before have made; the result is judged by
the rules for new tables. All or nothing: a list with one change that cannot be made makes none.

Source: merge-semantics 8.3, 8.4.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from lake.declaration.validation import validate_schema
from lake.errors import InvalidRequest, Problem
from lake.evolution.change_arguments import check_parts
from lake.evolution.column_changes import (
    add_column,
    drop_column,
    move_column,
    rename_column,
    update_comment,
    update_default,
    update_nullability,
    update_type,
)
from lake.evolution.option_changes import remove_option, set_option
from lake.evolution.refused_change import RefusedChangeError, refuse
from lake.evolution.schema_changes import (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from lake.format.schema import SCHEMA_VERSION, TableSchema


def change_schema(
    schema: TableSchema, changes: Sequence[SchemaChange], *, has_snapshots: bool, now_ms: int
) -> TableSchema:
    """Return the schema after all changes, with the next id; the same schema when nothing changes.

    Args:
        schema: The newest of the table.
        changes: In order.
        has_snapshots: Whether the table ever held data; some changes are for empty tables only.
        now_ms: The new schema's time, milliseconds since 1970 UTC.

    Raises:
        InvalidRequest: `problems` names each change that cannot be made (`changes[2]`), and what
            the rules for tables say about the result.
        UnsupportedFeature: As for new tables.
    """
    changed, problems = schema, list[Problem]()
    for index, change in enumerate(changes):
        try:
            check_parts(change)
            changed = _apply(changed, change, has_snapshots=has_snapshots)
        except RefusedChangeError as refused:
            problems.append(refused.problem(f"changes[{index}]"))
    if problems:
        text = "the schema cannot be changed as asked"
        raise InvalidRequest(text, problems=problems)
    if changed == schema:
        return schema
    new = replace(changed, id=schema.id + 1, time_millis=now_ms, version=SCHEMA_VERSION)
    validate_schema(new)
    return new


def _apply(schema: TableSchema, change: SchemaChange, *, has_snapshots: bool) -> TableSchema:
    match change:
        case SetOption():
            return set_option(schema, change, has_snapshots=has_snapshots)
        case RemoveOption():
            return remove_option(schema, change, has_snapshots=has_snapshots)
        case UpdateComment():
            return replace(schema, comment=change.comment)
        case AddColumn():
            return add_column(schema, change)
        case RenameColumn():
            return rename_column(schema, change)
        case DropColumn():
            return drop_column(schema, change)
        case UpdateColumnType():
            return update_type(schema, change)
        case UpdateColumnNullability():
            return update_nullability(schema, change)
        case UpdateColumnComment():
            return update_comment(schema, change)
        case UpdateColumnPosition():
            return move_column(schema, change)
        case UpdateColumnDefault():
            return update_default(schema, change)
        case DropPrimaryKey():
            return _drop_primary_key(schema, has_snapshots=has_snapshots)
        case _:
            assert_never(change)


def _drop_primary_key(schema: TableSchema, *, has_snapshots: bool) -> TableSchema:
    if has_snapshots:
        refuse("", ", ".join(schema.primary_keys), "the table holds data, keyed by it")
    return replace(schema, primary_keys=())
