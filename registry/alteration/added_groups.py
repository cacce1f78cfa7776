"""Rules for sequence groups that a change adds to a table with rows: over new columns only.

A record without a value in a group's ordering columns has no position in its order, and the merge
ignores its values of the group's columns. For a new group all existing rows are such records: if an older
column joined the group, the next merge would drop all of its values. If an older column became an ordering
column, existing rows would win over every record that is read again with a smaller value.
"""

from collections.abc import Iterator

from braid.lake import TableSchema
from braid.registry.alteration.change_locations import Origin
from braid.schemas import FieldProblem, SequenceGroupSpec, TableDocument
from braid.schemas.field_problems import problem_at, quoted_list


def check_added_groups(
    before: TableDocument, after: TableDocument, old: TableSchema, new: TableSchema, origin: Origin
) -> Iterator[FieldProblem]:
    """Yield the columns that an added group covers and that the table had before.

    Args:
        before: The newest document, of a table with rows.
        after: The document after the change.
        old: The newest schema.
        new: The schema after the change.
        origin: The requested changes, to locate problems.
    """
    known = {group.name for group in before.table.sequence_groups}
    # By id: a column that the same request renames is as old as before.
    old_ids = {column.id for column in old.fields}
    older = {column.name for column in new.fields if column.id in old_ids}
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
            "which have no position in the group's order, so the next merge would drop their "
            "values of",
        ),
        (
            "ordering",
            orders,
            "which would win over every record that is read again with a smaller value of",
        ),
    ):
        if not names:
            continue
        message = f"the table has rows, {risk} {quoted_list(names)}"
        hint = (
            "add columns of other names in the same request and group those, or create a new table "
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
