"""Gathering of the small batches that Spark passes to a task: messages are read in larger ones."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from braid.records.accepted_rows import one_batch

# Reading has costs for each batch and column, which 16,384 messages make small; more of them leave the caches.
GATHERED_ROWS: Final = 16_384
GATHERED_BYTES: Final = 32 << 20
"""A task holds a few gathered batches of messages, which can be large."""


def gather_batches(
    batches: Iterator[pa.RecordBatch],
    *,
    rows_min: int = GATHERED_ROWS,
    bytes_min: int = GATHERED_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the batches in the same order, in batches of at least one row.

    Args:
        batches: Batches of one schema.
        rows_min: A batch is yielded once it has as many rows,
        bytes_min: or as many bytes; the last one may have fewer of both.
    """
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= rows_min or size >= bytes_min:
            yield _joined(held)
            held, rows, size = [], 0, 0
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else one_batch(pa.Table.from_batches(batches))
