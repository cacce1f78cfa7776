"""Routes of feature views: the rows of a view by their keys."""

from fastapi import APIRouter, Request, Response

from braid.schemas import ViewRow, ViewRows
from braid.schemas.api import KEYS_MAX, RowKeys
from braid.service.checked_body import CheckedBody
from braid.service.dependencies import ComponentsOf, MaskOf
from braid.service.routes.rows import FRESHNESS, KEY_PARAMETERS, row_response

router = APIRouter(
    prefix="/v1/tables/{database}/{table}/views/{view}",
    tags=["feature views"],
    route_class=CheckedBody,
)

_RULES = (
    "`on_incomplete` and `on_stale` of the view decide what is answered for a row that is incomplete or stale. "
    "A view answers from the newest snapshot only."
)


@router.get(
    "/rows",
    response_model=ViewRow,
    description=(
        f"Return one row of a feature view with its status. {_RULES} {KEY_PARAMETERS} {FRESHNESS} "
        "`columns` names columns of the view, separated by commas."
    ),
)
async def get_view_row(
    components: ComponentsOf,
    mask: MaskOf,
    database: str,
    table: str,
    view: str,
    request: Request,
) -> Response:
    """Return one row of a view by its key; 404 if it does not exist."""
    query = request.scope["query_string"]
    answer = await components.rows.view_row(f"{database}.{table}", query, view=view, mask=mask)
    return row_response(request, answer)


@router.post(
    "/lookup",
    response_model=ViewRows,
    description=(
        "Return several rows of a feature view with their status, all of one snapshot, in the order of the keys; "
        f"null where one row would be 404. {_RULES} At most {KEYS_MAX} keys, as for `rows/lookup`. {FRESHNESS} "
        "`columns` names columns of the view."
    ),
)
async def look_up_view_rows(
    components: ComponentsOf,
    mask: MaskOf,
    database: str,
    table: str,
    view: str,
    body: RowKeys,
    request: Request,
) -> Response:
    """Return the rows of many keys."""
    answer = await components.rows.view_rows(f"{database}.{table}", body, view=view, mask=mask)
    return row_response(request, answer)
