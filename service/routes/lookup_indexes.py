"""Route of lookup indexes: rows by the values of other columns than the key."""

from functools import partial

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from braid.schemas.api import IndexRows
from braid.service.checked_body import CheckedBody
from braid.service.dependencies import ComponentsOf, MaskOf

router = APIRouter(
    prefix="/v1/tables/{database}/{table}/indexes/{index}",
    tags=["rows"],
    route_class=CheckedBody,
)


@router.get(
    "/rows",
    response_model=IndexRows,
    description=(
        "Return the rows with some values of the columns of a lookup index, which are the query's parameters, one each, as "
        "text of the column's type. A page has `page_size` rows, 100 by default and 1,000 at most; `page_token` continues. "
        "`columns` names columns of the rows, separated by commas. While the index is being built the answer is 503 "
        "`not_ready` with the progress."
    ),
)
async def get_index_rows(
    components: ComponentsOf,
    mask: MaskOf,
    database: str,
    table: str,
    index: str,
    request: Request,
) -> Response:
    """Return rows by the columns of a lookup index."""
    query = request.scope["query_string"]
    read = partial(components.indexes.rows, f"{database}.{table}", index, query, mask=mask)
    body = await run_in_threadpool(read)
    return Response(body, media_type="application/json")
