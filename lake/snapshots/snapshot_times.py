"""Finds snapshots by the time of their commits.

Times of commits never go back, so a few reads find one among thousands. A snapshot that seems too
young may have been committed by a clock that was ahead: storage is asked as well. Where another engine's
clock went back all the same, the one that is found was committed by then, and need not be the newest of
those.

Source: table-format 3 (`timeMillis`).
"""

from collections.abc import Callable
from typing import Final

from lake.errors import StorageUnavailable
from lake.format.snapshot import Snapshot

_ATTEMPTS: Final = 8


def newest_until(
    time_ms: int,
    *,
    bounds: Callable[[], tuple[int, int] | None],
    find: Callable[[int], Snapshot | None],
    commit_time_ms: Callable[[Snapshot], int],
) -> Snapshot | None:
    """Return the newest snapshot of those committed at a time or before.

    Of several that were committed in that millisecond it is the last. Reads about as many snapshots
    as their count has binary digits.

    Args:
        time_ms: Milliseconds since 1970 UTC.
        bounds: Returns the ids of the oldest and the newest snapshot; None where there are none.
        find: Reads a snapshot; None where it is not there, as when it has just expired.
        commit_time_ms: Returns when a snapshot was committed, as `SnapshotStore.commit_time_ms`.

    Returns:
        None when there is no snapshot, or all are younger.

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
            continue  # by an expiry or a rollback: what is there is another range now
    message = "snapshots vanish whenever one is looked for by its time"
    raise StorageUnavailable(message)


class _Vanished(Exception):
    """A snapshot of the range is gone."""


def _search(
    time_ms: int,
    oldest: int,
    newest: int,
    find: Callable[[int], Snapshot | None],
    commit_time_ms: Callable[[Snapshot], int],
) -> Snapshot | None:
    best: Snapshot | None = None
    low, high = oldest, newest
    probe = newest  # first, for it is asked for most of all
    while low <= high:
        snapshot = find(probe)
        if snapshot is None:
            raise _Vanished
        if snapshot.time_millis <= time_ms or commit_time_ms(snapshot) <= time_ms:
            best, low = snapshot, probe + 1
        else:
            high = probe - 1
        probe = (low + high) // 2
    return best
