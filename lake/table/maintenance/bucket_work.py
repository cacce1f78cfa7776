"""The compaction of one bucket as a value that can be sent to another process.

A process of a pool, or an executor of a cluster, receives the value and opens the table. It picks and plans again, on
the newest snapshot, compacts the bucket, commits it, and returns the outcome. `compact_buckets` gives the buckets of
a table that have something to compact to a pool (`BucketPool`).
"""

from collections.abc import Iterator
from concurrent.futures import Future, as_completed
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from braid.lake.errors import LakeError, TableNotFound
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.bucket import BucketId
from braid.lake.lsm.compaction_pick import PickState
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from braid.lake.maintenance.compaction.compaction_result import CompactionResult
from braid.lake.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketOutcome:
    """The outcome of the compaction of one bucket.

    Attributes:
        bucket_id: Serialised partition row and bucket number.
        result: What was done; None when it failed.
        state: The bucket's new state in `CompactionMemory`; None when nothing is new.
        error: Why it failed; None when it did not.
    """

    bucket_id: BucketId
    result: CompactionResult | None = None
    state: PickState | None = None
    error: LakeError | OSError | None = None

    def __post_init__(self) -> None:
        """Check that the compaction did not both succeed and fail."""
        assert self.result is None or self.error is None, "compacted or failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketWork:
    """The compaction of one bucket; can be pickled to another process.

    Attributes:
        file_io: Storage that the other process can reach.
        path: The table's directory.
        identifier: `db.table`.
        bucket_id: Serialised partition row and bucket number.
        full: Compact everything; else only what is due.
        state: The bucket's state in `CompactionMemory`; None at first.
    """

    file_io: FileIO
    path: str
    identifier: str
    bucket_id: BucketId
    full: bool
    state: PickState | None = None

    @classmethod
    def of(
        cls, table: Table, bucket_id: BucketId, *, full: bool, state: PickState | None = None
    ) -> "BucketWork":
        """Return the work on one bucket of a table."""
        return cls(
            file_io=table.file_io,
            path=table.path,
            identifier=table.identifier,
            bucket_id=bucket_id,
            full=full,
            state=state,
        )

    def run(self) -> BucketOutcome:
        """Compact the bucket and commit it; an error of the engine or storage is in the outcome."""
        states = {} if self.state is None else {self.bucket_id: self.state}
        memory = CompactionMemory(states=states)
        try:
            table = _open(self.file_io, self.path, self.identifier)
            result = table.compact(
                full=self.full, buckets=frozenset([self.bucket_id]), memory=memory
            )
        except (LakeError, OSError) as error:
            # As a value: an exception would lose its attributes between processes.
            return BucketOutcome(bucket_id=self.bucket_id, error=error)
        return BucketOutcome(
            bucket_id=self.bucket_id, result=result, state=memory.states.get(self.bucket_id)
        )


class BucketPool(Protocol):
    """A pool of processes that compact buckets, on this machine or others."""

    def submit(self, work: BucketWork) -> Future[BucketOutcome]:
        """Queue the compaction of a bucket, which runs as soon as a process is free.

        Raises:
            BrokenProcessPool: A process was killed; make a new pool.
        """
        ...

    def close(self, *, grace_s: float | None = None) -> None:
        """Drop queued buckets, let buckets in progress finish, and end the processes.

        Args:
            grace_s: How long to wait for the buckets in progress; None: as long as it takes. A
                bucket that is cut off is committed as a whole or not at all.
        """
        ...


def compact_buckets(
    pool: BucketPool, table: Table, *, full: bool, memory: CompactionMemory | None = None
) -> Iterator[BucketOutcome]:
    """Compact the buckets of a table that have something to compact; yield outcomes as they arrive.

    Args:
        pool: Runs the compactions.
        table: On storage that the pool's processes can reach.
        full: Compact everything; else only what is due.
        memory: State that a caller keeps to compact due buckets repeatedly; changed by this call.

    Raises:
        UnsupportedFeature: This version cannot compact the table.
        CorruptData, StorageUnavailable: The newest snapshot cannot be read.
        BrokenProcessPool: A process was killed; make a new pool.
    """
    memory = memory or CompactionMemory()
    due = table.buckets_to_compact(full=full, memory=memory)
    futures = [
        pool.submit(BucketWork.of(table, bucket_id, full=full, state=state))
        for bucket_id, state in due.items()
    ]
    for done in as_completed(futures):
        outcome = done.result()
        if outcome.state is not None:
            memory.states[outcome.bucket_id] = outcome.state
        yield outcome


_opened: dict[str, Table] = {}
"""The table of the last bucket in this process; its caches serve the next bucket."""


def _open(file_io: FileIO, path: str, identifier: str) -> Table:
    """Return a table at its newest schema, from the cache or opened."""
    table = _opened.get(path)
    if table is not None:
        with suppress(TableNotFound):
            table.refresh()
            return table
    _opened.clear()
    _opened[path] = Table.open(path, file_io=file_io, identifier=identifier)
    return _opened[path]
