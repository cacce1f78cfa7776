"""A consumer file that keeps other engines from expiring the newest snapshot with stream positions.

Other engines do not carry positions forward, and their expiry does not know them: after a few commits of
theirs the last snapshot that has the positions could expire. The expiry of every engine respects
consumers, so one consumer file names that snapshot.

Commits of a stream advance the file, those of one committer once a minute at most. A commit that carries positions
forward and expiry of this engine advance it too, although this expiry keeps the needed snapshot without the file
(`braid.lake.maintenance.expiry.expiry_holds`). So the file keeps little more than the snapshots of one minute
while streams run, and keeps the positions while none runs, unless `consumer.expiration-time` deletes it.
"""

from contextlib import suppress
from typing import Final

from braid.lake.errors import StorageUnavailable
from braid.lake.format.consumer import Consumer
from braid.lake.snapshots.consumer_store import ConsumerStore

HOLD_ID: Final = "braid-streams"
_INTERVAL_MS: Final = 60_000


class PositionHold:
    """Writes the consumer file of one table, for one committer or expiry."""

    def __init__(self, consumers: ConsumerStore) -> None:
        self._consumers = consumers
        self._moved_ms: int | None = None

    def advance(self, snapshot_id: int, *, now_ms: int) -> None:
        """Hold a snapshot that a stream has committed, unless the hold was advanced within the last minute.

        A failure is ignored: the commit is made already, and the next one advances the hold.
        """
        if self._moved_ms is not None and abs(now_ms - self._moved_ms) < _INTERVAL_MS:
            return
        with suppress(OSError, StorageUnavailable):
            self.move(snapshot_id)
            self._moved_ms = now_ms

    def move(self, snapshot_id: int | None) -> None:
        """Hold a snapshot instead of an earlier one.

        Args:
            snapshot_id: The newest snapshot that has positions; None to hold none.

        Raises:
            StorageUnavailable: The file may name the old or the new snapshot.
        """
        if snapshot_id is None:
            self._consumers.delete(HOLD_ID)
            return
        self._consumers.put(HOLD_ID, Consumer(next_snapshot=snapshot_id))
