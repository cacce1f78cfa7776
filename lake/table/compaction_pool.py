"""Compacts tables bucket by bucket in processes of their own, beside whoever writes and reads them.

A bucket is worked on by one process at a time and committed by itself, so what is killed has lost
the work on a bucket at most, and the next look finds what is left. Others may compact the same
table: what somebody else was faster with is dropped and counted.
"""

import multiprocessing
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from lake.errors import LakeError, TableNotFound
from lake.files.file_io import FileIO
from lake.lsm.compaction_pick import PickState
from lake.maintenance.compaction_picks import CompactionMemory, Place
from lake.maintenance.compaction_result import CompactionResult
from lake.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketOutcome:
    """What became of the work on one bucket.

    Attributes:
        place: Serialised partition row and bucket number.
        result: What was done; None when it failed.
        error: Why it failed; None when it did not.
    """

    place: Place
    result: CompactionResult | None = None
    error: LakeError | OSError | None = None


class CompactionPool:
    """Processes that compact; as a context it ends them with the block."""

    def __init__(self, *, workers: int) -> None:
        """Start nothing yet.

        Args:
            workers: How many buckets are worked on at once, from 1.
        """
        # Not forked: the process may have threads, Spark's and Arrow's among them.
        self._pool = ProcessPoolExecutor(
            max_workers=workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_ignore_interrupts,
        )

    def __enter__(self) -> "CompactionPool":
        """Return the pool."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the processes."""
        self.close()

    def close(self) -> None:
        """Wait for the buckets that are worked on, forget the others, end the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def compact(
        self, table: Table, *, full: bool, memory: CompactionMemory | None = None
    ) -> Iterator[BucketOutcome]:
        """Compact the buckets of a table that have something to compact; yield each when it is done.

        Args:
            table: Of storage that other processes reach.
            full: Everything; else only what is due.
            memory: Of those who compact what is due again and again; changed by this call.

        Raises:
            UnsupportedFeature: This version cannot compact the table.
            CorruptData, StorageUnavailable: The newest snapshot cannot be read.
            BrokenProcessPool: A process was killed; make a new pool.
        """
        memory = memory or CompactionMemory()
        futures: dict[Future[tuple[CompactionResult, PickState | None]], Place] = {}
        for place, state in table.compaction_places(full=full, memory=memory).items():
            work = self._pool.submit(
                _compact_bucket, table.file_io, table.path, table.identifier, place, full, state
            )
            futures[work] = place
        for done in as_completed(futures):
            place = futures[done]
            try:
                result, after = done.result()
            except (LakeError, OSError) as error:
                yield BucketOutcome(place=place, error=error)
                continue
            if after is not None:
                memory.states[place] = after
            yield BucketOutcome(place=place, result=result)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that owns the pool, which lets buckets be finished."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


_opened: dict[str, Table] = {}
"""The table that this process of the pool worked on last; its caches serve the next bucket."""


def _open(file_io: FileIO, path: str, identifier: str) -> Table:
    """Return a table as it is now."""
    table = _opened.get(path)
    if table is not None:
        with suppress(TableNotFound):
            table.refresh()
            return table
    _opened.clear()
    _opened[path] = Table.open(path, file_io=file_io, identifier=identifier)
    return _opened[path]


def _compact_bucket(
    file_io: FileIO,
    path: str,
    identifier: str,
    place: Place,
    full: bool,
    state: PickState | None,
) -> tuple[CompactionResult, PickState | None]:
    """Compact one bucket, in a process of the pool."""
    states: Mapping[Place, PickState] = {} if state is None else {place: state}
    memory = CompactionMemory(states=dict(states))
    table = _open(file_io, path, identifier)
    result = table.compact(full=full, buckets=frozenset([place]), memory=memory)
    return result, memory.states.get(place)
