"""Rules for kept columns, and for `on_missing`, the effect of a record that lacks a column's field.

Pure. In the table format a kept column becomes a sequence group of its own
(`braid.registry.layout.physical_table`); below, *group* is the group that the declaration names.

1. A kept column is a column of the group. It has no aggregate function. It is neither the column with the row kind nor
   a column from which `delete_retention` takes the time of a delete, because in these columns the value of an older
   record would be wrong for the newest record.
2. The ordering columns of the group have types whose values can be stored as bytes that sort in the same order.
3. A table in which a group keeps all of its columns needs tracking columns. Without them the group that the table
   declares would have no column left that it orders.
4. A stream can keep only columns that the table declares as kept, because a kept column needs a generated column in
   the table. For a column that is not declared as kept, a stream can use `on_missing: null` or `reject`.
5. `keep` and `reject` are for fields that a message can lack, and for headers.
"""

from collections.abc import Iterator, Mapping

from braid.lake import comparable_form
from braid.registry.layout.column_functions import column_functions
from braid.registry.layout.declared_types import parsed_type
from braid.registry.rules.tables.delete_rules import ROW_KIND_FIELD
from braid.schemas import (
    ColumnSource,
    CsvFormat,
    FieldProblem,
    OnMissing,
    RawFormat,
    SequenceGroupSpec,
    StreamSpec,
    TableSpec,
)
from braid.schemas.field_problems import problem_at, quoted_list

ALWAYS_WHOLE = (CsvFormat, RawFormat)
"""Formats whose messages have every field."""


def check_keep(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the columns that the table's groups keep."""
    unfit = _unfit_columns(spec)
    for index, group in enumerate(spec.sequence_groups):
        yield from _check_columns(group, index, unfit)
        if group.keep:
            yield from _check_order(spec, group, index)
        if group.keep and not spec.tracking and set(group.columns) <= set(group.keep):
            yield problem_at(
                "sequence_groups",
                index,
                "keep",
                value=quoted_list(group.keep),
                message="all columns of the group are kept; without tracking, the group needs a column that is "
                "not kept",
                hint="leave `tracking` true, or keep fewer columns",
            )


def _unfit_columns(spec: TableSpec) -> Mapping[str, tuple[str, str]]:
    """Return why columns cannot be kept, with a hint, by their names."""
    unfit = {
        name: (
            f"`{function.function}` combines the values of the column, and a record without a value "
            "changes nothing anyway",
            "take it out of `keep`",
        )
        for name, function in column_functions(spec).items()
    }
    kind = spec.options.get(ROW_KIND_FIELD)
    if kind is not None:
        unfit[kind] = ("every record says its own kind in this column", "take it out of `keep`")
    retention = spec.delete_retention
    for name in () if retention is None else retention.columns or ():
        unfit[name] = (
            "`delete_retention` takes the time of a delete from this column, and an older record's "
            "value is not that time",
            "take it out of `keep`, or name another column in `delete_retention`",
        )
    return unfit


def _check_columns(
    group: SequenceGroupSpec, index: int, unfit: Mapping[str, tuple[str, str]]
) -> Iterator[FieldProblem]:
    columns = frozenset(group.columns)
    seen: set[str] = set()
    for position, name in enumerate(group.keep):
        if name not in columns:
            message = f"the column is not in `columns` of the group `{group.name}`"
            hint = f"columns of the group: {quoted_list(group.columns)}"
        elif name in seen:
            message, hint = "the column is named twice", "name it once"
        elif name in unfit:
            message, hint = unfit[name]
        else:
            seen.add(name)
            continue
        path = ("sequence_groups", index, "keep", position)
        yield problem_at(*path, value=name, message=message, hint=hint)


def _check_order(spec: TableSpec, group: SequenceGroupSpec, index: int) -> Iterator[FieldProblem]:
    types = {column.name: parsed_type(column.type) for column in spec.columns}
    for position, name in enumerate(group.ordering or ()):
        data_type = types.get(name)
        if data_type is not None and comparable_form(data_type) is None:
            yield problem_at(
                "sequence_groups",
                index,
                "ordering",
                position,
                value=name,
                message="the group keeps columns, whose order is stored as bytes, but the bytes of "
                f"{data_type} do not sort like its values",
                hint="order the group by columns of simple types, or keep no column",
            )


def check_on_missing(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of `on_missing` of a stream's columns.

    Args:
        table: A table that breaks no rule for tables.
        stream: The completed stream.
    """
    group = None if stream.sequence_group is None else table.sequence_group(stream.sequence_group)
    kept = () if group is None else group.keep
    for index, mapping in enumerate(stream.columns):
        if mapping.on_missing in (None, OnMissing.NULL):
            continue
        if mapping.source is ColumnSource.KEY:
            message = "a Kafka key has a field for every column that is read from it, or the record is refused"
            hint = "leave it out"
        elif not mapping.source.is_message and mapping.source is not ColumnSource.HEADER:
            message = f"every record has its {mapping.source.value}, so this has no effect"
            hint = "leave it out"
        elif mapping.source.is_message and isinstance(stream.format, ALWAYS_WHOLE):
            message = f"a message of the format `{stream.format.type}` has every field, so this has no effect"
            hint = "leave it out"
        elif mapping.on_missing is OnMissing.KEEP and mapping.column not in kept:
            message = (
                f"the table does not declare that `{mapping.column}` is kept, and the order of a kept "
                "column is stored in the table"
            )
            hint = (
                "name the column in `keep` of its sequence group when the table is declared, or add "
                "another column with `keep: true`"
            )
        else:
            continue
        path = ("columns", index, "on_missing")
        yield problem_at(*path, value=mapping.on_missing, message=message, hint=hint)
