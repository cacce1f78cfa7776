"""Application of a list of changes to a schema, all or nothing.

Changes are applied in order, each to the result of the ones before. Changes that cannot be made are
collected, so that one error names all of them. If there are none, `validate_schema` checks the
result.

Source: merge-semantics 8.3, 8.4.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest, Problem
from braid.lake.evolution.change_arguments import check_parts
from braid.lake.evolution.column_changes import (
    add_column,
    drop_column,
    move_column,
    rename_column,
    update_comment,
    update_default,
    update_nullability,
    update_type,
)
from braid.lake.evolution.option_changes import remove_option, set_option
from braid.lake.evolution.refused_change import RefusedChangeError, refuse
from braid.lake.evolution.schema_changes import (
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
from braid.lake.format.schema import SCHEMA_VERSION, TableSchema


def change_schema(
    schema: TableSchema, changes: Sequence[SchemaChange], *, has_snapshots: bool, now_ms: int
) -> TableSchema:
    """Return the schema after all changes, with the next id; the same schema when nothing changes.

    Args:
        schema: The newest schema of the table.
        changes: The changes, in order.
        has_snapshots: Whether the table ever held data; some changes are for empty tables only.
        now_ms: The new schema's time, milliseconds since 1970 UTC.

    Raises:
        InvalidRequest: Some changes cannot be made, and `problems` has a `ChangeProblem` for each of
            them; or the result breaks rules for tables, and `problems` has these problems.
        UnsupportedFeature: A user's aggregate function cannot be loaded from its package.
    """
    changed, problems = schema, list[Problem]()
    for index, change in enumerate(changes):
        # A refused change is left out, and the next ones are checked against the result without it.
        try:
            check_parts(change)
            changed = _apply(changed, change, has_snapshots=has_snapshots)
        except RefusedChangeError as refused:
            problems.append(refused.problem_at(index))
    if problems:
        text = "the schema cannot be changed as requested"
        raise InvalidRequest(text, problems=problems)
    if changed == schema:
        return schema
    assert changed.id == schema.id, "no change numbers the schema"
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
        refuse(
            "",
            ", ".join(schema.primary_keys),
            "the table holds data, so its primary key cannot be dropped",
        )
    return replace(schema, primary_keys=())
