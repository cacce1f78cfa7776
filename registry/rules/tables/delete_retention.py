"""Rules for the declared retention of deletes.

Pure. A compaction to the highest level drops the deletes of removed rows, and a record that arrives later
restores such a row. With `delete_retention` the compaction keeps deletes up to that age.

1. Only a table that removes rows has such deletes: a deduplicate table unless it ignores deletes, any
   other table with `remove_row`.
2. The time of the delete is in a column that the deleting record fills. Tracking generates such a column
   for each sequence group. A table without tracking or without groups has to name columns; any table can.
3. The named columns are TIMESTAMPs, with or without time zone.
"""

from collections.abc import Iterator
from typing import Final

from braid.lake import TypeRoot
from braid.registry.layout.declared_types import parsed_type
from braid.registry.layout.delete_options import removing_groups
from braid.schemas import DeleteRetentionSpec, FieldProblem, TableSpec
from braid.schemas.field_problems import problem_at, quoted_list

_TIMESTAMPS: Final = (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)


def check_delete_retention(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the declared retention of deletes."""
    retention = spec.delete_retention
    if retention is None:
        return
    removing = removing_groups(spec)
    if not removing:
        yield problem_at(
            "delete_retention",
            value=f"{retention.seconds} s",
            message="no delete of this table removes a row, so there are no deletes to retain",
            hint="declare `deletes: remove_row`, or leave it out",
        )
    elif retention.columns is None and (not spec.tracking or not spec.sequence_groups):
        yield problem_at(
            "delete_retention",
            "columns",
            message="the time of a delete has to be in a column, but the table generates no such column: it "
            + ("has no sequence groups" if spec.tracking else "declares `tracking: false`"),
            hint="name a TIMESTAMP column that a deleting record fills",
        )
    yield from _check_columns(spec, retention)


def _check_columns(spec: TableSpec, retention: DeleteRetentionSpec) -> Iterator[FieldProblem]:
    types = {column.name: column.type for column in spec.columns}
    if spec.tracking:
        generated = (f"{group.name}__at" for group in spec.sequence_groups)
        types |= dict.fromkeys(generated, "TIMESTAMP_LTZ(3)")
    for index, name in enumerate(retention.columns or ()):
        path = ("delete_retention", "columns", index)
        if name not in types:
            yield problem_at(
                *path,
                value=name,
                message="no such column",
                hint=f"columns: {quoted_list(types)}",
            )
        elif not _is_timestamp(types[name]):
            yield problem_at(
                *path,
                value=name,
                message=f"the column is {types[name]}, expected a TIMESTAMP",
                hint="name a TIMESTAMP column that a deleting record fills",
            )


def _is_timestamp(sql: str) -> bool:
    data_type = parsed_type(sql)
    return data_type is None or data_type.root in _TIMESTAMPS
