"""Peak memory of a process that merges a table from Parquet files, for two sizes of the table.

The memory of a merge is bounded by the size of a batch, not by the table: it holds about
`batch_rows` records of each of the four runs, the memory for merging them, and a compressed row
group of each run. The budget is for the whole process; about a third of it is used by Python, numpy
and Arrow before the first row is read.
"""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.merging import sides

BUDGET_MB = 512
MILLIONS = (4, 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """Megabytes of one process, before and after reading a table."""

    before_mb: float
    after_mb: float


def measure_peak(table: Path) -> Peak:
    """Read a table in a process of its own.

    Raises:
        SideFailed: It cannot be read.
    """
    with sides.ours(table, cores=1) as side:
        before = side.ask("peak")
        side.ask("read")
        return Peak(before_mb=before["bytes"] / 1e6, after_mb=side.ask("peak")["bytes"] / 1e6)
