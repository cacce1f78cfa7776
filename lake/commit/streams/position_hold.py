"""The hold on the snapshot that knows where the streams of a table are.

Other engines do not carry positions on, and their expiry knows nothing of them: a few commits of theirs,
and the last snapshot that has the positions could go. Every engine's expiry respects consumers, so one
consumer file names that snapshot.

It is moved along: by streams, with a claim and then once a minute, and by every expiry of ours, which
itself keeps what is needed without it (`lake.maintenance.expiry.expiry_holds`). So it keeps little more than
the snapshots of a minute while anybody of ours is at work, and nothing that streams need is lost while
nobody is.
"""

from contextlib import suppress
from typing import Final

from lake.errors import StorageUnavailable
from lake.format.consumer import Consumer
from lake.snapshots.consumer_store import ConsumerStore

HOLD_ID: Final = "braid-streams"
_INTERVAL_MS: Final = 60_000


class PositionHold:
    """The hold of one table, as one process moves it."""

    def __init__(self, consumers: ConsumerStore) -> None:
        self._consumers = consumers
        self._moved_ms: int | None = None

    def follow(self, snapshot_id: int, *, now_ms: int) -> None:
        """Hold a snapshot that a stream has committed, unless this was done a moment ago.

        The commit is made, so that a hold that cannot be written is left to the next one.
        """
        if self._moved_ms is not None and abs(now_ms - self._moved_ms) < _INTERVAL_MS:
            return
        with suppress(OSError, StorageUnavailable):
            self.move(snapshot_id)
            self._moved_ms = now_ms

    def move(self, snapshot_id: int | None) -> None:
        """Hold a snapshot, and no earlier one any more.

        Args:
            snapshot_id: The newest that has positions; None where there are none, and nothing is held.

        Raises:
            StorageUnavailable: The hold is as it was, or as it was to be.
        """
        if snapshot_id is None:
            self._consumers.delete(HOLD_ID)
            return
        self._consumers.put(HOLD_ID, Consumer(next_snapshot=snapshot_id))
