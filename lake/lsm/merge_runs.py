"""A streaming merge of sorted runs whose memory depends on runs and batches, not on their size."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lake.merge.fold import FoldCounters, Machine
from lake.merge.spec import MergeSpec


def merge_runs(
    runs: Sequence[Iterator[pa.RecordBatch]],
    spec: MergeSpec,
    *,
    batch_rows: int = 65_536,
    machine: Machine = Machine.COLUMN,
    counters: FoldCounters | None = None,
) -> Iterator[pa.Table]:
    """Yield the merge of the runs, key-disjoint tables in ascending key order.

    Args:
        runs: Oldest first. Each yields key-value batches of one schema, ascending by key, a key
            at most once per run. Consumed lazily, one batch ahead.
        spec: How the table's records merge.
        batch_rows: Batches of a run are gathered to about this many rows before a round.
        machine: Which execution folds.
        counters: Added to when given.

    Yields:
        Tables of at least one row, retracts kept; together what `fold` gives for all runs at once.

    Raises:
        CorruptData: A run is out of order or repeats a key.
    """
    raise NotImplementedError
