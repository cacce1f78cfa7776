"""Records as the row machine sees them: plain Python values, one list per column."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from lake.merge.cell_function import NO_VALUE
from lake.merge.order_values import OrderValue, order_values
from lake.merge.spec import MergeSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """A key-value table, column by column.

    Attributes:
        kinds: Row kind of each record.
        sequence_numbers: Sequence number of each record.
        has_value: By column name, system columns left out, in table order: which records are not
            null.
        order_values: By column name, for columns that order records: values that compare.
    """

    kinds: Sequence[int]
    sequence_numbers: Sequence[int]
    has_value: dict[str, list[bool]]
    order_values: dict[str, list[OrderValue]]

    def cell(self, column: str, record: int) -> int:
        """Return the record when its value is not null, else `NO_VALUE`."""
        return record if self.has_value[column][record] else NO_VALUE


def records_of(table: pa.Table, spec: MergeSpec) -> Records:
    """Return the rows of a key-value table as records, numbered by row."""
    ordering = {name for group in spec.groups for name in group.ordering}
    ordering.update(spec.key_columns, spec.sequence_fields)
    columns = [name for name in table.column_names if name not in (SEQUENCE_NUMBER, VALUE_KIND)]
    return Records(
        kinds=table.column(VALUE_KIND).to_pylist(),
        sequence_numbers=table.column(SEQUENCE_NUMBER).to_pylist(),
        has_value={name: table.column(name).is_valid().to_pylist() for name in columns},
        order_values={
            name: order_values(table.column(name)) for name in columns if name in ordering
        },
    )
