"""Costs of a table: processor time of reading all its rows, and bytes of its files."""

import time

from braid.lake import Table


def read_s(table: Table) -> float:
    """Return the processor time of a merging read of all rows, in seconds."""
    started = time.process_time()
    for batch in table.scan().to_batches():
        assert batch.num_rows
    return time.process_time() - started


def file_bytes(table: Table) -> int:
    """Return the size of the data files of the newest snapshot, in bytes."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return sum(entry.file.file_size for entry in table.live_files(snapshot))
