"""Routes of a table's snapshots, tags and compactions: lists, single ones, and new tags."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from braid.registry.store.revision import revision_of
from braid.schemas.snapshots import (
    CompactionList,
    SnapshotList,
    SnapshotView,
    TagList,
    TagRequest,
    TagView,
)
from braid.service.checked_body import CheckedBody
from braid.service.control import snapshot_resources as resources
from braid.service.dependencies import ActorOf, ComponentsOf, PreconditionOf, set_etag

PAGE_SIZE = 100
PAGE_SIZE_MAX = 1_000
_ID_MAX = 2**63 - 1

router = APIRouter(
    prefix="/v1/tables/{database}/{table}", tags=["snapshots"], route_class=CheckedBody
)

PageSize = Annotated[int, Query(ge=1, le=PAGE_SIZE_MAX)]


@router.get("/snapshots")
def list_snapshots(
    components: ComponentsOf,
    database: str,
    table: str,
    page_size: PageSize = PAGE_SIZE,
    page_token: str | None = None,
) -> SnapshotList:
    """List the snapshots that are kept, the newest first."""
    found = components.tables.get(f"{database}.{table}")
    return resources.list_snapshots(found, page_size=page_size, page_token=page_token)


@router.get("/snapshots/{snapshot}")
def get_snapshot(
    components: ComponentsOf,
    database: str,
    table: str,
    snapshot: Annotated[int, Path(ge=1, le=_ID_MAX)],
) -> SnapshotView:
    """Return a snapshot."""
    return resources.find_snapshot(components.tables.get(f"{database}.{table}"), snapshot)


@router.get("/tags")
def list_tags(components: ComponentsOf, database: str, table: str) -> TagList:
    """List the tags, by name."""
    return resources.list_tags(components.tables.get(f"{database}.{table}"))


@router.get("/tags/{tag}")
def get_tag(
    components: ComponentsOf, database: str, table: str, tag: str, response: Response
) -> TagView:
    """Return a tag."""
    view = resources.find_tag(components.tables.get(f"{database}.{table}"), tag)
    set_etag(response, revision_of(view))
    return view


@router.put("/tags/{tag}", responses={201: {"model": TagView}})
def put_tag(
    components: ComponentsOf,
    actor: ActorOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    tag: str,
    body: TagRequest,
    response: Response,
) -> TagView:
    """Give a snapshot a name: 201 if the tag is new, 200 if it exists for that snapshot."""
    found = components.tables.get(f"{database}.{table}")
    view, is_new = resources.put_tag(
        found,
        tag,
        body,
        audit=components.registry.audit,
        actor=actor,
        precondition=precondition,
    )
    response.status_code = 201 if is_new else 200
    set_etag(response, revision_of(view))
    return view


@router.get("/compactions")
def list_compactions(
    components: ComponentsOf,
    database: str,
    table: str,
    page_size: PageSize = PAGE_SIZE,
    page_token: str | None = None,
) -> CompactionList:
    """List the compactions of buckets among the last 1,000 snapshots, the newest first."""
    found = components.tables.get(f"{database}.{table}")
    return resources.list_compactions(found, page_size=page_size, page_token=page_token)
