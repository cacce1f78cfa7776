"""Routes of rows: wide rows by their keys, and the status of a row by sequence group."""

from typing import Any

from fastapi import APIRouter, Request, Response

from braid.schemas import HypotheticalRow, RowCertificate, RowExplanation, RowStatus, WideRow
from braid.schemas.api import (
    KEYS_MAX,
    RowHypothesis,
    RowKeys,
    RowPage,
    RowScan,
    WideRows,
)
from braid.schemas.record_outcome import RowOutcomes
from braid.service.arrow_stream import ARROW
from braid.service.checked_body import CheckedBody
from braid.service.control.row_pages import EXAMINED_MAX
from braid.service.dependencies import ComponentsOf, MaskOf
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
_VISIBILITY = (
    "A table that hides new records until a compaction shows all of them with `visibility=merged`; otherwise `hidden` of "
    "`snapshot` counts them."
)
_INTEGERS = "With `integers=text` values of BIGINT are text."
_ARROW_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"content": {ARROW: {"schema": {"type": "string", "format": "binary"}}}}
}
FRESHNESS = (
    "`min_snapshot` is the id of the oldest snapshot that may answer; the service waits two seconds for it. "
    "`max_staleness_ms` is how long ago the snapshot may have been verified to be the newest. "
    "`read_after` is the token of a push: the snapshot has taken in its records, which are merged even if the table hides new records; "
    "the service waits two seconds for it."
)


@router.get(
    "",
    response_model=WideRow,
    responses={**_ARROW_ANSWER, 304: {"description": "The client has the answer already"}},
    description=(
        f"Return one wide row. {KEY_PARAMETERS} {_STATES} {FRESHNESS} {_VISIBILITY} {_INTEGERS} `columns` names columns, "
        "separated by commas. `if-none-match` with the `etag` of an earlier answer is answered 304 "
        "if nothing has changed. If a column of the key has one of "
        "these names, the parameter is the column's value; use `/lookup` then."
    ),
)
async def get_row(
    components: ComponentsOf, mask: MaskOf, database: str, table: str, request: Request
) -> Response:
    """Return one wide row by its key; 404 if it does not exist."""
    query = request.scope["query_string"]
    accept = header_of(request.scope, b"accept")
    answer = await components.rows.row(f"{database}.{table}", query, accept, mask=mask)
    return row_response(request, answer)


@router.post(
    "/lookup",
    response_model=WideRows,
    responses=_ARROW_ANSWER,
    description=(
        "Return several wide rows, all of one snapshot, in the order of the keys; null stands "
        f"for a row that does not exist. At most {KEYS_MAX} keys, each an object of the "
        "primary key's columns whose values "
        "are text as in the address of one row, or JSON numbers and booleans; a number with a fraction "
        f"has to be text unless the column is FLOAT or DOUBLE. {_STATES} {FRESHNESS} {_VISIBILITY} {_INTEGERS}"
    ),
)
async def look_up_rows(
    components: ComponentsOf,
    mask: MaskOf,
    database: str,
    table: str,
    body: RowKeys,
    request: Request,
) -> Response:
    """Return the rows of many keys."""
    accept = header_of(request.scope, b"accept")
    answer = await components.rows.rows(f"{database}.{table}", body, accept, mask=mask)
    return row_response(request, answer)


@router.post(
    "/scan",
    response_model=RowPage,
    responses=_ARROW_ANSWER,
    description=(
        "Return the rows of a range of keys, page by page in the order of the primary key, all pages from one snapshot. "
        "`from_key` (inclusive) and `to_key` (exclusive) have values of the first columns of the key, `prefix` values that "
        "all rows have, and `starts_with` is what the text of the next column begins with. `status` chooses rows: "
        '`{"groups": {"payments": ["absent", "deleted"]}, "complete": false}`. A page has at most `limit` rows, and fewer '
        f"if rows are large or {EXAMINED_MAX:,} rows were read for it; the last page has no `next_page_token`. A page token "
        "stands for all other fields but `limit` and `integers`; the snapshot is kept from expiring for ten minutes after "
        f"each page. {_STATES} {_VISIBILITY}"
    ),
)
async def scan_rows(
    components: ComponentsOf,
    mask: MaskOf,
    database: str,
    table: str,
    body: RowScan,
    request: Request,
) -> Response:
    """Return a page of rows."""
    accept = header_of(request.scope, b"accept")
    answer = await components.rows.page(f"{database}.{table}", body, accept, mask=mask)
    return row_response(request, answer)


