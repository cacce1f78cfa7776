"""Routes of rows: wide rows by their keys, and the status of a row by sequence group."""

from fastapi import APIRouter, Request, Response

from braid.schemas import RowStatus, WideRow
from braid.schemas.api import KEYS_MAX, RowKeys, WideRows
from braid.service.checked_body import CheckedBody
from braid.service.dependencies import ComponentsOf
from braid.service.scope_headers import header_of
from braid.service.serving.row_answers import RowAnswer

router = APIRouter(
    prefix="/v1/tables/{database}/{table}/rows", tags=["rows"], route_class=CheckedBody
)

KEY_PARAMETERS = (
    "The primary key's columns are the query's parameters, one each, as text of the column's "
    "type: `?year=2013&carrier=AA`. Timestamps and dates are ISO 8601, bytes base64."
)
_STATES = (
    "`snapshot_id`, `tag` or `timestamp` (milliseconds since 1970, or ISO 8601 with a zone: the newest "
    "snapshot committed then or before) name an older state, which is read with its own columns."
)
FRESHNESS = (
    "`min_snapshot` is the id of the oldest snapshot that may answer; the service waits two seconds for it. "
    "`max_staleness_ms` is how long ago the snapshot may have been verified to be the newest."
)


@router.get(
    "",
    response_model=WideRow,
    description=(
        f"Return one wide row. {KEY_PARAMETERS} {_STATES} {FRESHNESS} `columns` names columns, "
        "separated by commas. `if-none-match` with the `etag` of an earlier answer is answered 304 "
        "if nothing has changed. If a column of the key has one of "
        "these names, the parameter is the column's value; use `/lookup` then."
    ),
)
async def get_row(
    components: ComponentsOf, database: str, table: str, request: Request
) -> Response:
    """Return one wide row by its key; 404 if it does not exist."""
    query = request.scope["query_string"]
    return row_response(request, await components.rows.row(f"{database}.{table}", query))


@router.post(
    "/lookup",
    response_model=WideRows,
    description=(
        "Return several wide rows, all of one snapshot, in the order of the keys; null stands "
        f"for a row that does not exist. At most {KEYS_MAX} keys, each an object of the "
        "primary key's columns whose values "
        "are text as in the address of one row, or JSON numbers and booleans; a number with a fraction "
        f"has to be text unless the column is FLOAT or DOUBLE. {_STATES} {FRESHNESS}"
    ),
)
async def look_up_rows(
    components: ComponentsOf, database: str, table: str, body: RowKeys, request: Request
) -> Response:
    """Return the rows of many keys."""
    return row_response(request, await components.rows.rows(f"{database}.{table}", body))


@router.get(
    "/status",
    response_model=RowStatus,
    description=f"Return the status of a row by sequence group. {KEY_PARAMETERS}",
)
async def get_row_status(
    components: ComponentsOf, database: str, table: str, request: Request
) -> Response:
    """Return the status of each sequence group of a row; all are `absent` if the row does not exist."""
    query = request.scope["query_string"]
    return row_response(request, await components.rows.status(f"{database}.{table}", query))


def row_response(request: Request, answer: RowAnswer) -> Response:
    """Return an answer as a response: 304 without a body if the client has it already."""
    status, headers, body = answer.response(header_of(request.scope, b"if-none-match"))
    return Response(body, status, {name.decode(): value.decode() for name, value in headers})
