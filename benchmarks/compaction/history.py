"""Tables with a past: so many small commits, looked after as a table is by default, or by nobody.

The past is made without waiting for the disk, which takes a hundred seconds for ten thousand
commits. A clock of its own lets ten seconds go by between two commits, so that the hour for which
snapshots are kept by default is one of 360 commits.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa

from benchmarks.bulk_rows import GROUPED_COLUMNS, GROUPED_OPTIONS, grouped_rows
from lake import Catalog, Table
from lake.files.clock import ManualClock
from lake.files.storage.disk import SystemDisk
from lake.files.storage.local import LocalFileIO
from lake.maintenance.compaction.compaction_picks import CompactionMemory

ROWS_OF_A_COMMIT = 20
KEYS = 100_000
COMMITS_PER_COMPACTION = 10
# An expiry takes no more than `snapshot.expire.limit` snapshots, by default 50.
COMMITS_PER_EXPIRY = 20
MS_BETWEEN_COMMITS = 10_000
_OPTIONS = {**GROUPED_OPTIONS, "fields.d.aggregate-function": "sum"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What has become of a table so far.

    Attributes:
        name: Of the table, and in what is printed.
        commits: Made so far.
        is_maintained: What is due is compacted, and snapshots expire by the default options.
    """

    name: str
    commits: int
    is_maintained: bool


class UnsyncedDisk(SystemDisk):
    """Files of this machine that a power cut may lose; for one process that writes."""

    def sync(self, descriptor: int) -> None:
        """Do nothing."""

    def sync_directory(self, path: str) -> None:
        """Do nothing."""


class Caretaker:
    """Looks after one table, between its commits."""

    def __init__(self, table: Table, past: Past, clock: ManualClock) -> None:
        self._table = table
        self._is_maintained = past.is_maintained
        self._clock = clock
        self._memory = CompactionMemory()
        self._commits = past.commits

    def after_commit(self) -> None:
        """Let time go by, and do what is due."""
        self._clock.advance(ms=MS_BETWEEN_COMMITS)
        self._commits += 1
        if self._is_maintained and self._commits % COMMITS_PER_COMPACTION == 0:
            self._table.compact(full=False, memory=self._memory)
        if self._is_maintained and self._commits % COMMITS_PER_EXPIRY == 0:
            self._table.expire()


def rows_of(number: int) -> pa.Table:
    """Return the rows of the commit of that number, counted from 0."""
    return grouped_rows(number * ROWS_OF_A_COMMIT, ROWS_OF_A_COMMIT, keys=KEYS)


def now_after(past: Past) -> ManualClock:
    """Return the clock of a table after its past."""
    return ManualClock(start_ms=1_700_000_000_000 + past.commits * MS_BETWEEN_COMMITS)


def write_pasts(folder: Path, pasts: list[Past]) -> dict[str, Path]:
    """Make tables, each in a process of its own, and return their directories by name."""
    context = get_context("spawn")
    with ProcessPoolExecutor(max_workers=2, mp_context=context) as processes:
        paths = processes.map(_write_past, [folder] * len(pasts), pasts)
        return {past.name: Path(path) for past, path in zip(pasts, paths, strict=True)}


def _write_past(folder: Path, past: Past) -> str:
    clock = ManualClock()
    catalog = Catalog(str(folder), file_io=LocalFileIO(UnsyncedDisk()), clock=clock)
    name = past.name.replace(",", "").replace(" ", "_")
    table = catalog.create_table(
        f"pasts.{name}", columns=GROUPED_COLUMNS, primary_key=["k"], options=_OPTIONS
    )
    caretaker = Caretaker(
        table, Past(name=name, commits=0, is_maintained=past.is_maintained), clock
    )
    for number in range(past.commits):
        table.write_and_commit(rows_of(number))
        caretaker.after_commit()
    return table.path
