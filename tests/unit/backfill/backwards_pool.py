"""Pool of backfills in tests: parts are written in another order than they are committed, and everything is pickled."""

import pickle
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from braid.backfill.part_work import PartOutcome, PartWork
from braid.backfill.read_chunk import PartBound
from braid.lake import ManualClock, StorageUnavailable, SystemClock


class SentClock(ManualClock):
    """A clock that is the machine's in another process."""

    def __reduce__(self) -> tuple[type[SystemClock], tuple[()]]:
        return SystemClock, ()


class BackwardsPool:
    """Does work when its result is asked for, or, of several pieces, the last one first; all of it is pickled."""

    def __init__(self, *, parallel: int = 3, lost: int | None = None) -> None:
        self.parallel = parallel
        self.done = 0
        self.lost = lost
        self.waiting: list[tuple[PartWork, Future[PartOutcome]]] = []

    def submit(self, work: PartWork, *, what: str) -> Future[PartOutcome]:
        assert what.startswith("backfill of shop.parcels")
        future = _Asked(self)
        self.waiting.append((pickle.loads(pickle.dumps(work)), future))
        return future

    def work(self) -> None:
        """Do all that waits."""
        while self.waiting:
            work, future = self.waiting.pop()
            if not future.set_running_or_notify_cancel():
                continue
            self.done += 1
            if self.done == self.lost:
                future.set_exception(StorageUnavailable("the task was lost"))
            else:
                future.set_result(pickle.loads(pickle.dumps(work.run())))

    @contextmanager
    def opened(self) -> Iterator["BackwardsPool"]:
        """Yield itself; at the end nothing waits."""
        yield self
        self.work()


class _Asked(Future[PartOutcome]):
    """A result that is made when it is asked for."""

    def __init__(self, pool: BackwardsPool) -> None:
        super().__init__()
        self._pool = pool

    def result(self, timeout: float | None = None) -> PartOutcome:
        if not self.done():
            self._pool.work()
        return super().result(timeout)


def spread(pool: BackwardsPool, **options: Any) -> dict[str, Any]:
    """Return the options of a backfill whose parts are single files."""
    return {"new_pool": pool.opened, "part": PartBound(bytes=1), **options}
