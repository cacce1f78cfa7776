"""Table columns of accepted records: those that are read from records, and the generated ones."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrow_cast import cut_cast
from braid.lake import OFFSET_MAX, LimitExceeded, comparable_bytes, stored_offset
from braid.records.record_columns import OFFSET, PARTITION, TIMESTAMP
from braid.records.stream_plan import StreamPlan
from braid.registry.layout.physical_table import OP_CLEAR, OP_UPSERT

PLACE_COLUMNS = (PARTITION, OFFSET, TIMESTAMP)
"""The columns of records that rows are made from, beside those that are read."""
_AT_TYPE = pa.timestamp("ms", tz="UTC")


def table_columns(
    records: pa.RecordBatch,
    columns: Mapping[str, pa.Array],
    plan: StreamPlan,
    *,
    generation: int = 0,
    is_delete: npt.NDArray[np.bool_] | None = None,
    missing: Mapping[str, pa.BooleanArray] | None = None,
) -> pa.RecordBatch:
    """Return the columns that the stream writes.

    Args:
        records: Accepted Kafka records (`record_columns`), at least their `PLACE_COLUMNS`.
        columns: The columns that are read from them, by name, in the Arrow forms of their types.
        plan: The stream.
        generation: Generation of the order of the stream's group.
        is_delete: Whether each record is a delete; None: none is.
        missing: By name of a kept column, where a record leaves the column as it is in the row; a column
            that is not named has a value, or null, in every record.

    Returns:
        The same number of rows, in the same order. Where a record has no ordering value and the stream
        clears such records, every column of its group is null.

    Raises:
        LimitExceeded: An offset is larger than the largest that can be stored.
    """
    rows = dict(columns)
    generated: dict[str | None, Callable[[], pa.Array]] = {
        plan.written.partition_column: lambda: records.column(PARTITION),
        plan.written.offset_column: lambda: _stored_offsets(records.column(OFFSET), generation),
        plan.written.at_column: lambda: cut_cast(records.column(TIMESTAMP), _AT_TYPE),
        plan.written.op_column: lambda: _ops(records.num_rows, is_delete),
    }
    rows.update({name: make() for name, make in generated.items() if name is not None})
    _order_kept(rows, plan, missing or {})
    if plan.ordering and plan.clears_null_ordering:
        _clear_unordered(rows, plan)
    return pa.RecordBatch.from_pydict(rows)


def _ops(count: int, is_delete: npt.NDArray[np.bool_] | None) -> pa.Array:
    upserts = pa.repeat(pa.scalar(OP_UPSERT), count)
    if is_delete is None or not is_delete.any():
        return upserts
    return pc.if_else(pa.array(is_delete), OP_CLEAR, upserts)


def _stored_offsets(offsets: pa.Array, generation: int) -> pa.Array:
    highest = pc.max(offsets).as_py()
    if highest is not None and highest > OFFSET_MAX:
        message = f"Kafka's offset {highest} is above {OFFSET_MAX}, the largest that can be stored"
        raise LimitExceeded(message)
    return pc.add(offsets, pa.scalar(stored_offset(generation, 0), pa.int64()))


def _order_kept(
    columns: dict[str, pa.Array], plan: StreamPlan, missing: Mapping[str, pa.BooleanArray]
) -> None:
    """Add the order of each kept column: that of the group; null where the column is missing."""
    group = plan.written.group
    if group is None or not group.kept_columns:
        return
    order = comparable_bytes([columns[name] for name in group.ordering])
    nothing = pa.scalar(None, order.type)
    for kept in group.kept_columns:
        is_missing = missing.get(kept.name)
        columns[kept.order_column] = (
            order if is_missing is None else pc.if_else(is_missing, nothing, order)
        )


def _clear_unordered(columns: dict[str, pa.Array], plan: StreamPlan) -> None:
    # Arrival, which completes the order, is nulled as well: the merge skips a group only where all of its
    # ordering columns are null.
    unordered = [columns[name].is_null() for name in plan.ordering]
    mask = unordered[0]
    for other in unordered[1:]:
        mask = pc.and_(mask, other)
    if not pc.any(mask).as_py():
        return
    for name in plan.group_columns:
        if name in columns:
            nothing = pa.scalar(None, type=columns[name].type)
            columns[name] = pc.if_else(mask, nothing, columns[name])
