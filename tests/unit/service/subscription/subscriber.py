"""A subscriber in this process: takes events until a snapshot was sent."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from braid.lake import TableSchema
from braid.service.braid_app import BraidApp
from braid.service.column_mask import NO_MASK
from braid.service.subscription.subscription_request import (
    SubscriptionRequest,
    request_of_parameters,
)
from tests.support.server_sent_events import Event, events_of

Take = Callable[[int], Awaitable[list[Event]]]
"""Returns the events up to the `snapshot` event of a snapshot whose changes are all sent."""


@asynccontextmanager
async def subscribed(
    app: BraidApp, identifier: str, *, last_event_id: str | None = None, **parameters: str
) -> AsyncIterator[Take]:
    """Open a subscription, and close it at the end."""

    def request_of(schema: TableSchema) -> SubscriptionRequest:
        given = [(name.rstrip("_"), text) for name, text in parameters.items()]
        return request_of_parameters(
            identifier, schema, given, last_event_id=last_event_id, mask=NO_MASK
        )

    subscription = await app.state.components.subscriptions.open(identifier, request_of)
    stream = subscription.events()

    last_id = last_event_id

    async def take(snapshot_id: int) -> list[Event]:
        nonlocal last_id
        taken: list[Event] = []
        while not taken or not is_complete(taken[-1], snapshot_id):
            text = (await anext(stream)).decode()
            taken += events_of(text.split("\n"), last_id=last_id)
            last_id = taken[-1].id if taken else last_id
        return taken

    try:
        yield take
    finally:
        await stream.aclose()
        subscription.feed.leave()


def is_complete(event: Event, snapshot_id: int) -> bool:
    """Return whether an event says that all changes up to a snapshot were sent."""
    return event.event == "snapshot" and event.data["snapshot_id"] >= snapshot_id


def states_of(events: list[Event]) -> list[tuple[Any, Any]]:
    """Return the keys and rows of the `row` events."""
    return [(event.data["key"], event.data["row"]) for event in events if event.event == "row"]
