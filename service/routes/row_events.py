"""Routes of row subscriptions: changed rows as server-sent events."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import StreamingResponse

from braid.lake import TableSchema
from braid.schemas.api import KEYS_MAX, RowSubscription
from braid.service.checked_body import CheckedBody
from braid.service.dependencies import ComponentsOf, MaskOf
from braid.service.query_parameters import parse_query
from braid.service.subscription.event_stream import EventStream
from braid.service.subscription.server_sent_events import MEDIA_TYPE
from braid.service.subscription.subscription_request import (
    SubscriptionRequest,
    request_of_body,
    request_of_parameters,
)

router = APIRouter(
    prefix="/v1/tables/{database}/{table}/rows", tags=["rows"], route_class=CheckedBody
)

_EVENTS = (
    "Server-sent events: `row` has the `key` and the present `row` (null and `deleted: true` if there is none) with "
    "the `snapshot_id` in which this is the state; `snapshot` comes after the rows of a snapshot, and every 15 seconds, "
    "with the cursor as its `id`; `error` is a problem document, after which the stream ends. The header "
    "`last-event-id`, or `cursor`, continues after an event. `from` is `now` (the default) or the id of "
    "the snapshot after which changes are wanted; `initial` wants the present rows first. `columns` names "
    "columns of the rows."
)
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
}

LastEventId = Annotated[str | None, Header()]


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses=_RESPONSES,
    description=(
        "Subscribe to one row, whose key columns are the query's parameters, to those of `keys` (a JSON list of at most "
        f"{KEYS_MAX} keys), or without a key to all rows of the table. {_EVENTS}"
    ),
)
async def get_row_events(
    components: ComponentsOf,
    database: str,
    table: str,
    mask: MaskOf,
    request: Request,
    last_event_id: LastEventId = None,
) -> Response:
    """Subscribe to changed rows."""
    identifier, parameters = f"{database}.{table}", parse_query(request.scope["query_string"])

    def request_of(schema: TableSchema) -> SubscriptionRequest:
        return request_of_parameters(
            identifier, schema, parameters, last_event_id=last_event_id, mask=mask
        )

    subscription = await components.subscriptions.open(identifier, request_of)
    return EventStream(request, subscription)


@router.post(
    "/events",
    response_class=StreamingResponse,
    responses=_RESPONSES,
    description=(
        f"Subscribe to the rows of the keys of the body, {KEYS_MAX} at most, or without keys to all rows of the "
        f"table. {_EVENTS}"
    ),
)
async def subscribe_to_rows(
    components: ComponentsOf,
    database: str,
    table: str,
    mask: MaskOf,
    body: RowSubscription,
    request: Request,
    last_event_id: LastEventId = None,
) -> Response:
    """Subscribe to the changed rows of many keys."""
    identifier = f"{database}.{table}"

    def request_of(schema: TableSchema) -> SubscriptionRequest:
        return request_of_body(identifier, schema, body, last_event_id=last_event_id, mask=mask)

    subscription = await components.subscriptions.open(identifier, request_of)
    return EventStream(request, subscription)
