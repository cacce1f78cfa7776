"""Unreadable values: refusal of records whose values the aggregate function of their column cannot read.

Once written, such a value would make every merge of its key fail, and with it full scans and
compactions of the table.
"""

import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.dead_letter import DeadLetterReason
from braid.lake import TableSchema, ValueChecks
from braid.pipelines.record_columns import REASON, value_column
from braid.pipelines.sink.row_refusal import refuse_rows
from braid.pipelines.sink.table_columns import to_table_array
from braid.pipelines.stream_plan import StreamPlan


class UnreadableValues:
    """The check of one stream's records against the aggregate functions of its table."""

    def __init__(self, plan: StreamPlan, schema: TableSchema) -> None:
        """Determine the columns that are checked.

        Args:
            plan: The stream.
            schema: The table's schema, under which rows are written.
        """
        self._checks = ValueChecks.of(schema)
        self._columns = [
            (value_column(index), column)
            for index, column in enumerate(plan.columns)
            if column.name in self._checks.functions
        ]

    def refuse(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch, in which accepted records with such a value are now refused.

        Args:
            batch: A batch that `parse.RecordParser` returns.

        Returns:
            The same number of rows, in the same order.
        """
        refusals: dict[int, tuple[str, str | None]] = {}
        if not self._columns:
            return batch
        is_accepted = batch.column(REASON).is_null()
        for name, column in self._columns:
            values = batch.column(name)
            # Refused records keep their reason, and their values need not be of the column's type.
            nothing = pa.scalar(None, type=values.type)
            accepted = pc.if_else(is_accepted, values, nothing)
            for unfit in self._checks.unfit(column.name, to_table_array(accepted, column.type)):
                found = (
                    f"column {column.name}: {unfit.message} (found `{unfit.value}`); {unfit.hint}"
                )
                refusals.setdefault(unfit.row, (DeadLetterReason.UNREADABLE.value, found))
        return refuse_rows(batch, refusals)
