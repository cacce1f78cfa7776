"""Changes: what snapshots did to rows, and how far consumers have come with them."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response

from lake import ChangesMode
from service.control.changes import first_position, position_of, read_page
from service.control.consumers import list_consumers, remove_consumer, set_consumer
from service.control.read_at_parameters import bound_of_changes
from service.dependencies import ComponentsOf, Confirm
from service.http.checked_body import CheckedBody
from service.views import SNAPSHOT_ID_MAX, ChangesPage, ConsumerList, ConsumerPosition, ConsumerView

PAGE_SIZE = 1_000
PAGE_SIZE_MAX = 10_000

router = APIRouter(
    prefix="/v1/tables/{database}/{table}", tags=["changes"], route_class=CheckedBody
)

SnapshotId = Annotated[int | None, Query(ge=0, le=SNAPSHOT_ID_MAX)]


@router.get(
    "/changes",
    response_model=ChangesPage,
    description=(
        "Return what the snapshots of a range did to rows, oldest first, page by page. What they tell "
        "depends on the table's `changelog-producer`. The range begins after `after_snapshot_id`, 0 "
        "for the beginning, or where `consumer` continues; it ends with `until_snapshot_id`, or the "
        "newest now. `…_tag` stands for the tag's snapshot, `…_timestamp` (milliseconds, or ISO 8601 "
        "with a zone) for the newest committed then or before. `mode=delta` tells what was written "
        "although there is a changelog, `changelog` insists on one. A token stands for range, mode and "
        "`columns` (names, comma between); what is left is kept from expiring for ten minutes after "
        "each page."
    ),
)
def get_changes(
    components: ComponentsOf,
    database: str,
    table: str,
    after_snapshot_id: SnapshotId = None,
    after_tag: str | None = None,
    after_timestamp: str | None = None,
    until_snapshot_id: SnapshotId = None,
    until_tag: str | None = None,
    until_timestamp: str | None = None,
    mode: ChangesMode = ChangesMode.AUTO,
    consumer: str | None = None,
    columns: str | None = None,
    page_size: Annotated[int, Query(ge=1, le=PAGE_SIZE_MAX)] = PAGE_SIZE,
    page_token: str | None = None,
) -> Response:
    """Return a page of changes."""
    found = components.tables.get(f"{database}.{table}")
    if page_token is None:
        position = first_position(
            found,
            after=bound_of_changes(
                "after_", snapshot_id=after_snapshot_id, tag=after_tag, timestamp=after_timestamp
            ),
            until=bound_of_changes(
                "until_", snapshot_id=until_snapshot_id, tag=until_tag, timestamp=until_timestamp
            ),
            mode=mode,
            consumer=consumer,
            columns=None if columns is None else tuple(columns.split(",")),
        )
    else:
        position = position_of(found, page_token)
    return _json(read_page(found, position, page_size=page_size))


@router.get("/consumers")
def get_consumers(components: ComponentsOf, database: str, table: str) -> ConsumerList:
    """List who needs snapshots: consumers of any engine, and leases."""
    return list_consumers(components.tables.get(f"{database}.{table}"))


@router.put("/consumers/{consumer}")
def put_consumer(
    components: ComponentsOf,
    database: str,
    table: str,
    consumer: str,
    position: ConsumerPosition,
    confirm: Confirm = None,
) -> ConsumerView:
    """Say how far a consumer has come; what it still needs does not expire.

    One that is there is moved when `confirm` has its name.
    """
    found = components.tables.get(f"{database}.{table}")
    return set_consumer(found, consumer, position.next_snapshot_id, confirm=confirm)


@router.delete("/consumers/{consumer}", status_code=204)
def delete_consumer(
    components: ComponentsOf, database: str, table: str, consumer: str, confirm: Confirm = None
) -> None:
    """Forget the consumer that `confirm` names, too; also if there is none."""
    found = components.tables.get(f"{database}.{table}")
    remove_consumer(found, consumer, confirm=confirm)


def _json(body: Any) -> Response:
    # Bytes at once: building and checking models of so many rows takes longer than reading them.
    return Response(orjson.dumps(body), media_type="application/json")
