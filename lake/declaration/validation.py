"""Validation of a table's declaration, when the table is created, altered or rescaled.

All rules are checked, and their problems are reported together. But if an option cannot be parsed,
the rules that need parsed options are not checked. Functions that a column cannot have, which the
reference refuses at their first use, are refused here. What the reference leaves undefined is
refused too: an ordering column of two groups, or an ordering column that a group protects. An
option without effect is accepted, as in the reference; `ineffective_options` lists such options.
Tables that this version cannot write are refused elsewhere (`braid.lake.write.writable`).

| rules | where |
|---|---|
| columns, primary key, partition, bucket key | `key_rules` |
| types and defaults of columns | `type_rules` |
| `sequence.field`, `rowkind.field`, columns of `fields.*` options | `sequence_rules` |
| `sequence.snapshot-ordering` | `snapshot_ordering_rules` |
| options that repeat the declaration, the type of table, a few values | `option_rules` |
| changelog producers and deletion vectors | `engine_rules` |
| retention of the retracts of deleted rows | `tombstone_rules` |
| expiry of rows | `row_expiry_rules` |
| deletes without values | `null_delete_rules` |
| number of retained snapshots and changelogs | `retention_rules` |
| values of maintenance options | `maintenance_rules` |
| Iceberg metadata | `iceberg_rules` |
| kinds, columns and options of file indexes | `file_index_rules` |
| sequence groups and deletes of partial-update | `partial_update_rules` |
| names, types and options of aggregate functions | `function_rules` |

Source: merge-semantics 2.5, 3.1, 3.3, 3.7, 4, 5, 8.4.
"""

from collections.abc import Iterator

from braid.lake.declaration.engine_rules import engine_problems
from braid.lake.declaration.file_index_rules import file_index_problems
from braid.lake.declaration.function_rules import function_problems
from braid.lake.declaration.iceberg_rules import iceberg_problems
from braid.lake.declaration.key_rules import column_problems, key_problems
from braid.lake.declaration.maintenance_rules import maintenance_problems
from braid.lake.declaration.null_delete_rules import null_delete_problems
from braid.lake.declaration.option_rules import option_problems
from braid.lake.declaration.partial_update_rules import partial_update_problems
from braid.lake.declaration.retention_rules import retention_problems
from braid.lake.declaration.row_expiry_rules import row_expiry_problems
from braid.lake.declaration.sequence_rules import (
    fields_option_problems,
    row_kind_field_problems,
    sequence_field_problems,
)
from braid.lake.declaration.snapshot_ordering_rules import snapshot_ordering_problems
from braid.lake.declaration.tombstone_rules import tombstone_problems
from braid.lake.declaration.type_rules import type_problems
from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import MergeEngine, TableOptions


def validate_schema(schema: TableSchema) -> None:
    """Check the declaration of a new, altered or rescaled table by all rules (see the module).

    Args:
        schema: The schema to be written; its key columns may still be nullable.

    Raises:
        InvalidRequest: A rule is broken; `problems` holds every problem that was found.
        UnsupportedFeature: A user's aggregate function cannot be loaded from its package.
    """
    problems = [
        *key_problems(schema),
        *column_problems(schema),
        *type_problems(schema),
        *option_problems(schema.options),
    ]
    try:
        options = schema.table_options
    except InvalidRequest as error:
        # The rules of merging need parsed options, so they are not checked while an option cannot be parsed.
        problems.extend(error.problems)
    else:
        problems.extend(_merging_problems(schema, options))
    if problems:
        text = "the declaration of the table is not valid"
        raise InvalidRequest(text, problems=problems)


def _merging_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    yield from sequence_field_problems(schema, options)
    yield from snapshot_ordering_problems(schema, options)
    yield from row_kind_field_problems(schema, options)
    yield from fields_option_problems(schema)
    yield from engine_problems(schema, options)
    yield from tombstone_problems(schema, options)
    yield from row_expiry_problems(schema, options)
    yield from null_delete_problems(schema, options)
    yield from retention_problems(schema.options, options)
    yield from maintenance_problems(schema, options)
    yield from file_index_problems(schema)
    yield from iceberg_problems(schema, options)
    if options.merge_engine is MergeEngine.PARTIAL_UPDATE:
        yield from partial_update_problems(schema, options)
    if options.merge_engine in (MergeEngine.PARTIAL_UPDATE, MergeEngine.AGGREGATION):
        yield from function_problems(schema, options)
