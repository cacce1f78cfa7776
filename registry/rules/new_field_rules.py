"""Which streams may give their table new columns, as `on_new_field: evolve` asks.

Pure. A new column joins the stream's own sequence group; in an aggregation table it takes the default
function, in a table of whole rows it is a part of the row. It must not matter in which order records
arrive, as for columns that are declared.
"""

from collections.abc import Iterator, Mapping

from registry.layout.column_functions import LAST_NON_NULL_VALUE, declared_function
from registry.layout.physical_table import ungrouped_columns
from schemas import FieldProblem, MergeEngine, OnNewField, StreamSpec, TableSpec, Unordered
from schemas.field_problems import problem_at, quoted_list


def check_new_fields(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    """Yield why a stream, or another one beside it, may not give the table columns.

    Args:
        table: The table, which has been checked.
        others: Its other streams, by name.
        stream: The stream, complete.
    """
    if stream.on_new_field is OnNewField.EVOLVE and len(stream.columns) > stream.columns_max:
        yield problem_at(
            "columns_max",
            value=stream.columns_max,
            message=f"the stream has {len(stream.columns)} columns already",
            hint="allow more, or let it not evolve",
        )
    if table.merge_engine is not MergeEngine.AGGREGATION or not others:
        return
    function = table.default_aggregate or LAST_NON_NULL_VALUE
    declaration = declared_function(function)
    is_free = declaration is not None and declaration.order_free
    evolving = [
        one.name for one in (stream, *others.values()) if one.on_new_field is OnNewField.EVOLVE
    ]
    if evolving and not is_free and table.unordered is not Unordered.ALLOWED:
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
    """Yield columns that a stream which evolves has read, and that nobody would read any more.

    Their fields would be new ones that cannot become columns, for those are there. Columns of groups
    are not asked about: a stream maps its whole group.

    Args:
        table: The table.
        others: Its other streams, by name.
        stream: The stream as it is to be, complete.
        known: As it is; None: it is not registered yet.
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
                message=f"the stream fills `{mapping.column}`, and nobody would any more: records "
                "with its field would be dead letters",
                hint=f'add {{"column": "{mapping.column}"{path}}}{whole}; with another '
                "`on_new_field` it may be left out",
            )
