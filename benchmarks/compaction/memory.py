"""Peak memory of a process that compacts a table fully.

The program measures it at two sizes of the table. What a compaction holds is bounded by batches and
runs, not by the table: the rows at hand of the runs of a section, what folding them takes, and the row
group that is being written. The budget is that of reading, and for the whole process.
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
