"""Peak memory of a process that compacts a table fully.

The program measures two sizes of the table. The memory of a compaction is bounded by the sizes of
batches and the number of runs, not by the table: it holds the current rows of the runs that are
merged, the memory for merging them, and the row group that is being written. The budget is the same as
for reading, and includes the whole process.
"""

from pathlib import Path

from benchmarks.compaction import sides
from benchmarks.merging.memory import Peak


def measure_compaction_peak(table: Path) -> Peak:
    """Compact a table in a process of its own.

    Raises:
        SideFailed: It cannot be compacted.
    """
    with sides.ours(cores=1) as side:
        before = side.ask(do="peak")
        side.compact(table)
        return Peak(before_mb=before["bytes"] / 1e6, after_mb=side.ask(do="peak")["bytes"] / 1e6)
