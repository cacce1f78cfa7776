"""Page tokens of rows: the request, the snapshot of all pages, and the last key that was read; readable by every service process.

The service keeps no state. The table has the lease, which expires, so a token that is never used again costs nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from braid.lake import InvalidRequest, Problem
from braid.schemas.api import RowScan
from braid.schemas.pushed_records import TIMESTAMP_MS_MAX
from braid.service.control.page_token import decode_token, encode_token


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePosition:
    """The place between two pages.

    Attributes:
        table: `db.table`.
        scan: The request of the first page.
        snapshot_id: The snapshot of all pages.
        snapshot_uuid: Its `uuid`: after a rollback another snapshot may have the id. None: it has none.
        tag: The tag that keeps the snapshot; None: `lease_id` does.
        schema_id: The schema that all pages are read with.
        verified_ms: When the snapshot was determined, milliseconds since 1970.
        measured_ms: The time at which the ages of streams' parts are measured, milliseconds since 1970.
        after: The last key that was read, as JSON values by column; empty before the first page.
        lease_id: The lease of the snapshot; None on the first page.
    """

    table: str
    scan: RowScan
    snapshot_id: int
    snapshot_uuid: str | None
    tag: str | None
    schema_id: int
    verified_ms: int
    measured_ms: int
    after: Mapping[str, Any]
    lease_id: str | None = None


def to_token(position: PagePosition) -> str:
    """Return a position as a token."""
    fields = [
        position.table,
        position.scan.model_dump(mode="json", exclude_defaults=True),
        position.snapshot_id,
        position.snapshot_uuid,
        position.tag,
        position.schema_id,
        position.verified_ms,
        position.measured_ms,
        position.after,
        position.lease_id,
    ]
    return encode_token(orjson.dumps(fields))


def parse_token(token: str, *, table: str) -> PagePosition:
    """Return the position that a token stands for.

    Args:
        token: A text that `to_token` returned, or any other text.
        table: `db.table` of the request.

    Raises:
        InvalidRequest: The token is not one for rows of this table.
    """
    try:
        fields = orjson.loads(decode_token(token))
    except ValueError:  # not base64, or not JSON
        fields = None
    match fields:
        case [
            str(of),
            dict(scan),
            int(snapshot_id),
            (str() | None) as snapshot_uuid,
            (str() | None) as tag,
            int(schema_id),
            int(verified_ms),
            int(measured_ms),
            dict(after),
            (str() | None) as lease_id,
        ] if (
            of == table
            and snapshot_id > 0
            and schema_id >= 0
            and 0 <= verified_ms <= TIMESTAMP_MS_MAX
            and 0 <= measured_ms <= TIMESTAMP_MS_MAX
        ):
            # Tokens are not signed: a forged one may have any values.
            try:
                request = RowScan.model_validate(scan)
            except ValidationError:
                pass
            else:
                return PagePosition(
                    table=of,
                    scan=request,
                    snapshot_id=snapshot_id,
                    snapshot_uuid=snapshot_uuid,
                    tag=tag,
                    schema_id=schema_id,
                    verified_ms=verified_ms,
                    measured_ms=measured_ms,
                    after=after,
                    lease_id=lease_id,
                )
        case _:
            pass
    raise token_refused(token)


def token_refused(token: str) -> InvalidRequest:
    """Return the error of a text that is not a page token for rows of the table."""
    problem = Problem(
        field="page_token",
        value=token,
        message="not a page token for rows of this table",
        hint="use `next_page_token` of the page before, or leave it out",
    )
    message = "the page token is not valid"
    return InvalidRequest(message, problems=[problem])
