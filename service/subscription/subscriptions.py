"""Subscriptions of a process: the feeds of the tables that have subscribers, and their threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from starlette.concurrency import run_in_threadpool

from braid.lake import ChangedKeysPosition, ChangesExpired, InvalidRequest, Problem, TableSchema
from braid.service.lifecycle import ServiceStops
from braid.service.serving.followers import Followers
from braid.service.serving.served_table import Served
from braid.service.subscription.subscription import Subscription
from braid.service.subscription.subscription_request import SubscriptionRequest
from braid.service.subscription.table_feed import TableFeed

LOOK_MS: Final = 1_000
"""Pause between two looks at a table of a process that follows no tables."""

PART_RECORDS: Final = 50_000
"""Records of a part: their keys are in memory at once, and a client that connects again gets no more rows twice."""

_THREADS: Final = 4
"""Apart from the threads of requests: a thousand subscribers cannot occupy those."""


class Subscriptions:
    """Opens subscriptions; for one event loop. Close it before the process waits for its requests."""

    def __init__(
        self,
        followers: Followers,
        *,
        follow_ms: int,
        heartbeat_s: float,
        part_records: int = PART_RECORDS,
    ) -> None:
        """Have no feeds yet.

        Args:
            followers: What is served of each table.
            follow_ms: Pause between two looks of a follower, milliseconds; 0: tables are not followed.
            heartbeat_s: The longest time without an event, seconds.
            part_records: Upper bound of the changed records that are read at once.
        """
        self._followers = followers
        self._part_records = part_records
        self._pause_s = (follow_ms or LOOK_MS) / 1_000
        self._heartbeat_s = heartbeat_s
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="subscriptions")
        self._feeds: dict[str, TableFeed] = {}
        self._is_closed = False

    async def open(
        self, identifier: str, request_of: Callable[[TableSchema], SubscriptionRequest]
    ) -> Subscription:
        """Return a subscription, whose feed counts it until it leaves the feed.

        Args:
            identifier: `db.table`.
            request_of: Returns the request, by the table's schema.

        Raises:
            ServiceStops: The process ends.
            ChangesExpired: Changes after the beginning have expired, or the table was rolled back.
            InvalidRequest: The request is not valid.
            TableNotFound: There is no table of that name.
            LakeError: The table cannot be read.
        """
        served = await self._served(identifier)
        request = request_of(served.table.lookup.schema)
        if request.columns is not None:
            _check_columns(served.table.lookup.schema, request.columns)
        start = await run_in_threadpool(_start, request, served)
        if self._is_closed:
            raise _stops()
        feed = self._feed(identifier, served)
        subscription = Subscription(
            identifier=identifier,
            request=replace(request, columns=_distinct(request.columns)),
            hashes=None if request.keys is None else served.table.lookup.hashes_of(request.keys),
            start=start,
            feed=feed,
            heartbeat_s=self._heartbeat_s,
        )
        feed.join()
        try:
            if start.snapshot_id > feed.served.snapshot_id:
                await (
                    feed.refresh()
                )  # another process has served a snapshot that is newer than this one's
            if start != ChangedKeysPosition.after(feed.served.table.lookup.snapshot):
                await feed.part(start)  # what has expired is refused before the answer begins
        except BaseException:
            feed.leave()
            raise
        return subscription

    @property
    def open_count(self) -> int:
        """Number of open subscriptions."""
        return sum(feed.subscribers for feed in self._feeds.values())

    def close(self) -> None:
        """End all subscriptions, and open no more."""
        self._is_closed = True
        for feed in self._feeds.values():
            feed.end(_stops())

    async def _served(self, identifier: str) -> Served:
        served = self._followers.current(identifier)
        if served is None:
            served = await run_in_threadpool(self._followers.newest, identifier)
        return served

    def _feed(self, identifier: str, served: Served) -> TableFeed:
        feed = self._feeds.get(identifier)
        if feed is None or feed.error is not None:
            feed = TableFeed(
                identifier,
                served,
                followers=self._followers,
                pause_s=self._pause_s,
                part_records=self._part_records,
                threads=self._threads,
                on_empty=lambda: self._forget(identifier, feed),
            )
            self._feeds[identifier] = feed
        return feed

    def _forget(self, identifier: str, feed: TableFeed | None) -> None:
        if self._feeds.get(identifier) is feed:
            del self._feeds[identifier]


def _stops() -> ServiceStops:
    return ServiceStops(
        "this process of the service ends; connect again with the cursor of the last event"
    )


def _start(request: SubscriptionRequest, served: Served) -> ChangedKeysPosition:
    """Return the position after which changes are sent."""
    newest = served.table.lookup.snapshot
    if request.position is not None:
        return request.position
    if request.from_snapshot is None:
        return ChangedKeysPosition.after(newest)
    if request.from_snapshot == 0:
        return ChangedKeysPosition()
    try:
        return ChangedKeysPosition.after(served.table.table.snapshot(request.from_snapshot))
    except InvalidRequest as error:
        if newest is not None and request.from_snapshot < newest.id:
            raise ChangesExpired(str(error)) from error
        problem = Problem(
            field="from",
            value=str(request.from_snapshot),
            message="the table has no such snapshot yet",
            hint="`now` begins with the next snapshot",
        )
        message = "the beginning of the subscription does not exist"
        raise InvalidRequest(message, problems=[problem]) from error


def _check_columns(schema: TableSchema, columns: tuple[str, ...]) -> None:
    unknown = [name for name in columns if name not in schema.fields_by_name]
    if unknown:
        problems = [
            Problem(field="columns", value=name, message="the table has no such column")
            for name in unknown
        ]
        message = "the table does not have all columns"
        raise InvalidRequest(message, problems=problems)


def _distinct(columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if columns is None else tuple(dict.fromkeys(columns))
