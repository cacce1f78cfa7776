"""Records of the row machine: for each column the cells, and comparable values if the column orders records.

A *cell* is the content of one column in a record or a merged row. In a column with an aggregate function it is a
plain value (`plain_values`). In any other column it is the number of the record that holds the value, so that nothing
is copied before the merged row is known. In both cases None stands for null.

Source: merge-semantics 1.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from braid.lake.merge.order.order_values import OrderValue, order_values
from braid.lake.merge.plain_values import plain_values
from braid.lake.merge.spec import MergeSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """A key-value table, column by column.

    Attributes:
        kinds: Row kind of each record.
        sequence_numbers: Sequence number of each record.
        types: The Arrow type by column name, system columns left out, in table order.
        cells: The cell of each record by column name, in the same order.
        order_values: Comparable values by column name, for the columns that order records.
    """

    kinds: Sequence[int]
    sequence_numbers: Sequence[int]
    types: dict[str, pa.DataType]
    cells: dict[str, Sequence[object]]
    order_values: dict[str, list[OrderValue]]


def records_of(table: pa.Table, spec: MergeSpec) -> Records:
    """Return the rows of a key-value table as records, numbered by row."""
    ordering = {name for group in spec.groups for name in group.ordering}
    ordering.update(spec.key_columns, spec.sequence_fields)
    folded = {function.column for function in spec.functions}
    columns = [name for name in table.column_names if name not in (SEQUENCE_NUMBER, VALUE_KIND)]
    return Records(
        kinds=table.column(VALUE_KIND).to_pylist(),
        sequence_numbers=table.column(SEQUENCE_NUMBER).to_pylist(),
        types={name: table.schema.field(name).type for name in columns},
        cells={
            name: plain_values(table.column(name))
            if name in folded
            else _record_numbers(table.column(name))
            for name in columns
        },
        order_values={
            name: order_values(table.column(name)) for name in columns if name in ordering
        },
    )


def _record_numbers(column: pa.ChunkedArray) -> list[int | None]:
    return [row if valid else None for row, valid in enumerate(column.is_valid().to_pylist())]
