"""Latency of small commits to a young table, and to two old tables with ten thousand commits.

One of the old tables was maintained with the default options: it was compacted, and its snapshots expired.
The other old table was not maintained: every file that was ever written is live, and every snapshot
exists. The measured commits go to the tables in turn, so a disturbance of the machine affects all of them.
Every commit waits for the disk. Compactions and expiries between the commits are not counted.
"""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from benchmarks.compaction.history import (
    CommitHistory,
    Maintainer,
    now_after,
    rows_of,
    write_histories,
)
from braid.lake import Table
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.faulty_file_io import FaultyFileIO

YOUNG, OLD = 10, 10_000
SAMPLE = 200
COMMITS_PER_OPENING = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLatency:
    """The cost of commits to one table, writing the file of their rows included.

    Attributes:
        history: The table's.
        median_ms: Until a commit is durable.
        p99_ms: The same; of two hundred, the third slowest.
        cpu_ms: Processor time, the median.
        calls: Of storage, the mean.
        opened_ms: Opening the table and the first commit, the median.
        snapshots: On storage at the end.
        live_files: At the end.
        manifests: That the newest snapshot names, at the end.
    """

    history: CommitHistory
    median_ms: float
    p99_ms: float
    cpu_ms: float
    calls: float
    opened_ms: float
    snapshots: int
    live_files: int
    manifests: int


def measure_latency(
    folder: Path, progress: Callable[[str], None], *, commits: int, sample: int = SAMPLE
) -> list[CommitLatency]:
    """Return the cost of commits, the young table first.

    Args:
        folder: Where the tables are written.
        progress: Called with the current step.
        commits: Made to the old tables before.
        sample: Commits to measure on each.
    """
    histories = [
        CommitHistory(
            name=f"after {commits:,}, never maintained", commits=commits, is_maintained=False
        ),
        CommitHistory(name=f"after {commits:,}, maintained", commits=commits, is_maintained=True),
        CommitHistory(name=f"after {YOUNG}", commits=YOUNG, is_maintained=True),
    ]
    progress(f"twice {commits:,} commits")
    paths = write_histories(folder, histories)
    # Else the first commits that are measured would wait for unwritten pages of the history.
    os.sync()
    tables = [_Measured(history, paths[history.name]) for history in reversed(histories)]
    progress(f"{sample} commits to each")
    for number in range(sample):
        for table in tables:
            table.commit()
            if number % COMMITS_PER_OPENING == 0:
                table.open_and_commit()
    return [table.latency() for table in tables]


@dataclass
class _Measured:
    """A table, and the times of its commits so far."""

    history: CommitHistory
    path: Path
    wall_ms: list[float] = field(default_factory=list, init=False)
    cpu_ms: list[float] = field(default_factory=list, init=False)
    opened_ms: list[float] = field(default_factory=list, init=False)
    calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._clock = now_after(self.history)
        self._file_io = FaultyFileIO(LocalFileIO())
        self._number = self.history.commits
        self._table = self._open()
        self._maintainer = Maintainer(self._table, self.history, self._clock)
        # The first commit of a process reads what later ones have cached.
        self._table.write_and_commit(self._rows())

    def commit(self) -> None:
        """Commit to the table like a process that has committed before."""
        rows = self._rows()
        calls = len(self._file_io.calls)
        wall, cpu = time.perf_counter(), time.process_time()
        self._table.write_and_commit(rows)
        self.wall_ms.append(1_000 * (time.perf_counter() - wall))
        self.cpu_ms.append(1_000 * (time.process_time() - cpu))
        self.calls += len(self._file_io.calls) - calls
        self._maintainer.after_commit()

    def open_and_commit(self) -> None:
        """Commit to the table like a process that has just started."""
        rows = self._rows()
        wall = time.perf_counter()
        self._open().write_and_commit(rows)
        self.opened_ms.append(1_000 * (time.perf_counter() - wall))

    def latency(self) -> CommitLatency:
        """Return what was measured."""
        snapshots = SnapshotStore(self._file_io, self._table.paths)
        newest = snapshots.latest()
        assert newest is not None
        manifests = ManifestStore(self._file_io, self._table.paths)
        return CommitLatency(
            history=self.history,
            median_ms=statistics.median(self.wall_ms),
            p99_ms=sorted(self.wall_ms)[-1 - len(self.wall_ms) // 100],
            cpu_ms=statistics.median(self.cpu_ms),
            calls=self.calls / len(self.wall_ms),
            opened_ms=statistics.median(self.opened_ms),
            snapshots=len(snapshots.list_ids()),
            live_files=len(self._table.live_files(newest)),
            manifests=len(manifests.read_list(newest.base_manifest_list)),
        )

    def _open(self) -> Table:
        return Table.open(str(self.path), file_io=self._file_io, clock=self._clock)

    def _rows(self) -> pa.Table:
        self._number += 1
        return rows_of(self._number - 1)
