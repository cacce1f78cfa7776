"""Rules for streams that add new columns to their table (`on_new_field: evolve`).

Pure. A new column joins the stream's own sequence group; in an aggregation table it has the default function, in a
table of whole rows it is a part of the row. So without `unordered: allowed` of the table, a stream of a partial-update
table has a group, and in an aggregation table of several streams the default function is free of order. `columns_max`
is at least the number of columns that the stream has. If such a stream has read a column without a sequence group,
then after a change of the stream, this or another stream still has to read the column (`check_kept_columns`).
Otherwise the column's field would count as a new field.
"""

from collections.abc import Iterator, Mapping

from braid.registry.layout.column_functions import LAST_NON_NULL_VALUE, declared_function
from braid.registry.layout.physical_table import ungrouped_columns
from braid.schemas import FieldProblem, MergeEngine, OnNewField, StreamSpec, TableSpec, Unordered
from braid.schemas.field_problems import problem_at, quoted_list


def check_new_fields(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    """Yield why the stream, or another stream of the table, may not add columns.

    Args:
        table: A table that breaks no rule for tables.
        others: The table's other streams, by name.
        stream: The completed stream.
    """
    if stream.on_new_field is OnNewField.EVOLVE and len(stream.columns) > stream.columns_max:
        yield problem_at(
            "columns_max",
            value=stream.columns_max,
            message=f"the stream has {len(stream.columns)} columns already",
            hint="allow more, or use another `on_new_field`",
        )
    is_loose = table.merge_engine is MergeEngine.PARTIAL_UPDATE and stream.sequence_group is None
    is_allowed = table.unordered is Unordered.ALLOWED
    if stream.on_new_field is OnNewField.EVOLVE and is_loose and not is_allowed:
        yield problem_at(
            "on_new_field",
            value=stream.on_new_field,
            message="the stream has no sequence group that would order its new columns, and the table does not declare "
            "`unordered: allowed`",
            hint="use `ignore` or `reject`, or a table with `unordered: allowed` or a group for the stream",
        )
    if table.merge_engine is not MergeEngine.AGGREGATION or not others:
        return
    function = table.default_aggregate or LAST_NON_NULL_VALUE
    declaration = declared_function(function)
    is_free = declaration is not None and declaration.order_free
    evolving = [
        one.name for one in (stream, *others.values()) if one.on_new_field is OnNewField.EVOLVE
    ]
    if evolving and not is_free and not is_allowed:
        yield problem_at(
            "on_new_field",
            value=stream.on_new_field,
            message=f"several streams write the table, and new columns of {quoted_list(evolving)} would "
            f"have the function `{function}`, whose value depends on the order of arrival",
            hint="use `ignore` or `reject` and add columns with a function of their own, or make a "
            "partial-update table with a sequence group for each stream",
        )


def check_kept_columns(
    table: TableSpec,
    others: Mapping[str, StreamSpec],
    stream: StreamSpec,
    *,
    known: StreamSpec | None,
) -> Iterator[FieldProblem]:
    """Yield columns that an evolving stream has read so far and no stream would read any more.

    Their fields would count as new and could not become columns, because the columns exist. Columns of
    groups are not checked: a stream maps its whole group.

    Args:
        table: The table.
        others: The table's other streams, by name.
        stream: The completed stream after the change.
        known: The stream as registered; None: it is not registered yet.
    """
    if known is None or stream.on_new_field is not OnNewField.EVOLVE:
        return
    read = {name for one in (stream, *others.values()) for name in one.column_names}
    plain = set(ungrouped_columns(table))
    whole = "" if others else ", or leave `columns` out"
    for mapping in known.columns:
        if mapping.column in plain and mapping.column not in read:
            path = "" if mapping.path is None else f', "path": "{mapping.path}"'
            yield problem_at(
                "columns",
                value=mapping.column,
                message=f"no stream would fill `{mapping.column}` any more, and records with its "
                "field would be dead letters",
                hint=f'add {{"column": "{mapping.column}"{path}}}{whole}; with another '
                "`on_new_field` it may be left out",
            )
