"""Rules for default values of columns.

Pure. A writer fills the default into every record without a value for the column, and the records of one
stream have no values for the columns of the others. So a default is allowed only where the writer does not
fill it into the records of another stream:

1. In a sequence group: it is filled only into records with a position in the group's order
   (`braid.lake.write.rows.group_defaults`), which records of other streams do not have. The ordering columns
   themselves have no default, which would give every record a position.
2. In a table of whole rows, which admits only one stream.
3. In an aggregation table, if every stream writes the column, or if the table has only one stream.

A date or time is written in full, because the format reads `2027` as a day in 1975. A column of the key has no default
in any table: without its key a record belongs to no row.
"""

from collections.abc import Iterator, Mapping

from braid.lake import why_not_exact
from braid.registry.layout.declared_types import parsed_type
from braid.registry.layout.physical_table import ungrouped_columns
from braid.schemas import ColumnSpec, FieldProblem, MergeEngine, StreamSpec, TableSpec
from braid.schemas.field_problems import problem_at, quoted_list

_HINT = "leave the default out, and let the stream send the value"


def check_defaults(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the default values that are not allowed, whatever streams the table has."""
    ordering = {name: group.name for group in spec.sequence_groups for name in group.ordering or ()}
    is_partial = spec.merge_engine is MergeEngine.PARTIAL_UPDATE
    plain = ungrouped_columns(spec) if is_partial else ()
    for index, column in enumerate(spec.columns):
        if column.default is None:
            continue
        if column.name in spec.primary_key:
            message = "a key column has no default: without a key there is no row"
        elif column.name in ordering:
            message = (
                f"the column orders the group `{ordering[column.name]}`, and a default would give "
                "the records of all other streams a position in the order"
            )
        elif column.name in plain:
            message = "without a sequence group every other stream would write the default"
        else:
            yield from _check_value(column, index)
            continue
        yield problem_at(
            "columns", index, "default", value=column.default, message=message, hint=_HINT
        )


def _check_value(column: ColumnSpec, index: int) -> Iterator[FieldProblem]:
    """Yield a problem if a default is read by the table's format as another date or time than it looks."""
    kind = parsed_type(column.type)
    reason = None if kind is None else why_not_exact(str(column.default), kind)
    if reason is not None:
        yield problem_at(
            "columns",
            index,
            "default",
            value=column.default,
            message=f"the default is not a {kind} written in full: {reason}",
            hint="writers would read another value, or refuse every record",
        )


def check_defaults_of_multiple_streams(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    """Yield the columns with a default that some stream of an aggregation table does not write.

    Args:
        table: An aggregation table.
        others: The table's other streams, by name.
        stream: The stream to be registered.
    """
    if not others:
        return
    streams = (stream, *others.values())
    for column in table.columns:
        leave_out = [one.name for one in streams if column.name not in one.column_names]
        if column.default is not None and leave_out:
            yield problem_at(
                "columns",
                value=column.name,
                message=f"`{column.name}` has a default, which would be added to the records of "
                f"the streams that do not write the column: {quoted_list(leave_out)}",
                hint="remove the default of the column",
            )
