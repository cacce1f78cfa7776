"""Default values of columns in sequence groups, where several streams write one table.

The format fills the default of a column into every record that has no value there. So a record of a
stream that does not feed the column carries the default, and a row that has no other value shows the
default. In a table with `braid.defaults-by-group` a default in a group is filled only into records that
take part in the group.

Source: this engine; merge-semantics 1.3 has the format's rule.
"""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.casts.cast import read_text
from braid.lake.format.schema import TableSchema
from braid.lake.merge.declared_options import SequenceGroup, declared_groups
from braid.lake.write.rows.group_participation import takes_part


def group_default_columns(schema: TableSchema) -> Mapping[str, SequenceGroup]:
    """Return the columns whose default is filled only into records of their group; with that group."""
    if not schema.table_options.defaults_by_group:
        return {}
    return {
        name: group
        for group in declared_groups(schema.options).values()
        for name in group.protected
        if name in schema.fields_by_name and schema.field(name).default_value is not None
    }


def with_group_defaults(rows: pa.Table, schema: TableSchema) -> pa.Table:
    """Return the rows with the defaults of columns in groups filled in, where a row takes part.

    Args:
        rows: All columns of the table, in its order.
        schema: The table's schema.
    """
    for name, group in group_default_columns(schema).items():
        column = rows.column(name)
        if not column.null_count:
            continue
        field = schema.field(name)
        filled = pc.fill_null(column, read_text(str(field.default_value), field.type))
        chosen = pc.if_else(pa.array(takes_part(rows, group)), filled, column)
        index = rows.column_names.index(name)
        rows = rows.set_column(index, rows.schema.field(index), chosen)
    return rows
