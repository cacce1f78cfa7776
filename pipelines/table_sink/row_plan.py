"""Rows of Spark as rows of the table: types, checks, row kinds, and the columns that a stream's rows get besides.

A row that the stream cannot hold fails the write. Such a row is a dead letter where a stream reads a topic, and is found
by the same checks (`braid.records.column_checks`).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrow_cast import cut_cast
from braid.formats.declared_digits import with_declared_digits
from braid.formats.fault import Faults
from braid.lake import InvalidRequest, Problem, QueryTurn, RowKind, TableSchema, to_arrow_type
from braid.records.column_checks import ColumnChecks
from braid.records.record_columns import OFFSET, PARTITION, TIMESTAMP
from braid.records.stream_plan import StreamPlan
from braid.records.table_columns import table_columns
from braid.schemas import OnDelete

_KINDS: Final = tuple(kind.symbol for kind in RowKind)
_SHOWN_MAX: Final = 3
_ROWS_MAX: Final = (1 << 31) - 1
_TIME: Final = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """Rows that are written.

    Attributes:
        rows: Columns of the table.
        kinds: Their kinds, int8; None: all are inserts, or a column has the kinds.
        ignored: Number of rows that were left out: old values of updates, and deletes that the stream ignores.
    """

    rows: pa.RecordBatch
    kinds: pa.Array | None
    ignored: int


class RowPlan:
    """Makes the rows of one task."""

    def __init__(
        self,
        plan: StreamPlan,
        schema: TableSchema,
        *,
        turn: QueryTurn,
        task: int,
        now_ms: int,
        kind_column: str | None,
    ) -> None:
        """Prepare to make rows.

        Args:
            plan: The stream.
            schema: The table's schema.
            turn: What the batch is written with.
            task: Number of the task.
            now_ms: When the rows came, milliseconds since the epoch.
            kind_column: Name of the column with the kinds of rows; None: every row is an upsert.
        """
        self._plan = plan
        self._checks = ColumnChecks(plan, schema)
        self._turn = turn
        self._task = task
        self._now_ms = now_ms
        self._kind_column = kind_column
        self._count = 0

    def table_rows(self, batch: pa.RecordBatch) -> TableRows:
        """Return the rows of a batch of Spark, in its order.

        Raises:
            InvalidRequest: A row is refused; the message has its reason.
        """
        first, self._count = self._count, self._count + batch.num_rows
        if self._count > _ROWS_MAX:
            message = f"a task has more than {_ROWS_MAX} rows\nhint: repartition the rows"
            raise InvalidRequest(message)
        numbers = np.arange(first, self._count, dtype=np.int32)
        is_delete = np.zeros(batch.num_rows, bool)
        given = batch.num_rows
        if self._kind_column is not None:
            is_kept, is_delete = self._kinds(batch.column(self._kind_column))
            if not is_kept.all():
                batch = batch.filter(pa.array(is_kept))
                numbers, is_delete = numbers[is_kept], is_delete[is_kept]
        columns, missing = self._columns(batch, is_delete)
        faults = Faults(batch.num_rows)
        self._checks.refuse(columns, missing, faults)
        if faults:
            self._refuse(faults, numbers)
        places = pa.RecordBatch.from_pydict(
            {
                PARTITION: pa.array(numbers),
                OFFSET: pa.repeat(
                    pa.scalar(self._turn.rows + self._task, pa.int64()), len(numbers)
                ),
                TIMESTAMP: pa.repeat(pa.scalar(self._now_ms * 1_000, _TIME), len(numbers)),
            }
        )
        rows = table_columns(
            places,
            columns,
            self._plan,
            generation=self._turn.generation,
            is_delete=is_delete,
            missing=missing,
        )
        has_kinds = self._plan.spec.has_deletes and self._plan.kind_column is None
        kinds = np.where(is_delete, np.int8(RowKind.DELETE), np.int8(RowKind.INSERT))
        return TableRows(
            rows=rows,
            kinds=pa.array(kinds, pa.int8()) if has_kinds else None,
            ignored=given - batch.num_rows,
        )

    def _kinds(self, kinds: pa.Array) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which rows are written, and which of all rows are deletes."""
        is_unknown = pc.invert(pc.is_in(kinds, value_set=pa.array(_KINDS, kinds.type)))
        if pc.any(is_unknown).as_py():
            found = kinds.filter(is_unknown)[0].as_py()
            self._refuse_kind(found, f"expected one of {', '.join(_KINDS)}")
        is_delete = _equals(kinds, RowKind.DELETE)
        is_kept = ~_equals(kinds, RowKind.UPDATE_BEFORE)
        effect = self._plan.spec.on_delete
        if is_delete.any() and effect is None:
            self._refuse_kind(
                RowKind.DELETE.symbol, "the stream declares no effect of deletes (`on_delete`)"
            )
        if effect is OnDelete.IGNORE:
            is_kept &= ~is_delete
        return is_kept, is_delete

    def _refuse_kind(self, found: str | None, message: str) -> None:
        problem = Problem(field=self._kind_column or "", value=found, message=message)
        message = f"a row cannot be written to the stream {self._plan.key}"
        raise InvalidRequest(message, problems=[problem])

    def _columns(
        self, batch: pa.RecordBatch, is_delete: npt.NDArray[np.bool_]
    ) -> tuple[dict[str, pa.Array], dict[str, pa.BooleanArray]]:
        """Return the stream's columns in the forms of their types, and where kept columns have no value."""
        columns: dict[str, pa.Array] = {}
        missing: dict[str, pa.BooleanArray] = {}
        has_deletes = is_delete.any()
        for column in self._plan.columns:
            wanted = to_arrow_type(column.type)
            if column.name not in batch.schema.names:
                columns[column.name] = pa.nulls(batch.num_rows, wanted)
                missing[column.name] = pa.array(~is_delete)
                continue
            values = with_declared_digits(cut_cast(batch.column(column.name), wanted), column.type)
            if has_deletes and column.name not in self._plan.delete_columns:
                values = pc.if_else(pa.array(is_delete), pa.scalar(None, wanted), values)
            columns[column.name] = values
        return columns, missing

    def _refuse(self, faults: Faults, numbers: npt.NDArray[np.int32]) -> None:
        rows = list(faults.rows)
        problems = [
            Problem(
                field=f"task {self._task}, row {numbers[row]}",
                value=None,
                message=faults[row].message,
                hint="filter such rows, or mend them",
            )
            for row in rows[:_SHOWN_MAX]
        ]
        message = f"{len(rows)} rows cannot be written to the stream {self._plan.key}"
        raise InvalidRequest(message, problems=problems)


def _equals(kinds: pa.Array, kind: RowKind) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.equal(kinds, kind.symbol).to_numpy(zero_copy_only=False)
    return found
