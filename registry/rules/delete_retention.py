"""How long a declared table keeps the deletes of removed rows.

Pure. A removed row is gone with the first compaction to the highest level, and a record that comes
late brings it back. With `delete_retention` the compaction keeps the delete until it is so old.

1. Only a table that removes rows has such deletes: deduplicate unless deletes are ignored, others
   with `remove_row`.
2. When a row was deleted is in a column that the deleting record fills. Tracking makes one for each
   sequence group; without it, or without groups, columns are named.
3. Named columns are TIMESTAMPs, with or without zone.
"""

from collections.abc import Iterator
from typing import Final

from lake import InvalidRequest, TypeRoot, parse_type
from registry.layout.delete_options import removing_groups
from schemas import DeleteRetentionSpec, FieldProblem, TableSpec
from schemas.field_problems import problem_at, quoted_list

_MOMENTS: Final = (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)


def check_delete_retention(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield what is wrong with the declared retention of deletes."""
    retention = spec.delete_retention
    if retention is None:
        return
    removing = removing_groups(spec)
    if not removing:
        yield problem_at(
            "delete_retention",
            value=f"{retention.seconds} s",
            message="no delete of this table removes a row, so there is none to keep",
            hint="declare `deletes: remove_row`, or leave it out",
        )
    elif retention.columns is None and (not spec.tracking or not spec.sequence_groups):
        yield problem_at(
            "delete_retention",
            "columns",
            message="when a row was deleted has to be in a column, and the table makes none: it "
            + ("has no sequence groups" if spec.tracking else "says `tracking: false`"),
            hint="name a TIMESTAMP column that a deleting record fills",
        )
    yield from _check_columns(spec, retention)


def _check_columns(spec: TableSpec, retention: DeleteRetentionSpec) -> Iterator[FieldProblem]:
    types = {column.name: column.type for column in spec.columns}
    if spec.tracking:
        made = (f"{group.name}__at" for group in spec.sequence_groups)
        types |= dict.fromkeys(made, "TIMESTAMP_LTZ(3)")
    for index, name in enumerate(retention.columns or ()):
        place = ("delete_retention", "columns", index)
        if name not in types:
            yield problem_at(
                *place,
                value=name,
                message="no such column",
                hint=f"columns: {quoted_list(types)}",
            )
        elif not _is_timestamp(types[name]):
            yield problem_at(
                *place,
                value=name,
                message=f"the column is {types[name]}, and says no moment",
                hint="name a TIMESTAMP column that a deleting record fills",
            )


def _is_timestamp(sql: str) -> bool:
    try:
        return parse_type(sql).root in _MOMENTS
    except InvalidRequest:
        return True  # what is wrong with the type is told where it is declared
