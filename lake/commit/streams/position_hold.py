"""A consumer file that keeps other engines from expiring the newest snapshot with stream positions.

Other engines do not carry positions forward, and their expiry does not know positions: after a few
of their commits, the last snapshot with the positions could expire. The expiry of every engine
respects consumers, so a consumer file with the id of that snapshot keeps it.

Commits of streams set the file to their snapshot, each committer at most once a minute. The expiry
of this engine sets it too, although it does not need the file itself
(`braid.lake.maintenance.expiry.expiry_holds`). So while streams run, the file keeps little more
than the snapshots of one minute. While no stream runs, it keeps the positions, unless
`consumer.expiration-time` deletes it or `consumer.changelog-only` makes it keep changelogs only.
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
