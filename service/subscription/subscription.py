"""One subscription: events of the rows of some keys, or of all keys, from a position on.

    initial rows, if wanted ──► `snapshot`, with the cursor ──► a part of the changed rows ──► `snapshot` ──► … ──► `error`

The events are made when the client takes them: a slow client takes part after part at its own speed, and each part has the
newest state of its keys. Nothing is queued, so a subscription needs no more memory than one part.
"""

import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Final

import orjson

from braid.lake import ChangedKeysPosition, LeaseLost, Scan, python_rows
from braid.service.control.row_lookup import LookedUp
from braid.service.serving.served_table import Served
from braid.service.subscription.changed_rows import CHUNK_ROWS, ChangedRows, Hashes, RowEvents
from braid.service.subscription.cursor import to_cursor
from braid.service.subscription.server_sent_events import RETRY, server_sent_event
from braid.service.subscription.subscription_request import SubscriptionRequest
from braid.service.subscription.table_feed import TableFeed

_LOST_MAX: Final = 3
"""Times in a row that rows of a part may be gone, before the error is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A subscription that is ready to send.

    Attributes:
        identifier: `db.table`.
        request: What is wanted.
        hashes: Hashes of the keys, sorted; None: all keys.
        start: The position after which changes are sent.
        feed: The table's feed.
        heartbeat_s: The longest time without an event, seconds.
    """

    identifier: str
    request: SubscriptionRequest
    hashes: Hashes | None
    start: ChangedKeysPosition
    feed: TableFeed
    heartbeat_s: float

    async def events(self) -> AsyncGenerator[bytes]:
        """Yield events, without end.

        Raises:
            ChangesExpired: The client was so slow that changes have expired, or the table was rolled back.
            LakeError: The table cannot be read.
            Exception: The error that has ended the feed.
        """
        yield RETRY
        position = self.start
        if self.request.initial:
            if self.request.keys is None:
                scan = await self.feed.run(self._scan)
                position = ChangedKeysPosition.after(scan.snapshot)
                await self.feed.refresh()  # so that the feed is not behind the scan
                async with aclosing(self._scanned(scan)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            else:
                yield await self.feed.run(self._present)
        yield self._snapshot_event(self.feed.served, position)
        lost = 0
        while True:
            if self.feed.error is not None:
                raise self.feed.error
            served = self.feed.served
            if position == ChangedKeysPosition.after(served.table.lookup.snapshot):
                if not await self.feed.changes_from(served, self.heartbeat_s):
                    yield self._snapshot_event(self.feed.served, position)
                continue
            try:
                part = await self.feed.part(position)
                async with aclosing(self._changed(part)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except LeaseLost:
                # The snapshot of the rows has expired meanwhile; the newest one has them.
                lost += 1
                if lost == _LOST_MAX:
                    raise
                await self.feed.refresh()
                continue
            lost, position = 0, part.end
            yield self._snapshot_event(served, position)

    async def _changed(self, part: ChangedRows) -> AsyncGenerator[bytes]:
        """Yield the events of the wanted keys of a part."""
        columns = self.request.columns
        numbers = await self.feed.run(partial(part.numbers_of, self.hashes))
        for first in range(0, len(numbers), CHUNK_ROWS):
            chunk = numbers[first : first + CHUNK_ROWS]
            yield await self.feed.run(partial(part.events, chunk, columns))

    def _present(self) -> bytes:
        assert self.request.keys is not None, "without keys all rows are scanned"
        lookup = self.feed.served.table.lookup
        events = RowEvents(lookup.schema, lookup.snapshot, self.request.columns)
        return events.of_keys(lookup, self.request.keys)

    def _scan(self) -> Scan:
        table, columns = self.feed.served.table.table, self.request.columns
        if columns is not None:
            columns = tuple(dict.fromkeys([*table.schema.primary_keys, *columns]))
        return table.scan(columns=columns, batch_rows=CHUNK_ROWS)

    async def _scanned(self, scan: Scan) -> AsyncGenerator[bytes]:
        """Yield the events of all rows; rows are read when the client has taken those before."""
        events = RowEvents(scan.schema, scan.snapshot, self.request.columns)
        batches = scan.to_batches()
        lock = threading.Lock()  # a client may go while a thread reads its rows

        def following() -> bytes | None:
            with lock:
                batch = next(batches, None)
            return None if batch is None else events.of_rows(python_rows(batch))

        def close() -> None:
            with lock:
                batches.close()

        try:
            while (chunk := await self.feed.run(following)) is not None:
                yield chunk
        finally:
            self.feed.submit(close)

    def _snapshot_event(self, served: Served, position: ChangedKeysPosition) -> bytes:
        """Return the event that all changes up to a position were sent; `served` is the newest snapshot."""
        at = LookedUp(
            lookup=served.table.lookup,
            verified_ms=served.verified_ms,
            write_row=served.table.write_row,
        )
        cursor = to_cursor(self.identifier, position)
        # Of a snapshot that was sent in part, the one before is complete.
        complete = position.snapshot_id - (0 if position.records is None else 1)
        body = {"snapshot_id": complete, "cursor": cursor, "newest": at.snapshot_fields}
        return server_sent_event("snapshot", orjson.dumps(body), event_id=cursor)
