"""Rules for aggregation tables that several streams feed.

Pure. Sequence numbers of concurrent writers are not ordered, and every record of one stream is null
in the columns of the others (decision 0008). So with more than one stream:

1. One column has one owner, except for key columns.
2. A function gives the same value in any order of arrival, or the column or the table accepts that risk with
   `unordered: allowed`. `last_value` and `first_value` are refused all the same: another stream's
   null would win.
3. No column beside the key is NOT NULL: the other streams' records would fail.
4. Nothing orders or removes whole rows: neither `sequence.field` nor `deletes: remove_row`.
5. If deletes retract values, a function gives the same value whenever a retraction arrives, as an exact sum
   does, or the risk is accepted as in 2. Only tables that were registered before `clear_columns` was refused
   in aggregation tables (`delete_rules`) have such deletes; they still take new streams.
"""

from collections.abc import Iterator, Mapping

from braid.registry.layout.column_functions import (
    FIRST_VALUE,
    LAST_VALUE,
    column_functions,
    declared_function,
    order_hint,
    sequence_fields,
    why_order_matters,
)
from braid.registry.layout.declared_types import declared_type
from braid.schemas import AggregateSpec, Deletes, FieldProblem, StreamSpec, TableSpec
from braid.schemas.field_problems import problem_at, quoted_list
from braid.schemas.problem import JsonPath

_NULLS_ARE_VALUES = (FIRST_VALUE, LAST_VALUE)
_RETRACTABLE_IN_ANY_ORDER = ("sum",)
_OTHER_TABLE = "make a partial-update table with a sequence group for each stream"


def check_aggregation_table(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    """Yield why the stream cannot join the others of an aggregation table; nothing if it is alone.

    Args:
        table: An aggregation table that breaks no rule for tables.
        others: The table's other streams, by name.
        stream: The completed stream.
    """
    if not others:
        return
    yield from _check_owners(table, others, stream)
    yield from _check_columns(table, others, stream)
    fields = sequence_fields(table)
    if fields:
        yield _refused(
            stream,
            others,
            f"`sequence.field` orders whole rows by {quoted_list(fields)}, and the rows of other "
            "streams have null in these columns",
        )
    if table.deletes is Deletes.REMOVE_ROW:
        yield _refused(
            stream,
            others,
            "whether `deletes: remove_row` removes what other streams wrote depends on the order "
            "in which records arrive",
        )


def _refused(stream: StreamSpec, others: Mapping[str, StreamSpec], message: str) -> FieldProblem:
    return problem_at(
        "name",
        value=stream.name,
        message=f"the table has the stream {quoted_list(sorted(others))}, and cannot have another: {message}",
        hint=_OTHER_TABLE,
    )


def _check_owners(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    owners = {column: name for name, other in others.items() for column in other.column_names}
    for index, column in enumerate(stream.column_names):
        if column in owners and column in table.column_names and column not in table.primary_key:
            yield problem_at(
                "columns",
                index,
                "column",
                value=column,
                message=f"the stream `{owners[column]}` writes this column already",
                hint="one column has one owner; leave it out, or give each stream a column",
            )


def _check_columns(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    written = {column for other in others.values() for column in other.column_names}
    written.update(stream.column_names)
    functions = column_functions(table)
    for column in (name for name in functions if name in written):
        path = _mapping_path(stream, column)
        data_type = declared_type(table, column)
        if data_type is None:
            continue
        if not data_type.nullable:
            yield problem_at(
                *path,
                value=column,
                message=f"`{column}` is NOT NULL, and the records of the other streams have no "
                "value for it",
                hint="several streams need a table in which only the key is NOT NULL",
            )
        yield from _check_order(table, column, functions[column], path)


def _check_order(
    table: TableSpec, column: str, function: AggregateSpec, path: JsonPath
) -> Iterator[FieldProblem]:
    data_type = declared_type(table, column)
    assert data_type is not None, column
    name = function.function
    # These treat nulls as values, which `unordered: allowed` does not cover: not the order of records
    # would be wrong but the records of every other stream.
    reason = why_order_matters(name, data_type)
    if name in _NULLS_ARE_VALUES and column not in sequence_fields(table):
        yield problem_at(
            *path,
            value=column,
            message=f"`{name}` of `{column}` treats nulls as values, and the records of the other "
            "streams have only nulls for it",
            hint=_OTHER_TABLE,
        )
    elif column in table.unordered_columns or name in _NULLS_ARE_VALUES:
        return
    elif reason is not None:
        yield problem_at(
            *path,
            value=column,
            message=f"several streams write the table, and for `{column}` {reason}",
            hint=order_hint(name),
        )
    elif (
        table.deletes is Deletes.CLEAR_COLUMNS
        and not function.ignore_retract
        and name not in _RETRACTABLE_IN_ANY_ORDER
        and declared_function(name) is not None
    ):
        yield problem_at(
            *path,
            value=column,
            message=f"several streams write the table, and the value of `{name}` of `{column}` "
            "after a delete depends on the order in which records arrive",
            hint="declare the column's `aggregate` with `ignore_retract: true`, or accept the risk "
            "for the column, or for the table, with `unordered: allowed`",
        )


def _mapping_path(stream: StreamSpec, column: str) -> JsonPath:
    """Return the path of the column's mapping; the path of the stream's name if another stream maps the column."""
    names = stream.column_names
    return ("columns", names.index(column), "column") if column in names else ("name",)
