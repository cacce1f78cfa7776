"""Routes of the audit log: the entries of the warehouse, and those of one table."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from braid.lake import TableNotFound
from braid.registry.names import is_identifier
from braid.schemas import AuditAction, AuditPage
from braid.service.control.audit_page import AuditRequest, audit_page
from braid.service.dependencies import ComponentsOf

_ENTRIES = 100
_ENTRIES_MAX = 1_000
_TEXT_MAX = 1_000  # characters: longer than every name and token

router = APIRouter(prefix="/v1", tags=["audit"])

Text = Annotated[str | None, Query(max_length=_TEXT_MAX)]
Time = Annotated[
    str | None,
    Query(max_length=_TEXT_MAX, description="Milliseconds, or ISO 8601 with a zone."),
]


async def get_request(
    stream: Text = None,
    actor: Text = None,
    action: AuditAction | None = None,
    since: Time = None,
    until: Time = None,
    page_size: Annotated[int, Query(ge=1, le=_ENTRIES_MAX)] = _ENTRIES,
    page_token: Text = None,
) -> AuditRequest:
    """Return the filters and the page of a request."""
    return AuditRequest(
        stream=stream,
        actor=actor,
        action=action,
        since=since,
        until=until,
        page_size=page_size,
        page_token=page_token,
    )


RequestOf = Annotated[AuditRequest, Depends(get_request)]


@router.get("/audit")
def list_audit(components: ComponentsOf, request: RequestOf, table: Text = None) -> AuditPage:
    """Return who changed what, newest first: entries from `since` to before `until` that match all of the filters.

    `table` is `<database>.<table>`.
    """
    return audit_page(components.audit, request, table=table)


@router.get("/tables/{database}/{table}/audit")
def list_table_audit(
    components: ComponentsOf, database: str, table: str, request: RequestOf
) -> AuditPage:
    """Return who changed a table and its streams, newest first; the entries of a dropped table stay."""
    identifier = f"{database}.{table}"
    if not is_identifier(identifier):
        message = f"there is no table {identifier}"
        raise TableNotFound(message)
    return audit_page(components.audit, request, table=identifier)
