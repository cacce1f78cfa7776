"""Routes of operations: a list, one of them, its cancellation and its deletion."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query

from braid.registry.errors import OperationNotFound
from braid.registry.store.operations import table_of
from braid.schemas import OperationList, OperationState, OperationView
from braid.schemas.access import AccessScope
from braid.service.checked_body import CheckedBody
from braid.service.control.operation_pages import (
    list_operations as page_of_operations,
    operation_view,
)
from braid.service.dependencies import ComponentsOf, May, MayOf

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
def get_operation(components: ComponentsOf, may: MayOf, operation: str) -> OperationView:
    """Return an operation: its state, its progress, and its result or problem."""
    _check(may, AccessScope.READ, operation)
    return components.shown(operation_view(components.operations.get(operation)))


@router.post("/{operation}:cancel", status_code=202)
def cancel_operation(components: ComponentsOf, may: MayOf, operation: str) -> OperationView:
    """End an operation before it is complete, at the next point where its work can end; no effect if it has ended."""
    _check(may, AccessScope.OPERATE, operation)
    canceled = components.operations.change(
        operation, lambda found: found.model_copy(update={"cancel_requested": True})
    )
    components.operation_pool.look_soon()
    return components.shown(operation_view(canceled))


@router.delete("/{operation}", status_code=204)
def delete_operation(components: ComponentsOf, may: MayOf, operation: str) -> None:
    """Delete the document of an operation that has ended."""
    _check(may, AccessScope.OPERATE, operation)
    components.operations.delete(operation)


def _check(may: May, scope: AccessScope, operation: str) -> None:
    """Raise unless the client has a scope for the table of an operation: to others there is no such operation."""
    if not may(scope, table_of(operation)):
        message = f"there is no operation {operation[:200]} that this client may use"
        raise OperationNotFound(message)
