"""Route of a table's metadata: snapshots, files, partitions and more."""

from typing import Annotated

from fastapi import APIRouter, Query

from braid.lake import Inspection, ReadAt
from braid.schemas.api import TableInspection
from braid.service.control.inspection import inspect_view
from braid.service.dependencies import ComponentsOf

ROWS = 1_000
ROWS_MAX = 10_000

router = APIRouter(prefix="/v1/tables/{database}/{table}/inspect", tags=["tables"])


@router.get(
    "/{view}",
    description=(
        "Return a page of a view of the table's metadata. Views: "
        f"{', '.join(f'`{name}`' for name in Inspection.VIEWS)}. "
        "Views of one snapshot take `snapshot_id`, `tag` or `timestamp` (milliseconds, or ISO 8601 with "
        "a zone); views of the history take `last`, a number of snapshots."
    ),
)
def inspect_table(
    components: ComponentsOf,
    database: str,
    table: str,
    view: str,
    snapshot_id: Annotated[int | None, Query(ge=1)] = None,
    tag: str | None = None,
    timestamp: str | None = None,
    last: Annotated[int | None, Query(ge=1)] = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=ROWS_MAX)] = ROWS,
) -> TableInspection:
    """Return rows of a view."""
    found = components.tables.get(f"{database}.{table}")
    at = ReadAt(snapshot_id=snapshot_id, tag=tag, timestamp=timestamp)
    return inspect_view(found, view, at=at, last=last, offset=offset, limit=limit)
