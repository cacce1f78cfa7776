"""Routes of changes between snapshots, and of consumers."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from braid.lake import ChangesMode
from braid.registry.store.revision import revision_of
from braid.schemas.api import (
    SNAPSHOT_ID_MAX,
    ChangesPage,
    ConsumerList,
    ConsumerPosition,
    ConsumerView,
)
from braid.service.checked_body import CheckedBody
from braid.service.control.changes import first_position, position_of, read_page
from braid.service.control.consumers import list_consumers, remove_consumer, set_consumer
from braid.service.control.read_at_parameters import bound_of_changes
from braid.service.dependencies import (
    ActorOf,
    ComponentsOf,
    Confirm,
    MaskOf,
    PreconditionOf,
    set_etag,
)
from braid.service.json_response import json_response

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
        "Return the changes of rows in a range of snapshots, oldest first, page by page. Their detail "
        "depends on the table's `changelog-producer`. The range begins after `after_snapshot_id` (0: "
        "with the first snapshot), or at the position of `consumer`; it ends with `until_snapshot_id`, "
        "or with the newest snapshot now. In their place `…_tag` names a tag's snapshot, and "
        "`…_timestamp` (milliseconds, or ISO 8601 with a zone) the newest snapshot committed then or "
        "before. `mode=delta` reads the written records even if there is a changelog, `mode=changelog` "
        "requires a changelog. `columns` are names, separated by commas. A page token stands for "
        "range, mode and columns; the rest of the range is kept from expiring for ten minutes after "
        "each page."
    ),
)
def get_changes(
    components: ComponentsOf,
    mask: MaskOf,
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
            columns=mask.visible(found.schema, None if columns is None else columns.split(",")),
        )
    else:
        position = position_of(found, page_token)
        mask.check_page(position.columns)
        mask.check_rows(found.schema)
    return json_response(read_page(found, position, page_size=page_size))


@router.get("/consumers")
def get_consumers(components: ComponentsOf, database: str, table: str) -> ConsumerList:
    """List the consumers of all engines and the leases, which keep snapshots from expiring."""
    return components.shown(list_consumers(components.tables.get(f"{database}.{table}")))


@router.put("/consumers/{consumer}")
def put_consumer(
    components: ComponentsOf,
    actor: ActorOf,
    database: str,
    table: str,
    consumer: str,
    position: ConsumerPosition,
    precondition: PreconditionOf,
    response: Response,
    confirm: Confirm = None,
) -> ConsumerView:
    """Set the position of a consumer; snapshots that it still needs do not expire.

    An existing consumer is moved only if `confirm` is its name.
    """
    found = components.tables.get(f"{database}.{table}")
    moved = set_consumer(
        found,
        consumer,
        position.next_snapshot_id,
        confirm=confirm,
        audit=components.registry.audit,
        actor=actor,
        precondition=precondition,
    )
    set_etag(response, revision_of(moved))
    return moved


@router.delete("/consumers/{consumer}", status_code=204)
def delete_consumer(
    components: ComponentsOf,
    actor: ActorOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    consumer: str,
    confirm: Confirm = None,
) -> None:
    """Delete a consumer, whose name `confirm` has to repeat; 204 also if it does not exist."""
    found = components.tables.get(f"{database}.{table}")
    remove_consumer(
        found,
        consumer,
        confirm=confirm,
        audit=components.registry.audit,
        actor=actor,
        precondition=precondition,
    )
