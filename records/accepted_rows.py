"""Rows of accepted records, with their kinds, as they are written to a table or tried."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults
from braid.lake import RowKind, Table, TableWriter
from braid.records.record_reader import ReadRecords
from braid.records.rows_of_records import spread_faults
from braid.records.stream_plan import StreamPlan
from braid.records.table_columns import PLACE_COLUMNS, table_columns
from braid.records.trial_writes import find_refused_rows

# The column in which rows carry their kinds to the writer; tables can have no column of this name.
_KIND = "_VALUE_KIND"


def accepted_rows(
    found: ReadRecords,
    is_accepted: npt.NDArray[np.bool_],
    plan: StreamPlan,
    *,
    generation: int,
) -> pa.RecordBatch:
    """Return the rows of the accepted records, as many as `accepted_records` returns, in the same order.

    Args:
        found: The records as they were read.
        is_accepted: Which of them are accepted; of rows of one record and key the last one is taken.
        plan: The stream.
        generation: Generation of the order of the stream's group in which the records came.
    """
    is_written = _are_written(found, is_accepted)
    # Not the messages, which are the largest part of a record.
    places = found.records.select(PLACE_COLUMNS)
    columns, missing, is_delete = found.columns, found.missing, found.is_delete
    if not is_written.all():
        mask = pa.array(is_written)
        places, is_delete = places.filter(mask), is_delete[is_written]
        columns = {name: array.filter(mask) for name, array in columns.items()}
        missing = {name: array.filter(mask) for name, array in missing.items()}
    if not places.num_rows:
        return places
    rows = table_columns(
        places, columns, plan, generation=generation, is_delete=is_delete, missing=missing
    )
    if plan.spec.has_deletes and plan.kind_column is None:
        rows = rows.append_column(_KIND, _row_kinds(is_delete))
    return rows


def accepted_records(found: ReadRecords, is_accepted: npt.NDArray[np.bool_]) -> pa.RecordBatch:
    """Return the records of `accepted_rows`, for which it has the arguments."""
    return found.records.filter(pa.array(_are_written(found, is_accepted)))


def write_rows(writer: TableWriter, rows: pa.RecordBatch) -> None:
    """Give rows and their kinds to a writer."""
    without_kinds, kinds = split_kinds(rows)
    writer.write(without_kinds, kinds=kinds)


def split_kinds(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array | None]:
    """Return rows without the column of their kinds, and the kinds; None: the writer knows them."""
    if _KIND not in batch.schema.names:
        return batch, None
    return batch.drop_columns([_KIND]), batch.column(_KIND)


def commit_rows(table: Table, rows: pa.RecordBatch) -> None:
    """Write rows with their kinds to a table, and commit them as one snapshot that is no part of a stream."""
    without_kinds, kinds = split_kinds(rows)
    table.write_and_commit(without_kinds, kinds=kinds)


def faults_of_refused_rows(
    table: Table, rows: pa.Table, record_of: npt.NDArray[np.int64] | None
) -> Faults:
    """Return the faults of the rows that a table refuses; nothing is written.

    Args:
        table: The table.
        rows: Rows with their kinds.
        record_of: For each row the number of its record, ascending; all rows of a record share the fault of one of them.
            None: each record has one row.
    """

    def attempt(some: pa.Table) -> None:
        without_kinds, kinds = split_kinds(one_batch(some))
        table.try_rows(without_kinds, kinds=kinds)

    found = find_refused_rows(rows, attempt)
    assert all(0 <= row < rows.num_rows for row in found), "refused rows are positions"
    faults = Faults(rows.num_rows)
    for row, reason in found.items():
        message = f"the table refuses the row: {reason}"
        faults.add(row, Fault(DeadLetterReason.REFUSED_ROW, message))
    if found and record_of is not None:
        spread_faults(faults, record_of)
    return faults


def one_batch(rows: pa.Table) -> pa.RecordBatch:
    """Return the rows as one batch."""
    # A table without rows has no batch.
    (batch,) = rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]
    return batch


def _are_written(found: ReadRecords, is_accepted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    return is_accepted if found.is_replaced is None else is_accepted & ~found.is_replaced


def _row_kinds(is_delete: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.array(
        np.where(is_delete, np.int8(RowKind.DELETE), np.int8(RowKind.INSERT)), pa.int8()
    )
