"""Rules for tables that retain the retracts of deleted rows (`braid.delete-retention`).

Such a table can have neither deletion vectors nor the engine first-row. It must name the TIMESTAMP
columns that hold the time of a delete.

Source: ours; merge-semantics 6.6 for what deletion vectors drop.
"""

from collections.abc import Iterator

from braid.lake.declaration.rule_problems import conflict, find_field, unknown_column
from braid.lake.errors import Problem
from braid.lake.format.data_types import TIMESTAMP_ROOTS
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import (
    DELETE_RETENTION,
    DELETE_TIME_FIELDS,
    MergeEngine,
    TableOptions,
)


def tombstone_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield the problems of the retention of deletes."""
    if options.delete_retention_ms is None:
        return
    declared = schema.options[DELETE_RETENTION]
    if options.deletion_vectors_enabled:
        yield conflict(
            DELETE_RETENTION,
            declared,
            "deletion-vectors.enabled = true",
            "compacted files of such a table are read without a check for retracts",
        )
    if options.merge_engine is MergeEngine.FIRST_ROW:
        yield conflict(
            DELETE_RETENTION,
            declared,
            f"merge-engine = {options.merge_engine}",
            "its rows are never deleted",
        )
    if not options.delete_time_fields:
        yield Problem(
            field=DELETE_TIME_FIELDS,
            value=None,
            message=f"`{DELETE_RETENTION}` needs the time of a delete",
            hint="name the TIMESTAMP columns that a deleting record fills, such as `orders__at`",
        )
    for name in options.delete_time_fields:
        field = find_field(schema, name)
        if field is None:
            yield unknown_column(DELETE_TIME_FIELDS, name, schema)
        elif field.type.root not in TIMESTAMP_ROOTS:
            yield Problem(
                field=DELETE_TIME_FIELDS,
                value=name,
                message=f"column `{name}` is {field.type}, expected a TIMESTAMP",
            )
