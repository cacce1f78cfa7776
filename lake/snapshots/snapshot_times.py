"""Search for snapshots by the time of their commit.

Commit times never decrease, so a binary search finds a snapshot among thousands. If the clock that gave a snapshot
its time was ahead, the time of the snapshot's file counts instead. If another engine's commit times did go back, the
result was committed at or before the given time, but need not be the newest such snapshot.

Source: table-format 3 (`timeMillis`).
"""

from collections.abc import Callable
from typing import Final

from braid.lake.errors import StorageUnavailable
from braid.lake.format.snapshot import Snapshot

_ATTEMPTS: Final = 8


def newest_until(
    time_ms: int,
    *,
    bounds: Callable[[], tuple[int, int] | None],
    find: Callable[[int], Snapshot | None],
    commit_time_ms: Callable[[Snapshot], int],
) -> Snapshot | None:
    """Return the newest of the snapshots that were committed at or before a time.

    If several were committed in that millisecond, the result is the last of them. Costs O(log n) reads for n
    snapshots.

    Args:
        time_ms: Milliseconds since 1970 UTC.
        bounds: Returns the ids of the oldest and the newest snapshot; None if there are none.
        find: Reads a snapshot; None if it is absent, as when it has just expired.
        commit_time_ms: Returns when a snapshot was committed, as `SnapshotStore.commit_time_ms` does.

    Returns:
        None if there is no snapshot, or all are younger.

    Raises:
        StorageUnavailable: Snapshots vanish faster than they can be read.
    """
    for _ in range(_ATTEMPTS):
        between = bounds()
        if between is None:
            return None
        try:
            return _search(time_ms, *between, find, commit_time_ms)
        except _Vanished:
            continue  # an expiry or a rollback has changed the range
    message = "snapshots are removed faster than one can be found by its time"
    raise StorageUnavailable(message)


class _Vanished(Exception):
    """A snapshot of the range was removed during the search."""


def _search(
    time_ms: int,
    oldest: int,
    newest: int,
    find: Callable[[int], Snapshot | None],
    commit_time_ms: Callable[[Snapshot], int],
) -> Snapshot | None:
    best: Snapshot | None = None
    low, high = oldest, newest
    probe = newest  # first, because it is the most frequent result
    # Invariant: `best` and all snapshots below `low` were committed by `time_ms`, none above `high` was.
    while low <= high:
        assert low <= probe <= high, "the search stays within its bounds"
        snapshot = find(probe)
        if snapshot is None:
            raise _Vanished
        # The second comparison costs a request, so it is made only when the first fails.
        if snapshot.time_millis <= time_ms or commit_time_ms(snapshot) <= time_ms:
            best, low = snapshot, probe + 1
        else:
            high = probe - 1
        probe = (low + high) // 2
    return best
