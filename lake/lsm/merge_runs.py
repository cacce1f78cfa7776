"""Streaming merge of sorted runs in memory bounded by the number of runs and the size of batches.

Each round:

1. Every run with rows left to read is read until about `batch_rows` of its rows, or `batch_bytes`,
   are buffered. The budget that short runs leave unused is divided among the runs in proportion to
   the rows that the last round took from each. Otherwise a large run beside many small ones would
   take a round for each of its batches, which is costly because each round compares all buffered
   rows.
2. The *bound* is the smallest of the last buffered keys of the runs with rows left to read: every row up to the
   bound is buffered.
3. The rows up to the bound are merged and yielded; the others stay buffered, as slices.

The round takes all buffered rows of the run that set the bound, so every round makes progress. When one
run is left, its keys occur nowhere else, so its batches are passed on as they are, or merged batch by
batch if single records have to be merged too.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from braid.lake.errors import CorruptData
from braid.lake.files.row_groups import ROW_GROUP_ROWS
from braid.lake.lsm.round_merge import RoundMerge
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.order.key_order import key_codes

BUFFERED_ROWS: Final = 524_288
"""Approximate number of rows of all runs of a section that are buffered; each run has bounds of its own, too."""

BUFFERED_BYTES: Final = 256 * 1024 * 1024
"""Approximate bytes of these rows: far less than the 2 GiB that a text column can hold in one array."""

# Fewest and most rows that are buffered of one run. Of several runs a row group each: with two row groups a merge takes
# as long, and 75 MB more memory for four runs of ten columns.
_ROWS_PER_RUN: Final = (1_024, ROW_GROUP_ROWS)
_ROWS_OF_SINGLE_RUN: Final = 65_536
_BYTES_PER_RUN_MIN: Final = 1024 * 1024


def rows_per_run(runs: int) -> int:
    """Return how many rows of each run to buffer, given the number of runs."""
    if runs == 1:
        return _ROWS_OF_SINGLE_RUN
    low, high = _ROWS_PER_RUN
    return min(high, max(low, BUFFERED_ROWS // runs))


def bytes_per_run(runs: int) -> int:
    """Return how many bytes of each run to buffer, given the number of runs."""
    return max(_BYTES_PER_RUN_MIN, BUFFERED_BYTES // runs)


def merge_runs(
    runs: Sequence[Iterator[pa.RecordBatch]],
    merge: RoundMerge,
    *,
    batch_rows: int = 65_536,
    batch_bytes: int = BUFFERED_BYTES,
) -> Iterator[pa.Table]:
    """Yield the merge of the runs as key-disjoint tables in ascending key order.

    Args:
        runs: The runs, oldest first. Each yields key-value batches of one schema, ascending by key, a
            key at most once per run. They are consumed lazily.
        merge: Merges the records of a range of keys.
        batch_rows: Approximate number of rows buffered per run, at least 1; on average over the runs
            at most twice as many are buffered.
        batch_bytes: The same bound in bytes; the bound that is reached first counts.

    Yields:
        Tables of at least one row, retracts kept; together what `merge` gives for all records at
        once.

    Raises:
        CorruptData: A run is out of order or repeats a key; checked while it overlaps another run.
    """
    assert batch_rows > 0, batch_rows
    assert batch_bytes > 0, batch_bytes
    live = [_Run(batches, batch_rows, batch_bytes) for batches in runs]
    bound: pa.Table | None = None
    while True:
        _fill(live, rows=batch_rows * len(runs), size=batch_bytes * len(runs))
        live = [run for run in live if run.rows.num_rows]
        if len(live) <= 1:
            break
        taken, codes, bound = _take_round(live, merge.spec.key_columns, bound)
        merged = merge.merge(taken, codes)
        # The next round begins with reading batches, and these rows would be in memory beside them.
        del taken, codes
        if merged.num_rows:
            yield merged
        del merged
    for run in live:
        for table in run.rest():
            merged = (
                merge.pass_singletons(table)
                if merge.passes_singletons
                else merge.merge(table, None)
            )
            del table
            if merged.num_rows:
                yield merged
            del merged


class _Run:
    """One sorted run: its buffered rows and the batches to come."""

    def __init__(
        self, batches: Iterator[pa.RecordBatch], batch_rows: int, batch_bytes: int
    ) -> None:
        self._batches = batches
        self._batch_rows = batch_rows
        self._batch_bytes = batch_bytes
        self._rest = pa.table({})  # rows left of a batch that exceeds the byte budget
        self._rows_read = 0
        self._bytes_read = 0
        self.has_more = True
        self.rows = pa.table({})
        self.taken = 0

    @property
    def size(self) -> int:
        """Return the approximate bytes of the buffered rows."""
        # Estimated from the average size of the rows read so far.
        rows: int = self.rows.num_rows
        return rows * self._bytes_read // max(1, self._rows_read)

    def fill(self, *, more_rows: int = 0, more_bytes: int = 0) -> None:
        """Read until enough rows are buffered or the run ends.

        Args:
            more_rows: Number of rows to buffer beyond the present ones, where that exceeds the run's
                own budget.
            more_bytes: The same in bytes.
        """
        rows = max(self._batch_rows, self.rows.num_rows + more_rows)
        size = max(self._batch_bytes, self.size + more_bytes)
        parts = [self.rows] if self.rows.num_rows else []
        count, held = self.rows.num_rows, self.size
        while self.has_more and count < rows and held < size:
            part = self._next()
            if part is None:
                self.has_more = False
            elif part.num_rows:
                parts.append(part)
                count += part.num_rows
                held += part.nbytes
        if parts:
            self.rows = pa.concat_tables(parts)

    def _next(self) -> pa.Table | None:
        """Return the next rows of one batch, within the byte budget; None at the end."""
        part = self._rest
        if not part.num_rows:
            batch = next(self._batches, None)
            if batch is None:
                return None
            part = pa.Table.from_batches([batch])
            self._rows_read += part.num_rows
            self._bytes_read += part.nbytes
        count = part.num_rows
        if part.nbytes > self._batch_bytes:
            # At least one row: otherwise a row above the budget would never be read.
            count = max(1, count * self._batch_bytes // part.nbytes)
        self._rest = part.slice(count)
        return part.slice(0, count)

    def take(self, count: int) -> pa.Table:
        """Return the first buffered rows and remove them from the buffer."""
        assert count <= self.rows.num_rows, "only buffered rows can be taken"
        taken, self.rows = self.rows.slice(0, count), self.rows.slice(count)
        self.taken = count
        return taken

    def rest(self) -> Iterator[pa.Table]:
        """Yield the buffered rows, then every batch to come."""
        if self.rows.num_rows:
            yield self.take(self.rows.num_rows)
        while self.has_more:
            self.fill()
            if self.rows.num_rows:
                yield self.take(self.rows.num_rows)


def _fill(runs: Sequence[_Run], *, rows: int, size: int) -> None:
    """Fill the buffer of every run; the unused budget goes to runs by their share of the last round.

    Args:
        runs: Runs with rows buffered or left to read.
        rows: Number of rows to buffer of all runs together.
        size: The same in bytes.
    """
    free_rows = max(0, rows - sum(run.rows.num_rows for run in runs))
    free_bytes = max(0, size - sum(run.size for run in runs))
    taken = sum(run.taken for run in runs)
    for run in runs:
        part = run.taken / taken if taken else 0.0
        run.fill(more_rows=int(free_rows * part), more_bytes=int(free_bytes * part))


def _take_round(
    runs: Sequence[_Run], key_columns: Sequence[str], previous_bound: pa.Table | None
) -> tuple[pa.Table, Uints, pa.Table]:
    """Return all rows up to this round's bound, their codes, and the bound as a table of one row.

    Args:
        runs: At least two runs, oldest first, each with rows buffered.
        key_columns: The key, in order.
        previous_bound: Bound of the last round, to check that all keys are above it; None in the first.
    """
    # Codes compare only within one call, so the keys of all runs, and the bound, are coded together.
    keys = [run.rows.select(key_columns) for run in runs]
    every = keys if previous_bound is None else [previous_bound, *keys]
    codes = key_codes(pa.concat_tables(every).columns)
    begins = np.cumsum([len(part) for part in every])[:-1]
    parts = np.split(codes, begins)
    after = None if previous_bound is None else parts.pop(0)[0]
    for part in parts:
        _check_ascending(part, after)
    lasts = [part[-1] for part in parts]
    ends = [last for last, run in zip(lasts, runs, strict=True) if run.has_more]
    # A run that has ended sets no bound; when all have ended, everything is taken.
    bound = min(ends, default=max(lasts))
    counts = [int(np.searchsorted(part, bound, side="right")) for part in parts]
    setter = lasts.index(bound)
    bound_key = keys[setter].slice(len(keys[setter]) - 1)
    assert any(counts), "the run that sets the bound gives its rows, so rounds come to an end"
    taken = [run.take(count) for run, count in zip(runs, counts, strict=True)]
    taken_codes = [part[:count] for part, count in zip(parts, counts, strict=True)]
    return pa.concat_tables(taken), np.concatenate(taken_codes), bound_key


def _check_ascending(codes: Uints, after: np.uint64 | None) -> None:
    ascending = bool((codes[1:] > codes[:-1]).all())
    if ascending and (after is None or codes[0] > after):
        return
    text = "a sorted run is out of order or repeats a key"
    raise CorruptData(text)
