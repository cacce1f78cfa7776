"""Table columns of parsed records: conversion to the table's names and Arrow types."""

from collections.abc import Callable, Container

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake import (
    OFFSET_MAX,
    DataType,
    LimitExceeded,
    TypeRoot,
    stored_offset,
    to_arrow_type,
)
from braid.pipelines.record_columns import OFFSET, PARTITION, TIMESTAMP, value_column
from braid.pipelines.spark.arrow_cast import cut_cast
from braid.pipelines.stream_plan import StreamPlan
from braid.registry.layout.physical_table import OP_UPSERT

_AT_TYPE = pa.timestamp("ms", tz="UTC")


def table_columns(
    batch: pa.RecordBatch,
    plan: StreamPlan,
    *,
    generation: int = 0,
    only: Container[str] | None = None,
) -> pa.RecordBatch:
    """Return the columns that the stream writes, under the table's names and in its types.

    Args:
        batch: Accepted records from `parse.RecordParser`.
        plan: The stream.
        generation: Generation of the order of the stream's group.
        only: The columns to return, out of those that are filled from messages; None: all columns,
            generated ones included.

    Returns:
        The same number of rows, in the same order. Where a record has no ordering value and the stream
        clears such records, every column of its group is null.

    Raises:
        LimitExceeded: An offset is larger than the largest that can be stored.
    """
    columns = {
        column.name: to_table_array(batch.column(value_column(index)), column.type)
        for index, column in enumerate(plan.columns)
        if only is None or column.name in only
    }
    if only is not None:
        return pa.RecordBatch.from_pydict(columns)
    generated: dict[str | None, Callable[[], pa.Array]] = {
        plan.written.partition_column: lambda: batch.column(PARTITION),
        plan.written.offset_column: lambda: _stored_offsets(batch.column(OFFSET), generation),
        plan.written.at_column: lambda: cut_cast(batch.column(TIMESTAMP), _AT_TYPE),
        plan.written.op_column: lambda: pa.repeat(pa.scalar(OP_UPSERT), batch.num_rows),
    }
    columns.update({name: make() for name, make in generated.items() if name is not None})
    if plan.ordering and plan.clears_null_ordering:
        _clear_unordered(columns, plan)
    return pa.RecordBatch.from_pydict(columns)


def to_table_array(array: pa.Array, data_type: DataType) -> pa.Array:
    """Return an array from Spark in the Arrow form of the table's type.

    Timestamps are cut, not rounded, to the digits of their column, as the format's writers do.
    """
    wanted = to_arrow_type(data_type)
    is_timestamp = data_type.root in (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
    if is_timestamp and not pa.types.is_timestamp(
        array.type
    ):  # nanoseconds: Spark has no such type
        return array.cast(pa.int64()).cast(wanted)
    return cut_cast(array, wanted)


def _stored_offsets(offsets: pa.Array, generation: int) -> pa.Array:
    highest = pc.max(offsets).as_py()
    if highest is not None and highest > OFFSET_MAX:
        message = f"Kafka's offset {highest} is above {OFFSET_MAX}, the largest that can be stored"
        raise LimitExceeded(message)
    return pc.add(offsets, pa.scalar(stored_offset(generation, 0), pa.int64()))


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
