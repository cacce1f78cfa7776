"""Latency of small commits on a young table and on two with ten thousand commits.

One of the old ones was looked after as a table is by default: compacted, its snapshots expired. The
other by nobody: every file that was ever written is live, every snapshot is there. The commits that
are measured go to the tables in turn, so that whatever disturbs the machine disturbs all of them,
and every one of them waits for the disk. Compactions and expiries between them are not counted.
"""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from benchmarks.compaction.history import Caretaker, Past, now_after, rows_of, write_pasts
from lake import Table
from lake.files.storage.local import LocalFileIO
from lake.snapshots.manifest_store import ManifestStore
from lake.snapshots.snapshot_store import SnapshotStore
from tests.support.faulty_file_io import FaultyFileIO

YOUNG, OLD = 10, 10_000
SAMPLE = 200
COMMITS_PER_OPENING = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLatency:
    """What commits to one table cost, writing the file of their rows included.

    Attributes:
        past: Of the table.
        median_ms: Until a commit is durable.
        p99_ms: The same; of two hundred, the third slowest.
        cpu_ms: Processor time, the median.
        calls: Of storage, the mean.
        opened_ms: Opening the table and the first commit, the median.
        snapshots: On storage at the end.
        live_files: At the end.
        manifests: That the newest snapshot names, at the end.
    """

    past: Past
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
    """Return what commits cost, on the young table first.

    Args:
        folder: Where the tables are written.
        progress: Told what is going on.
        commits: Made before, of the old tables.
        sample: Commits to measure on each.
    """
    pasts = [
        Past(name=f"after {commits:,}, never looked after", commits=commits, is_maintained=False),
        Past(name=f"after {commits:,}, looked after", commits=commits, is_maintained=True),
        Past(name=f"after {YOUNG}", commits=YOUNG, is_maintained=True),
    ]
    progress(f"twice {commits:,} commits")
    paths = write_pasts(folder, pasts)
    # Or the first commits that are measured wait for what the past left in memory.
    os.sync()
    tables = [_Measured(past, paths[past.name]) for past in reversed(pasts)]
    progress(f"{sample} commits to each")
    for number in range(sample):
        for table in tables:
            table.commit()
            if number % COMMITS_PER_OPENING == 0:
                table.open_and_commit()
    return [table.latency() for table in tables]


@dataclass
class _Measured:
    """A table and what its commits have taken so far."""

    past: Past
    path: Path
    wall_ms: list[float] = field(default_factory=list, init=False)
    cpu_ms: list[float] = field(default_factory=list, init=False)
    opened_ms: list[float] = field(default_factory=list, init=False)
    calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._clock = now_after(self.past)
        self._file_io = FaultyFileIO(LocalFileIO())
        self._number = self.past.commits
        self._table = self._open()
        self._caretaker = Caretaker(self._table, self.past, self._clock)
        # The first commit of a process reads what later ones remember.
        self._table.write_and_commit(self._rows())

    def commit(self) -> None:
        """Commit to the table as a process does that has committed before."""
        rows = self._rows()
        calls = len(self._file_io.calls)
        wall, cpu = time.perf_counter(), time.process_time()
        self._table.write_and_commit(rows)
        self.wall_ms.append(1_000 * (time.perf_counter() - wall))
        self.cpu_ms.append(1_000 * (time.process_time() - cpu))
        self.calls += len(self._file_io.calls) - calls
        self._caretaker.after_commit()

    def open_and_commit(self) -> None:
        """Commit to the table as a process does that begins."""
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
            past=self.past,
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
