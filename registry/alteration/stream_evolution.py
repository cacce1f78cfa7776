"""Evolution of a table and a stream by new fields in the stream's records.

Pure. A new field becomes a column after the declared columns. The stream reads this column, and if the stream has a
group of its own, the column joins it. New fields inside a column, and values that its type cannot hold, widen the
column's type. Nothing is changed for a field whose column exists by now, or for a type that is wide enough by now,
because another process has made the change. Also left out are fields for which the stream's `columns_max` leaves no
room, and new fields whose name differs from an earlier new field in case alone. `records.new_fields` finds the new
fields and their types.

If captured changes may leave out the value of a new column, its group keeps the column: a record without the value does not
change it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from braid.lake import (
    AddColumn,
    DataField,
    DataType,
    SchemaChange,
    TableSchema,
    column_differences,
    merge_fields,
    parse_type,
)
from braid.registry.alteration.alteration import Alteration
from braid.registry.alteration.column_positions import position_after_declared
from braid.registry.alteration.order_columns import added_order_column
from braid.registry.layout.left_out_values import is_large, leaves_out_values
from braid.schemas import (
    ColumnSpec,
    SequenceGroupSpec,
    StreamColumn,
    StreamEntry,
    StreamSpec,
    TableDocument,
    TableSpec,
)

LIMIT_REACHED: Final = "the stream has as many columns as `columns_max` allows"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewField:
    """A field of a record that becomes a column.

    Attributes:
        path: The field's path in the message; the last name is the column's.
        type: The column's type, nullable.
    """

    path: tuple[str, ...]
    type: DataType

    @property
    def name(self) -> str:
        """The column's name."""
        return self.path[-1]


def evolve_stream(
    document: TableDocument,
    schema: TableSchema,
    *,
    stream: str,
    new: Sequence[NewField],
    wider: Mapping[str, DataType],
) -> Alteration:
    """Return the alteration of the table; it has no changes when there is nothing to do.

    Args:
        document: The newest document.
        schema: The table's newest schema.
        stream: Name of the stream that has the records.
        new: Fields in their order of appearance. Fields beyond the stream's `columns_max` are left
            out, and so are those whose name differs from an earlier one in case alone.
        wider: By column name, the type of the column's values, or of the fields that are new
            in the column (`merge_fields`).

    Raises:
        SchemaMismatch: A column's type cannot be widened to that of the values.
    """
    entry = document.streams.get(stream)
    if entry is None:
        return Alteration(document=document)
    room = entry.spec.columns_max - field_count(entry.spec, schema)
    # Existing columns first: new columns must not use up `columns_max` before them.
    wanted = [
        *((DataField(name=name, type=type_), (name,)) for name, type_ in wider.items()),
        *((DataField(name=field.name, type=field.type), field.path) for field in new),
    ]
    known = schema.fields_by_name
    taken: set[str] = set()
    kept: list[DataField] = []
    paths: dict[str, tuple[str, ...]] = {}
    for field, path in wanted:
        is_column = field.name in known
        cost = (
            _added_field_count(known[field.name].type, field.type)
            if is_column
            else 1 + _nested_field_count(field.type)
        )
        # A new field whose column exists by now was added by another process.
        is_wanted = field.name in wider if is_column else field.name.lower() not in taken
        if cost <= room and is_wanted:
            kept.append(field)
            paths[field.name] = path
            taken |= set() if is_column else {field.name.lower()}
            room -= cost
    assert room >= 0 or not kept, "fields are kept only within `columns_max`"
    merged, _ = merge_fields(schema.fields, tuple(kept), highest_field_id=schema.highest_field_id)
    columns = [field for field in kept if field.name not in known]
    if merged == schema.fields:
        return Alteration(document=document)
    changes = _with_positions(column_differences(schema.fields, merged), document.table)
    group = document.table.sequence_group(entry.spec.sequence_group or "")
    if group is None:
        return Alteration(
            document=_with_columns(document, entry, columns, paths, merged), changes=changes
        )
    group, orders = _wider_group(
        group, entry.spec, columns, schema, tracking=document.table.tracking
    )
    return Alteration(
        document=_with_columns(document, entry, columns, paths, merged, group),
        changes=(*changes, *orders),
    )


