"""Routes of operations: a list, one of them, its cancellation and its deletion."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from braid.registry.errors import OperationNotFound
from braid.registry.store.operations import table_of
from braid.registry.store.revision import revision_of
from braid.schemas import OperationList, OperationState, OperationView
from braid.schemas.access import AccessScope
from braid.service.checked_body import CheckedBody
from braid.service.control import operation_changes
from braid.service.control.operation_pages import (
    list_operations as page_of_operations,
    operation_view,
)
from braid.service.dependencies import (
    ActorOf,
    ComponentsOf,
    May,
    MayOf,
    PreconditionOf,
    set_etag,
)

PAGE_SIZE = 100
PAGE_SIZE_MAX = 1_000

router = APIRouter(prefix="/v1/operations", tags=["operations"], route_class=CheckedBody)


@router.get("")
def list_operations(
    components: ComponentsOf,
    may: MayOf,
    table: Annotated[str | None, Query(description="`database.table`")] = None,
    state: OperationState | None = None,
    page_size: Annotated[int, Query(ge=1, le=PAGE_SIZE_MAX)] = PAGE_SIZE,
    page_token: str | None = None,
) -> OperationList:
    """List the operations that have not ended, then the others, the newest first."""
    page = page_of_operations(
        components.operations,
        table=table,
        state=state,
        page_size=page_size,
        page_token=page_token,
        may_see=partial(may, AccessScope.READ),
    )
    return components.shown(page)


@router.get("/{operation}")
def get_operation(
    components: ComponentsOf, may: MayOf, operation: str, response: Response
) -> OperationView:
    """Return an operation: its state, its progress, and its result or problem."""
    _check(may, AccessScope.READ, operation)
    found = components.operations.get(operation)
    set_etag(response, revision_of(found))
    return components.shown(operation_view(found))


@router.post("/{operation}:cancel", status_code=202)
def cancel_operation(
    components: ComponentsOf, actor: ActorOf, may: MayOf, operation: str, response: Response
) -> OperationView:
    """End an operation before it is complete, at the next point where its work can end; no effect if it has ended."""
    _check(may, AccessScope.OPERATE, operation)
    canceled = operation_changes.cancel_operation(
        components.operations, operation, audit=components.registry.audit, actor=actor
    )
    components.operation_pool.look_soon()
    set_etag(response, revision_of(canceled))
    return components.shown(operation_view(canceled))


@router.delete("/{operation}", status_code=204)
def delete_operation(
    components: ComponentsOf,
    actor: ActorOf,
    may: MayOf,
    precondition: PreconditionOf,
    operation: str,
) -> None:
    """Delete the document of an operation that has ended."""
    _check(may, AccessScope.OPERATE, operation)
    operation_changes.delete_operation(
        components.operations,
        operation,
        audit=components.registry.audit,
        actor=actor,
        precondition=precondition,
    )


def _check(may: May, scope: AccessScope, operation: str) -> None:
    """Raise unless the client has a scope for the table of an operation: to others there is no such operation."""
    if not may(scope, table_of(operation)):
        message = f"there is no operation {operation[:200]} that this client may use"
        raise OperationNotFound(message)
