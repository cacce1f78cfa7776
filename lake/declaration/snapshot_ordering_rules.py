"""Rules for tables that order records by snapshot (`sequence.snapshot-ordering`).

In such a table a record of a later snapshot is newer, whatever its other values are, so the table
can have no `sequence.field`. A record has no snapshot id before its commit is published, so a
writer cannot merge it with records of other commits. Therefore the table has to be `write-only`,
and another process has to compact it.

Source: merge-semantics 3.7.
"""

from collections.abc import Iterator

from braid.lake.declaration.rule_problems import conflict
from braid.lake.errors import Problem
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import TableOptions

_ORDERING = "sequence.snapshot-ordering"


def snapshot_ordering_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield the problems of a table that orders records by snapshot; nothing for other tables.

    `key_rules` already requires a primary key.
    """
    if not options.sequence_snapshot_ordering:
        return
    if options.sequence_field:
        declared = schema.options["sequence.field"]
        yield conflict("sequence.field", declared, f"{_ORDERING} = true")
    if not options.write_only:
        yield Problem(
            field=_ORDERING,
            value=schema.options[_ORDERING],
            message="ordering by snapshot needs `write-only = true`: a writer that compacts would "
            "merge records whose snapshot has no id yet",
            hint="set `write-only` to true and compact in another process",
        )
