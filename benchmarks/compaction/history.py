"""Commit histories: tables with many small commits, which are maintained with the default options or not at all.

A history is written without waiting for the disk; ten thousand commits take a hundred seconds. A manual
clock advances by ten seconds between two commits. So the hour for which snapshots are kept by default has
360 commits.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa

from benchmarks.bulk_rows import GROUPED_COLUMNS, GROUPED_OPTIONS, grouped_rows
from braid.lake import Catalog, Table
from braid.lake.files.clock import ManualClock
from braid.lake.files.storage.disk import SystemDisk
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory

ROWS_OF_A_COMMIT = 20
KEYS = 100_000
COMMITS_PER_COMPACTION = 10
# An expiry takes no more than `snapshot.expire.limit` snapshots, by default 50.
COMMITS_PER_EXPIRY = 20
MS_BETWEEN_COMMITS = 10_000
_OPTIONS = {**GROUPED_OPTIONS, "fields.d.aggregate-function": "sum"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitHistory:
    """The history of one table.

    Attributes:
        name: Of the table, also in the printed report.
        commits: The number of commits so far.
        is_maintained: Whether due compactions run and snapshots expire, by the default options.
    """

    name: str
    commits: int
    is_maintained: bool


class UnsyncedDisk(SystemDisk):
    """Local files that a power cut may lose; for one writing process."""

    def sync(self, descriptor: int) -> None:
        """Do nothing."""

    def sync_directory(self, path: str) -> None:
        """Do nothing."""


class Maintainer:
    """Maintains one table, between its commits."""

    def __init__(self, table: Table, history: CommitHistory, clock: ManualClock) -> None:
        self._table = table
        self._is_maintained = history.is_maintained
        self._clock = clock
        self._memory = CompactionMemory()
        self._commits = history.commits

    def after_commit(self) -> None:
        """Advance the clock, and run the maintenance that is due."""
        self._clock.advance(ms=MS_BETWEEN_COMMITS)
        self._commits += 1
        if self._is_maintained and self._commits % COMMITS_PER_COMPACTION == 0:
            self._table.compact(full=False, memory=self._memory)
        if self._is_maintained and self._commits % COMMITS_PER_EXPIRY == 0:
            self._table.expire()


def rows_of(number: int) -> pa.Table:
    """Return the rows of the commit of that number, counted from 0."""
    return grouped_rows(number * ROWS_OF_A_COMMIT, ROWS_OF_A_COMMIT, keys=KEYS)


def now_after(history: CommitHistory) -> ManualClock:
    """Return a clock that shows the end of a table's history."""
    return ManualClock(start_ms=1_700_000_000_000 + history.commits * MS_BETWEEN_COMMITS)


def write_histories(folder: Path, histories: list[CommitHistory]) -> dict[str, Path]:
    """Write tables, each in a process of its own, and return their directories by name."""
    context = get_context("spawn")
    with ProcessPoolExecutor(max_workers=2, mp_context=context) as processes:
        paths = processes.map(_write_history, [folder] * len(histories), histories)
        return {history.name: Path(path) for history, path in zip(histories, paths, strict=True)}


def _write_history(folder: Path, history: CommitHistory) -> str:
    clock = ManualClock()
    catalog = Catalog(str(folder), file_io=LocalFileIO(UnsyncedDisk()), clock=clock)
    name = history.name.replace(",", "").replace(" ", "_")
    table = catalog.create_table(
        f"histories.{name}", columns=GROUPED_COLUMNS, primary_key=["k"], options=_OPTIONS
    )
    maintainer = Maintainer(
        table, CommitHistory(name=name, commits=0, is_maintained=history.is_maintained), clock
    )
    for number in range(history.commits):
        table.write_and_commit(rows_of(number))
        maintainer.after_commit()
    return table.path
