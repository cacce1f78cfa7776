"""Rows: one wide row by its key, and which stream has delivered what of it."""

from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from schemas import RowStatus, WideRow
from service.control.key_values import parse_key
from service.control.row_lookup import find_row, find_row_status
from service.dependencies import ComponentsOf

router = APIRouter(prefix="/v1/tables/{database}/{table}/rows", tags=["rows"])

_JSON = "application/json"
_KEY_PARAMETERS = (
    "The primary key's columns are the query's parameters, one each, as text of the column's "
    "type: `?year=2013&carrier=AA`. Timestamps and dates are ISO 8601, bytes base64."
)


@router.get("", response_model=WideRow, description=f"Return one wide row. {_KEY_PARAMETERS}")
def get_row(components: ComponentsOf, database: str, table: str, request: Request) -> Response:
    """Return one wide row by its key; 404 when there is none."""
    found = components.tables.get(f"{database}.{table}")
    key = parse_key(found.schema, request.query_params.multi_items())
    row = find_row(found, key, clock=components.clock)
    return _json({"row": row.values, "snapshot": row.snapshot.model_dump()})


@router.get(
    "/status",
    response_model=RowStatus,
    description=f"Return the status of a row, stream by stream. {_KEY_PARAMETERS}",
)
def get_row_status(
    components: ComponentsOf, database: str, table: str, request: Request
) -> Response:
    """Return the status of a row; a row that is not there has every group absent."""
    document = components.registrar.document(f"{database}.{table}")
    found = components.tables.get(document.identifier)
    key = parse_key(found.schema, request.query_params.multi_items())
    status = find_row_status(found, document, key, clock=components.clock)
    return _json(status.model_dump(mode="json"))


def _json(body: Any) -> Response:
    # Bytes at once: building and checking a model again costs more than the lookup.
    return Response(orjson.dumps(body), media_type=_JSON)
