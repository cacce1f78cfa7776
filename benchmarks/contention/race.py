"""A race of many writers beside compaction and expiry: it starts the processes and collects what they note."""

import multiprocessing
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import ForkServerContext
from typing import Final

import pyarrow as pa

from benchmarks.contention.bed import MOST_FREQUENT, TABLE, Load, create_table, different_cells
from benchmarks.contention.writing import WriterNotes, write_streams
from braid.lake import Catalog, FileIO, Table
from braid.lake.files.paths import TablePaths
from braid.lake.format.snapshot import CommitKind
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.table.maintenance.maintenance_service import MaintenanceService

BEFORE: Final = 6
"""Commits of one row before the race: enough for a compaction."""
_COMPACTION_INTERVAL_S: Final = 1.0
_LOOK_S: Final = 0.05
_START_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What a race has shown.

    Attributes:
        writers: What each writer has done.
        kinds: By id, the kind of each snapshot that was made.
        duration_s: From the first commit to the end of the last writer.
        different: Values of the table that are not those that were written.
        compacted: Compactions that were committed.
        dropped: Buckets whose compaction was dropped, because other commits came first.
    """

    writers: list[WriterNotes]
    kinds: dict[int, CommitKind]
    duration_s: float
    different: int
    compacted: int
    dropped: int


@cache
def fork_server() -> ForkServerContext:
    """Return where processes are forked from one that has imported the engine: they share its memory."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([__name__])
    return server


def run_race(file_io: FileIO, warehouse: str, load: Load) -> Race:
    """Create the table, run the writers beside maintenance, and compare the table with what they wrote.

    Args:
        file_io: Storage; is sent to the processes.
        warehouse: Path in it, without the table as yet.
        load: What every writer does.
    """
    table = create_table(warehouse, file_io, writers=load.writers)
    kinds: dict[int, CommitKind] = {}
    processes = fork_server()
    count = min(load.processes or load.writers, load.writers)
    with (
        processes.Manager() as manager,
        ProcessPoolExecutor(count, mp_context=processes) as pool,
        _maintained(file_io, warehouse) as service,
        _followed(file_io, table, kinds),
    ):
        start = manager.Barrier(load.writers + 1)
        tasks: list[Future[list[WriterNotes]]] = [
            pool.submit(
                write_streams, file_io, warehouse, range(first, load.writers, count), load, start
            )
            for first in range(count)
        ]
        _await_compaction(table, kinds)
        start.wait(_START_S)
        began = time.monotonic()
        notes = [task.result() for task in tasks]
        duration_s = time.monotonic() - began
        stats = service.stats[TABLE]
    # Process p has the writers p, p + count, p + 2 count, ….
    writers = [notes[writer % count][writer // count] for writer in range(load.writers)]
    return Race(
        writers=writers,
        kinds=kinds,
        duration_s=duration_s,
        different=different_cells(table, [writer.newest for writer in writers]),
        compacted=sum(kind is CommitKind.COMPACT for kind in kinds.values()),
        dropped=stats.dropped,
    )


def _await_compaction(table: Table, kinds: dict[int, CommitKind]) -> None:
    """Let the processes that compact do so once before the race: their start takes as long as many commits."""
    for _ in range(BEFORE):
        table.write_and_commit(pa.table({"id": [MOST_FREQUENT]}))
    end = time.monotonic() + _START_S
    while CommitKind.COMPACT not in list(kinds.values()):
        assert time.monotonic() < end, "nothing was compacted"
        time.sleep(_LOOK_S)


@contextmanager
def _maintained(file_io: FileIO, warehouse: str) -> Iterator[MaintenanceService]:
    service = MaintenanceService(Catalog(warehouse, file_io=file_io), lambda: [TABLE])
    with service:
        thread = threading.Thread(target=service.run, kwargs={"interval_s": _COMPACTION_INTERVAL_S})
        thread.start()
        try:
            yield service
        finally:
            service.stop()
            thread.join()


@contextmanager
def _followed(file_io: FileIO, table: Table, kinds: dict[int, CommitKind]) -> Iterator[None]:
    """Note the kind of each snapshot before it expires."""
    snapshots = SnapshotStore(file_io, TablePaths(table.path))
    has_ended = threading.Event()

    def follow() -> None:
        while True:
            is_last = has_ended.wait(_LOOK_S)
            while (found := snapshots.find(len(kinds) + 1)) is not None:
                kinds[found.id] = found.commit_kind
            if is_last:
                return

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()
