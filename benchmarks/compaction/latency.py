"""How long a small commit takes on a young table and on one with ten thousand commits.

Whatever is due is compacted every ten commits; time for that is not counted. Without expiry the
number of snapshots grows, so what is measured is whether a commit minds.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bulk_rows import GROUPED_COLUMNS, GROUPED_OPTIONS, grouped_rows
from lake import Catalog
from lake.maintenance.compaction_picks import CompactionMemory

YOUNG, OLD = 10, 10_000
SAMPLE = 100
ROWS_OF_A_COMMIT = 20
KEYS = 100_000
COMMITS_PER_COMPACTION = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLatency:
    """Milliseconds of commits of a table of some age.

    Attributes:
        commits: Before the first of them.
        median_ms: Of writing and committing.
        p99_ms: The same; of a hundred, the second slowest.
        live_files: At the end.
    """

    commits: int
    median_ms: float
    p99_ms: float
    live_files: int


def measure_latency(
    folder: Path, progress: Callable[[str], None], *, ages: tuple[int, ...]
) -> list[CommitLatency]:
    """Return the latency at each age of one table."""
    table = Catalog(str(folder)).create_table(
        "bench.latency",
        columns=GROUPED_COLUMNS,
        primary_key=["k"],
        options={**GROUPED_OPTIONS, "fields.d.aggregate-function": "sum"},
    )
    memory = CompactionMemory()
    milliseconds: list[float] = []
    found: list[CommitLatency] = []
    for number in range(ages[-1] + SAMPLE):
        rows = grouped_rows(number * ROWS_OF_A_COMMIT, ROWS_OF_A_COMMIT, keys=KEYS)
        start = time.perf_counter()
        table.write_and_commit(rows)
        milliseconds.append(1_000 * (time.perf_counter() - start))
        if (number + 1) % COMMITS_PER_COMPACTION == 0:
            table.compact(full=False, memory=memory)
        if number + 1 - SAMPLE in ages:
            snapshot = table.latest_snapshot()
            assert snapshot is not None
            sample = sorted(milliseconds[-SAMPLE:])
            found.append(
                CommitLatency(
                    commits=number + 1 - SAMPLE,
                    median_ms=statistics.median(sample),
                    p99_ms=sample[-2],
                    live_files=len(table.live_files(snapshot)),
                )
            )
        if (number + 1) % 1_000 == 0:
            progress(f"{number + 1} commits")
    return found
