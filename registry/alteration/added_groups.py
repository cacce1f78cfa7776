"""Sequence groups that a change adds to a table with rows: over new columns only.

A record that has no value in a group's ordering columns has no place in its order, and the merge
passes over what the record holds in the group's columns. The rows that are there are such records: of a
column that had values before it came into a group the next merge would leave nothing. An ordering
column with values would hold up every record of a smaller one that is read again.
"""

from collections.abc import Iterator

from lake import TableSchema
from registry.alteration.change_locations import Origin
from schemas import FieldProblem, SequenceGroupSpec, TableDocument
from schemas.field_problems import problem_at, quoted_list


def check_added_groups(
    before: TableDocument, after: TableDocument, old: TableSchema, new: TableSchema, origin: Origin
) -> Iterator[FieldProblem]:
    """Yield the columns of added groups that the table had before.

    Args:
        before: The newest document, of a table with rows.
        after: As it is to be.
        old: The newest schema.
        new: What becomes of it.
        origin: Of the changes.
    """
    known = {group.name for group in before.table.sequence_groups}
    had = {column.id for column in old.fields}
    older = {column.name for column in new.fields if column.id in had}
    for group in after.table.sequence_groups:
        if group.name not in known:
            yield from _older_columns(group, older, origin)


def _older_columns(
    group: SequenceGroupSpec, older: set[str], origin: Origin
) -> Iterator[FieldProblem]:
    values = [name for name in group.columns if name in older]
    orders = [name for name in group.ordering or () if name in older]
    index = origin.of_group.get(group.name)
    for part, names, risk in (
        (
            "columns",
            values,
            "the rows that are there have no place in the group's order, so the next merge would "
            "leave nothing of the values that they hold in",
        ),
        (
            "ordering",
            orders,
            "the values that rows hold there would hold up every older record that is read again, "
            "in",
        ),
    ):
        if not names:
            continue
        message = f"the table has rows, and {risk} {quoted_list(names)}"
        hint = (
            "add columns of other names in the same request and group those, or make a new table "
            "with the group and read the streams again"
        )
        if index is None:
            yield FieldProblem(
                pointer=None,
                field=f"table.sequence_groups.{group.name}",
                value=", ".join(names),
                message=message,
                hint=hint,
            )
        else:
            path = origin.path(index, part)
            yield problem_at(*path, value=", ".join(names), message=message, hint=hint)
