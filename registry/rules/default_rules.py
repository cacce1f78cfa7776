"""Where a column may have a default value.

Pure. Whoever writes a record without a value for a column writes its default, and the files of one
stream have no values for the columns of the others. So a default is allowed where another stream's
record does not reach the column:

1. In a sequence group: the writer fills it only into records with a place in the group's order
   (`lake.write.group_defaults`), which another stream's have not. The ordering columns themselves have none: a default
   there would give it a place.
2. In a table of whole rows, which takes one stream.
3. In an aggregation table, if every stream writes the column; with one stream it does.
"""

from collections.abc import Iterator, Mapping

from registry.layout.physical_table import ungrouped_columns
from schemas import FieldProblem, MergeEngine, StreamSpec, TableSpec
from schemas.field_problems import problem_at, quoted_list

_HINT = "leave the default out, and let the stream send the value"


def check_defaults(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the default values of a table that could do harm whatever its streams are."""
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
                "the records of all other streams a place in the order"
            )
        elif column.name in plain:
            message = "without a sequence group every other stream would write the default"
        else:
            continue
        yield problem_at(
            "columns", index, "default", value=column.default, message=message, hint=_HINT
        )


def check_defaults_of_multiple_streams(
    table: TableSpec, others: Mapping[str, StreamSpec], stream: StreamSpec
) -> Iterator[FieldProblem]:
    """Yield the columns with a default that one of an aggregation table's streams does not write.

    Args:
        table: An aggregation table.
        others: Its other streams, by name.
        stream: The stream that is to join them.
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
                message=f"`{column.name}` has a default, which the records of streams that do not "
                f"write it would add: {quoted_list(leave_out)}",
                hint="take the default away from the column",
            )