def field_count(stream: StreamSpec, schema: TableSchema) -> int:
    """Return the number of columns that a stream reads, fields inside of ROWs included."""
    types = schema.fields_by_name
    found = [types[name].type for name in stream.column_names if name in types]
    return len(found) + sum(map(_nested_field_count, found))


def _nested_field_count(data_type: DataType) -> int:
    """Return the number of fields inside of a type, at any depth."""
    parts = (data_type.key, data_type.value, data_type.element)
    inner = [field.type for field in data_type.fields]
    held = [part for part in parts if part is not None]
    return len(inner) + sum(map(_nested_field_count, (*inner, *held)))


def _added_field_count(old: DataType, new: DataType) -> int:
    """Return the number of fields that a column gains by merging a type into its own."""
    pairs = [(old.element, new.element), (old.value, new.value)]
    known = {field.name: field.type for field in old.fields}
    count = 0
    for field in new.fields:
        if field.name in known:
            pairs.append((known[field.name], field.type))
        else:
            count += 1 + _nested_field_count(field.type)
    return count + sum(
        _added_field_count(a, b) for a, b in pairs if a is not None and b is not None
    )


def _with_positions(changes: Sequence[SchemaChange], table: TableSpec) -> tuple[SchemaChange, ...]:
    """Return the changes with new columns positioned behind the declared ones, in their order."""
    position = position_after_declared(table)
    positioned: list[SchemaChange] = []
    for change in changes:
        if isinstance(change, AddColumn) and len(change.path) == 1:
            positioned.append(replace(change, position=position))
            position = replace(position, neighbour=change.path[0])
        else:
            positioned.append(change)
    return tuple(positioned)


def _wider_group(
    group: SequenceGroupSpec,
    stream: StreamSpec,
    columns: Sequence[DataField],
    schema: TableSchema,
    *,
    tracking: bool,
) -> tuple[SequenceGroupSpec, tuple[SchemaChange, ...]]:
    """Return the group with new columns, and the changes that add the orders of the kept ones among them."""
    orders: list[AddColumn] = []
    names = [column.name for column in columns]
    known = {*schema.field_names, *names}
    for column in columns:
        if leaves_out_values(stream.format) and is_large(column.type):
            order = added_order_column(group, column.name, tracking=tracking, known=known)
            orders.append(order)
            known.add(order.path[0])
            group = group.model_copy(update={"keep": (*group.keep, column.name)})
    group = group.model_copy(update={"columns": (*group.columns, *names)})
    return group, tuple(orders)


def _with_columns(
    document: TableDocument,
    entry: StreamEntry,
    columns: Sequence[DataField],
    paths: Mapping[str, tuple[str, ...]],
    merged: tuple[DataField, ...],
    group: SequenceGroupSpec | None = None,
) -> TableDocument:
    names = tuple(column.name for column in columns)
    types = {field.name: field.type for field in merged}
    table, spec = document.table, entry.spec
    groups = tuple(
        group if group is not None and one.name == group.name else one
        for one in table.sequence_groups
    )
    declared = (
        *(_with_type(column, types) for column in table.columns),
        *(ColumnSpec(name=column.name, type=str(column.type)) for column in columns),
    )
    mapped = tuple(_mapping(name, paths[name]) for name in names)
    streams = dict(document.streams)
    streams[spec.name] = entry.model_copy(
        update={"spec": spec.model_copy(update={"columns": (*spec.columns, *mapped)})}
    )
    return document.model_copy(
        update={
            "table": table.model_copy(update={"columns": declared, "sequence_groups": groups}),
            "streams": streams,
        }
    )


def _with_type(column: ColumnSpec, types: Mapping[str, DataType]) -> ColumnSpec:
    """Return a declared column with its type after merging; unchanged if the type is the same."""
    found = types.get(column.name)
    if found is None:
        return column
    declared = parse_type(column.type)
    if str(declared.with_nullable(True)) == str(found.with_nullable(True)):
        return column
    return column.model_copy(update={"type": str(found.with_nullable(declared.nullable))})


def _mapping(name: str, path: tuple[str, ...]) -> StreamColumn:
    return StreamColumn(column=name, path=None if path == (name,) else ".".join(path))
