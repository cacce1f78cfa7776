"""Chunks of Kafka records: many records of one task as the bytes of an Arrow stream, which Spark shuffles as one row.

Spark handles a shuffled row several times: it is copied out of Arrow, written, sorted, read and copied into Arrow. For
single records this takes more processor time than all else that ingest does; for chunks it is a copy of bytes.

| column of a chunk | type | meaning |
|---|---|---|
| TASK | int32 | number of the task that writes its records |
| FIRST_OFFSET, FIRST_PARTITION | int64, int32 | the least offset in the chunk, and the least partition that has it |
| RECORDS | binary | an Arrow stream of one batch of records (`record_columns`) |
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.records.record_columns import OFFSET, PARTITION

TASK: Final = "task"
FIRST_OFFSET: Final = "first_offset"
FIRST_PARTITION: Final = "first_partition"
RECORDS: Final = "records"
CHUNK_COLUMNS: Final = f"{TASK} int, {FIRST_OFFSET} bigint, {FIRST_PARTITION} int, {RECORDS} binary"
"""The columns as Spark writes a schema."""

_ORDER: Final = [(OFFSET, "ascending"), (PARTITION, "ascending")]


def pack_chunks(records: pa.RecordBatch, task_of: np.ndarray) -> pa.RecordBatch:
    """Return a chunk for each task that has some of the records, which keep their order within it.

    Args:
        records: At least one record.
        task_of: Number of the task of each record, int32.
    """
    tasks = np.unique(task_of)
    firsts: list[tuple[int, int]] = []
    packed = pa.BufferOutputStream()
    ends = [0]
    for task in tasks:
        chunk = records.filter(pa.array(task_of == task))
        firsts.append(_first(chunk))
        with pa.ipc.new_stream(packed, chunk.schema) as stream:
            stream.write_batch(chunk)
        ends.append(packed.tell())
    buffers = [None, pa.py_buffer(np.array(ends, dtype=np.int32)), packed.getvalue()]
    return pa.RecordBatch.from_pydict(
        {
            TASK: pa.array(tasks, pa.int32()),
            FIRST_OFFSET: pa.array([offset for offset, _ in firsts], pa.int64()),
            FIRST_PARTITION: pa.array([partition for _, partition in firsts], pa.int32()),
            RECORDS: pa.BinaryArray.from_buffers(pa.binary(), len(tasks), buffers),
        }
    )


def unpack_chunks(chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the records of each chunk, in the order of the chunks."""
    for batch in chunks:
        for packed in batch.column(RECORDS):
            with pa.ipc.open_stream(packed.as_buffer()) as stream:
                yield from stream


def unpack_in_order(chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the records of all chunks by offset, then partition.

    Args:
        chunks: By FIRST_OFFSET, then FIRST_PARTITION. Records are held until a chunk begins behind them: as many as there
            are in chunks that overlap.
    """
    held: pa.Table | None = None
    for batch in chunks:
        firsts = zip(batch.column(FIRST_OFFSET), batch.column(FIRST_PARTITION), strict=True)
        for first, records in zip(firsts, unpack_chunks(iter([batch])), strict=True):
            if held is not None:
                ready, held = _part(held, *first)
                yield from _sorted(ready)
            table = pa.Table.from_batches([records])
            held = table if held is None else pa.concat_tables([held, table])
    if held is not None:
        yield from _sorted(held)


def _first(records: pa.RecordBatch) -> tuple[int, int]:
    """Return the least offset, and the least partition that has it."""
    offset = pc.min(records.column(OFFSET))
    has_it = pc.equal(records.column(OFFSET), offset)
    return offset.as_py(), pc.min(records.column(PARTITION).filter(has_it)).as_py()


def _part(held: pa.Table, offset: pa.Scalar, partition: pa.Scalar) -> tuple[pa.Table, pa.Table]:
    """Return the records before a place, and the others."""
    offsets = held.column(OFFSET)
    is_before = pc.or_(
        pc.less(offsets, offset),
        pc.and_(pc.equal(offsets, offset), pc.less(held.column(PARTITION), partition)),
    )
    return held.filter(is_before), held.filter(pc.invert(is_before))


def _sorted(records: pa.Table) -> Iterator[pa.RecordBatch]:
    if records.num_rows:
        yield from records.sort_by(_ORDER).combine_chunks().to_batches()