@router.get(
    "/status",
    response_model=RowStatus,
    description=(
        f"Return the status of a row by sequence group. {KEY_PARAMETERS} {_STATES} The ages of an older state "
        f"are measured at its commit. {FRESHNESS} {_VISIBILITY} {_INTEGERS}"
    ),
)
async def get_row_status(
    components: ComponentsOf, mask: MaskOf, database: str, table: str, request: Request
) -> Response:
    """Return the status of each sequence group of a row; all are `absent` if the row does not exist."""
    query = request.scope["query_string"]
    answer = await components.rows.status(f"{database}.{table}", query, mask=mask)
    return row_response(request, answer)


@router.get(
    "/explain",
    response_model=RowExplanation,
    description=(
        "Return why a row has its values: the versions of its key that still exist, and for each column the version "
        "and the record of a stream that give the value, with the reason; and why the others do not. "
        f"{KEY_PARAMETERS} {_STATES} {FRESHNESS} With `raw=true` the answer has the Kafka records in `records`, 20 at most, "
        "as far as their topics still have them and operators allow it."
    ),
)
async def explain_row(
    components: ComponentsOf, database: str, table: str, request: Request
) -> Response:
    """Explain a row, whether it exists or not."""
    query = request.scope["query_string"]
    return _json(await components.explainer.explain(f"{database}.{table}", query))


@router.get(
    "/outcomes",
    response_model=RowOutcomes,
    description=(
        "Return what has become of pushed records in their row: the records of the key among those of the token `read_after`. Each "
        "has won, lost, is aggregated, ignored or a dead letter, with the columns and the reasons; or it is not known any more, "
        f"because a compaction has merged it. {KEY_PARAMETERS} {FRESHNESS}"
    ),
)
async def get_row_outcomes(
    components: ComponentsOf, database: str, table: str, request: Request
) -> Response:
    """Return the outcomes of pushed records, whether the row exists or not."""
    query = request.scope["query_string"]
    return _json(await components.outcomes.outcomes(f"{database}.{table}", query))


@router.get(
    "/certificate",
    response_model=RowCertificate,
    description=(
        "Return the certificate of a row: the schema with the rules of merging, the versions of its key, and the row. "
        "`braid explain verify` merges the versions again without the table. "
        f"{KEY_PARAMETERS} {_STATES} {FRESHNESS}"
    ),
)
async def certify_row(
    components: ComponentsOf, database: str, table: str, request: Request
) -> Response:
    """Certify a row, whether it exists or not."""
    query = request.scope["query_string"]
    return _json(await components.explainer.certificate(f"{database}.{table}", query))


@router.post(
    "/explain",
    response_model=HypotheticalRow,
    description=(
        "Return a row and its status as they would be: `what_if` a record of a stream arrived now, or `without` the records "
        "of a stream (from an offset on, of a partition). Nothing is written. The key is one of `/lookup`. "
        f"{_STATES} {FRESHNESS}"
    ),
)
async def suppose_row(
    components: ComponentsOf, database: str, table: str, body: RowHypothesis
) -> Response:
    """Return a row as it would be."""
    return _json(await components.explainer.suppose(f"{database}.{table}", body))


def row_response(request: Request, answer: RowAnswer) -> Response:
    """Return an answer as a response: 304 without a body if the client has it already."""
    status, headers, body = answer.response(header_of(request.scope, b"if-none-match"))
    return Response(body, status, {name.decode(): value.decode() for name, value in headers})


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")
