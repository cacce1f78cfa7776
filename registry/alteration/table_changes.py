"""Planning of requested changes of a registered table: declaration, streams and engine changes.

Pure. Each change is applied to the result of those before it:

* A new column of a sequence group is read by the stream that owns the group, because a stream writes
  whole groups. It is read from the field with the column's name unless the request names another field.
* If a kept column is added, renamed or dropped, so is its order column.
* A renamed column is renamed wherever the declaration and the streams name it. A column that `row_ttl`
  or `rowkind.field` names cannot be renamed. Streams still read the column from the same field, because
  producers do not know the table.
* A column that a feature view has or a test expects cannot be dropped. If it is renamed, the view still answers it
  under the same name.
* A nested field cannot be dropped or renamed while a stream reads its column, because the stream reads
  an object by the names of its fields.
* Only options that no field of the declaration sets can be set or removed.

The result of all changes is checked afterwards (`braid.registry.alteration.alteration`).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import assert_never

from braid.lake import (
    AddColumn,
    DataType,
    DropColumn,
    InvalidRequest,
    RemoveOption,
    RenameColumn,
    SetOption,
    TableSchema,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
    parse_type,
)
from braid.registry.alteration.alteration import Alteration, AlterationPlan
from braid.registry.alteration.altered_table import AlteredTable, RefusedChange, refuse
from braid.registry.alteration.column_positions import (
    declared_position,
    engine_position,
    insert_column,
)
from braid.registry.alteration.order_columns import added_order_column
from braid.registry.alteration.renamed_declaration import renamed_declaration
from braid.registry.errors import DefinitionRefused
from braid.registry.layout.declared_types import type_fault
from braid.registry.layout.expiry_options import EXPIRE_TIME, TIME_FIELD, expiry_options
from braid.registry.layout.physical_table import (
    order_column,
    physical_group,
    physical_table,
)
from braid.registry.rules.tables.engine_check import FIELD_OF_OPTION
from braid.registry.rules.tables.table_test_rules import tests_with_column
from braid.schemas import (
    AddColumnChange,
    AddSequenceGroupChange,
    ColumnSpec,
    DropColumnChange,
    FieldProblem,
    RemoveOptionChange,
    RenameColumnChange,
    SequenceGroupSpec,
    SetOptionChange,
    StreamColumn,
    TableChange,
    TableDocument,
    TableSpec,
    UpdateColumnAggregateChange,
    UpdateColumnCommentChange,
    UpdateColumnDefaultChange,
    UpdateColumnNullabilityChange,
    UpdateColumnPositionChange,
    UpdateColumnTypeChange,
    UpdateCommentChange,
    UpdateRowTtlChange,
)
from braid.schemas.field_problems import problem_at, quoted_list

_NAMING_OPTIONS = ("rowkind.field",)
_OF_COLUMNS = ("default", "aggregate", "sequence_group", "stream", "source", "keep", "unordered")
_OPTION_HINTS: Mapping[str, str] = {
    "buckets": "use `braid table rescale`, which moves the rows",
    "default_aggregate": "use `update_column_aggregate` for each column",
    "row_ttl": "use `update_row_ttl`",
}


def plan_changes(changes: Sequence[TableChange]) -> AlterationPlan:
    """Return the plan that applies the changes to the newest document and schema.

    The plan raises `DefinitionRefused` for changes that name something that does not exist, or that cannot be made
    whatever the others are; `problems` has all of these.
    """
    return partial(_plan, tuple(changes))


def _plan(
    changes: tuple[TableChange, ...], document: TableDocument, schema: TableSchema
) -> Alteration:
    altered = AlteredTable.of(document)
    problems: list[FieldProblem] = []
    for index, change in enumerate(changes):
        try:
            altered = _apply(altered, change, index, schema)
        except RefusedChange as refused:
            problems.append(problem_at("changes", index, *refused.path, **refused.problem))
    if problems:
        message = f"the schema of {document.identifier} cannot be changed as requested"
        raise DefinitionRefused(message, problems=problems)
    return altered.alteration(changes)


def _apply(
    altered: AlteredTable, change: TableChange, index: int, schema: TableSchema
) -> AlteredTable:
    match change:
        case AddColumnChange():
            return _add_column(altered, change, index, schema)
        case DropColumnChange():
            return _drop_column(altered, change, index)
        case RenameColumnChange():
            return _rename_column(altered, change, index)
        case UpdateColumnTypeChange():
            return _update_type(altered, change, index)
        case UpdateColumnNullabilityChange():
            return _update_nullability(altered, change, index)
        case UpdateColumnCommentChange():
            return _update_comment(altered, change, index)
        case UpdateColumnDefaultChange():
            return _update_default(altered, change, index)
        case UpdateColumnPositionChange():
            return _update_position(altered, change, index)
        case UpdateColumnAggregateChange():
            altered.column(change.column)
            return altered.with_column(change.column, index, aggregate=change.aggregate)
        case AddSequenceGroupChange():
            return _add_group(altered, change, index)
        case UpdateCommentChange():
            spec = altered.spec.model_copy(update={"comment": change.comment})
            return altered.with_spec(spec).with_change(UpdateComment(comment=change.comment), index)
        case UpdateRowTtlChange():
            return _update_row_ttl(altered, change, index)
        case SetOptionChange():
            _check_option(change.key, "key")
            options = {**altered.spec.options, change.key: change.value}
            # In the order of the request: some options permit changes that come after them.
            altered = altered.with_change(SetOption(key=change.key, value=change.value), index)
            return altered.with_options(options).with_origin(index, option=change.key)
        case RemoveOptionChange():
            return _remove_option(altered, change, index, schema)
        case _:
            assert_never(change)


def _add_column(
    altered: AlteredTable, change: AddColumnChange, index: int, schema: TableSchema
) -> AlteredTable:
    data_type = _parsed(change.type)
    if len(change.path) > 1:
        return _add_field(altered, change, data_type, index)
    (name,) = change.path
    spec = altered.spec
    position = declared_position(spec, change.position)
    altered = altered.with_change(
        AddColumn(
            path=change.path, type=data_type, description=change.description, position=position
        ),
        index,
    ).with_origin(index, column=name)
    if change.default is not None:
        default = UpdateColumnDefault(path=change.path, default_value=change.default)
        altered = altered.with_change(default, index)
    column = ColumnSpec(
        name=name,
        type=change.type,
        aggregate=change.aggregate,
        description=change.description,
        default=change.default,
        unordered=change.unordered,
    )
    spec = spec.model_copy(update={"columns": insert_column(spec.columns, column, position)})
    altered = altered.with_spec(spec)
    if change.keep:
        altered = _with_order(altered, change, name, index, schema)
    return _owned(altered, change, name)


def _with_order(
    altered: AlteredTable, change: AddColumnChange, name: str, index: int, schema: TableSchema
) -> AlteredTable:
    """Return the table with a new column among the kept ones of its group."""
    if change.sequence_group is None:
        message = "only columns of a sequence group are kept: the order of the group decides which value is newer"
        refuse("keep", True, message, "name the `sequence_group`, or leave it out")
    group = altered.group(change.sequence_group)
    known = {*schema.field_names, *(c.path[0] for c in altered.engine if isinstance(c, AddColumn))}
    order = added_order_column(group, name, tracking=altered.spec.tracking, known=known)
    kept = group.model_copy(update={"keep": (*group.keep, name)})
    return altered.with_change(order, index).with_group(kept)


def _owned(altered: AlteredTable, change: AddColumnChange, name: str) -> AlteredTable:
    """Return the table with the new column in its group and in the stream that reads it."""
    owner = change.stream
    if change.sequence_group is not None:
        group = altered.group(change.sequence_group)
        widened = group.model_copy(update={"columns": (*group.columns, name)})
        altered = altered.with_group(widened)
        # Without an owner the column is null until a stream of the group is registered.
        owner = owner or altered.owner_of(group.name)
    if owner is None:
        if change.source is not None:
            refuse(
                "source",
                change.source,
                "no stream reads the column, so this has no effect",
                "name the stream in `stream`",
            )
        return altered
    if owner not in altered.streams:
        refuse(
            "stream", owner, "no such stream", f"streams: {quoted_list(sorted(altered.streams))}"
        )
    mapping = StreamColumn(column=name, path=change.source)
    columns = (*altered.streams[owner].spec.columns, mapping)
    return altered.with_mappings(owner, columns)


def _add_field(
    altered: AlteredTable, change: AddColumnChange, data_type: DataType, index: int
) -> AlteredTable:
    column = altered.column(change.path[0])
    for part in _OF_COLUMNS:
        if getattr(change, part) not in (None, False):
            message = "only a whole column can have this setting, not a field inside of a column"
            refuse(part, None, message, "leave it out")
    position = None if change.position is None else engine_position(change.position)
    added = AddColumn(
        path=change.path, type=data_type, description=change.description, position=position
    )
    return altered.with_change(added, index).with_origin(index, column=column.name)


def _drop_column(altered: AlteredTable, change: DropColumnChange, index: int) -> AlteredTable:
    name = change.path[0]
    altered.column(name)
    altered = altered.with_change(DropColumn(path=change.path), index).with_origin(
        index, column=name
    )
    if len(change.path) > 1:
        _check_unread(altered, change.path, "is dropped")
        return altered
    _check_unused(altered.spec, name)
    if any(name in group.keep for group in altered.spec.sequence_groups):
        altered = altered.with_change(DropColumn(path=(order_column(name),)), index)
    groups = tuple(_without(group, name) for group in altered.spec.sequence_groups)
    columns = tuple(column for column in altered.spec.columns if column.name != name)
    update = {"columns": columns, "sequence_groups": groups}
    return altered.with_spec(altered.spec.model_copy(update=update))


def _check_unused(spec: TableSpec, name: str) -> None:
    """Refuse to drop a column that a feature view or a lookup index has, or that a test expects."""
    hint = (
        "take it out there first: `PUT` the table with other `views`, `lookup_indexes` or `tests`"
    )
    views = [view.name for view in spec.views if name in (one.column for one in view.columns)]
    if views:
        refuse("column", name, f"feature views have the column: {quoted_list(views)}", hint)
    indexes = [index.name for index in spec.lookup_indexes if name in index.columns]
    if indexes:
        refuse("column", name, f"lookup indexes have the column: {quoted_list(indexes)}", hint)
    cases = tests_with_column(spec, name)
    if cases:
        refuse("column", name, f"tests expect values of the column: {quoted_list(cases)}", hint)


def _without(group: SequenceGroupSpec, name: str) -> SequenceGroupSpec:
    if name in (group.ordering or ()):
        message = f"the column orders the sequence group `{group.name}`"
        refuse("column", name, message, "keep it: without it the group's versions have no order")
    columns = tuple(column for column in group.columns if column != name)
    if not columns:
        message = f"the sequence group `{group.name}` has no other column"
        refuse("column", name, message, "add another column to the group first")
    keep = tuple(column for column in group.keep if column != name)
    return group.model_copy(update={"columns": columns, "keep": keep})


def _rename_column(altered: AlteredTable, change: RenameColumnChange, index: int) -> AlteredTable:
    old, new = change.path[0], change.to
    altered.column(old)
    _check_unnamed(altered.spec, change)
    altered = altered.with_change(RenameColumn(path=change.path, name=new), index)
    if len(change.path) > 1:
        _check_unread(altered, change.path, "is renamed")
        return altered.with_origin(index, column=old)
    if any(old in group.keep for group in altered.spec.sequence_groups):
        order = RenameColumn(path=(order_column(old),), name=order_column(new))
        altered = altered.with_change(order, index)
    # Origins are by the names of the result, in which the rules find the problems.
    return altered.with_origin(index, column=new).renamed(
        old, new, renamed_declaration(altered.spec, old, new)
    )


def _check_unnamed(spec: TableSpec, change: RenameColumnChange) -> None:
    """Refuse to rename a column that is named in an option which the format does not update."""
    if spec.row_ttl is not None and change.path == (spec.row_ttl.column,):
        message = "rows expire by the time in this column, and the format cannot rename it there"
        refuse("column", change.path[0], message, "keep the name")
    for key in _NAMING_OPTIONS:
        if change.path == (spec.options.get(key),):
            message = f"the option `{key}` names the column, and would still have the old name"
            refuse("column", change.path[0], message, "keep the name")


def _update_type(altered: AlteredTable, change: UpdateColumnTypeChange, index: int) -> AlteredTable:
    data_type = _parsed(change.type)
    column = altered.column(change.path[0])
    altered = altered.with_change(
        UpdateColumnType(path=change.path, type=data_type, keep_nullability=True), index
    ).with_origin(index, column=column.name)
    if len(change.path) > 1:
        return altered
    # As the engine's change: a new type does not change the nullability (`keep_nullability`).
    is_nullable = parse_type(column.type).nullable
    text = str(data_type.with_nullable(is_nullable))
    return altered.with_column(column.name, index, type=text)


def _update_nullability(
    altered: AlteredTable, change: UpdateColumnNullabilityChange, index: int
) -> AlteredTable:
    column = altered.column(change.path[0])
    altered = altered.with_change(
        UpdateColumnNullability(path=change.path, nullable=change.nullable), index
    ).with_origin(index, column=column.name)
    if len(change.path) > 1:
        return altered
    text = str(parse_type(column.type).with_nullable(change.nullable))
    return altered.with_column(column.name, index, type=text)


def _update_comment(
    altered: AlteredTable, change: UpdateColumnCommentChange, index: int
) -> AlteredTable:
    column = altered.column(change.path[0])
    altered = altered.with_change(
        UpdateColumnComment(path=change.path, description=change.description), index
    ).with_origin(index, column=column.name)
    if len(change.path) > 1:
        return altered
    return altered.with_column(column.name, index, description=change.description)


def _update_default(
    altered: AlteredTable, change: UpdateColumnDefaultChange, index: int
) -> AlteredTable:
    column = altered.column(change.path[0])
    if len(change.path) > 1:
        message = "a field inside of a column has no default of its own"
        refuse("column", ".".join(change.path), message, "set the default of the whole column")
    default = UpdateColumnDefault(path=change.path, default_value=change.default)
    return altered.with_change(default, index).with_column(
        column.name, index, default=change.default
    )


def _update_position(
    altered: AlteredTable, change: UpdateColumnPositionChange, index: int
) -> AlteredTable:
    column = altered.column(change.column)
    if change.position.neighbour == column.name:
        refuse("position", column.name, "a column cannot be moved beside itself", "name another")
    others = tuple(one for one in altered.spec.columns if one != column)
    if not others:
        return altered
    # A position is relative to the other columns: `last` is behind them, wherever the column is now.
    rest = altered.spec.model_copy(update={"columns": others})
    position = declared_position(rest, change.position)
    spec = altered.spec.model_copy(update={"columns": insert_column(others, column, position)})
    moved = UpdateColumnPosition(name=column.name, position=position)
    return altered.with_spec(spec).with_change(moved, index).with_origin(index, column=column.name)


def _add_group(altered: AlteredTable, change: AddSequenceGroupChange, index: int) -> AlteredTable:
    spec = altered.spec
    if spec.sequence_group(change.name) is not None:
        message = "a sequence group of this name exists already"
        refuse("name", change.name, message, "choose another name")
    # The engine adds the generated columns; the declaration has only the group.
    group = physical_group(change.group, tracking=spec.tracking)
    for name, sql in group.generated_columns.items():
        altered = altered.with_change(AddColumn(path=(name,), type=parse_type(sql)), index)
    groups = (*spec.sequence_groups, change.group)
    spec = spec.model_copy(update={"sequence_groups": groups})
    return altered.with_spec(spec).with_origin(index, group=change.name)


def _update_row_ttl(altered: AlteredTable, change: UpdateRowTtlChange, index: int) -> AlteredTable:
    spec = altered.spec.model_copy(update={"row_ttl": change.row_ttl})
    options = expiry_options(spec)
    for key in (EXPIRE_TIME, TIME_FIELD):
        option = SetOption(key=key, value=options[key]) if options else RemoveOption(key=key)
        altered = altered.with_change(option, index).with_origin(index, option=key)
    return altered.with_spec(spec)


def _check_option(key: str, part: str) -> None:
    if key in FIELD_OF_OPTION:
        field = FIELD_OF_OPTION[key]
        hint = _OPTION_HINTS.get(field, "create a table with another declaration")
        refuse(part, key, f"the field `{field}` of the declaration sets this option", hint)
    if key.startswith("fields."):
        hint = "use `update_column_aggregate`, `add_sequence_group`, or `add_column`"
        refuse(part, key, "the declaration of the columns sets this option", hint)


def _remove_option(
    altered: AlteredTable, change: RemoveOptionChange, index: int, schema: TableSchema
) -> AlteredTable:
    key, spec = change.key, altered.spec
    if key in spec.options:
        options = {other: value for other, value in spec.options.items() if other != key}
        altered = altered.with_change(RemoveOption(key=key), index)
        return altered.with_options(options).with_origin(index, option=key)
    _check_option(key, "key")
    if key in physical_table(spec).options:
        refuse("key", key, "this option is the same for every table", "leave it as it is")
    # Not declared: if the schema has it, another engine has set it.
    is_set = key in schema.options
    return altered.with_change(RemoveOption(key=key), index) if is_set else altered


def _check_unread(altered: AlteredTable, path: Sequence[str], change: str) -> None:
    """Refuse a change of a field inside of a column that a stream reads.

    Args:
        altered: The table so far.
        path: The field's path.
        change: What happens to the field, as a verb: "is dropped".
    """
    for name, entry in altered.streams.items():
        if path[0] in entry.spec.column_names:
            refuse(
                "column",
                ".".join(path),
                f"the stream `{name}` reads this field by its name, but the field {change}",
                "add a field with the other name instead, or a separate column",
            )


def _parsed(sql: str) -> DataType:
    try:
        return parse_type(sql)
    except InvalidRequest as error:
        message, hint = type_fault(error)
        refuse("type", sql, message, hint)
