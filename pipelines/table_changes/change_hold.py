"""Hold on the changes that a query has not read: a lease while it runs, and a consumer where one is named.

Both are files of Paimon's consumers, which every engine's expiry respects. A lease is refreshed in a thread and ends some
minutes after a process that was killed. A named consumer stays, so that the changes are kept while no query runs; it
ends as the table's option `consumer.expiration-time` says.
"""

from braid.lake import Lease, Table
from braid.pipelines.table_changes.change_offset import ChangeOffset


class ChangeHold:
    """Keeps the changes of a table from a place on."""

    def __init__(self, table: Table, *, consumer: str | None) -> None:
        """Hold nothing yet.

        Args:
            table: The table.
            consumer: Name of the consumer; None: a lease alone.
        """
        self._table = table
        self._consumer = consumer
        self._lease: Lease | None = None
        self._held = 0

    def move(self, offset: ChangeOffset) -> None:
        """Hold what is read from a place on, and let go of what is before.

        Raises:
            ChangesExpired, LeaseLost: The changes have expired.
        """
        if offset.snapshot == self._held:
            return
        newest = self._table.latest_snapshot()
        if newest is not None:
            # A snapshot that does not exist yet is held by the one before it.
            held = min(offset.snapshot, newest.id)
            lease = self._table.changes(held - 1, held).lease(what="a streaming read")
            lease.__enter__()
            self._release()
            self._lease = lease
        if self._consumer is not None:
            self._table.reset_consumer(self._consumer, offset.snapshot)
        self._held = offset.snapshot

    def close(self) -> None:
        """Release the lease; a named consumer stays."""
        self._release()

    def _release(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.__exit__(None, None, None)
