"""Page tokens of changes: a reader's position between two pages, readable by every service process.

    base64url of JSON: table, range, columns, mode, next snapshot, returned rows of it, lease,
    identity of the last snapshot

The service keeps no state; the table has the lease, which expires, so a token that is never used again costs nothing.
"""

from dataclasses import dataclass

import orjson

from braid.lake import ChangesMode, InvalidRequest, Problem
from braid.service.control.page_token import decode_token, encode_token


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesPosition:
    """The first change of the next page.

    Attributes:
        table: `db.table`.
        after_snapshot_id: The last snapshot before the whole range.
        until_snapshot_id: The last snapshot of the range.
        columns: Columns of the rows; None means all.
        mode: The files that changes are read from.
        snapshot_id: The snapshot to continue with.
        skip_rows: Number of rows of that snapshot's changes that earlier pages have returned.
        lease_id: The lease of the rest of the range; None on the first page.
        until_uuid: The `uuid` of the last snapshot: after a rollback another one may have its id.
            None for an empty range, and for a snapshot without `uuid`.
    """

    table: str
    after_snapshot_id: int
    until_snapshot_id: int
    columns: tuple[str, ...] | None
    mode: ChangesMode
    snapshot_id: int
    skip_rows: int = 0
    lease_id: str | None = None
    until_uuid: str | None = None


def to_token(position: ChangesPosition) -> str:
    """Return a position as a token."""
    fields = [
        position.table,
        position.after_snapshot_id,
        position.until_snapshot_id,
        position.columns,
        position.mode,
        position.snapshot_id,
        position.skip_rows,
        position.lease_id,
        position.until_uuid,
    ]
    return encode_token(orjson.dumps(fields))


def parse_token(token: str, *, table: str) -> ChangesPosition:
    """Return the position that a token stands for.

    Args:
        token: A text that `to_token` returned, or any other text.
        table: `db.table` of the request.

    Raises:
        InvalidRequest: The token is not one for changes of this table.
    """
    try:
        fields = orjson.loads(decode_token(token))
    except ValueError:  # not base64, or not JSON
        fields = None
    match fields:
        case [
            str(of),
            int(after),
            int(until),
            columns,
            ("auto" | "delta" | "changelog") as mode,
            int(snapshot_id),
            int(skip_rows),
            lease_id,
            until_uuid,
        ]:
            position = ChangesPosition(
                table=of,
                after_snapshot_id=after,
                until_snapshot_id=until,
                columns=None if columns is None else _texts(columns),
                mode=ChangesMode(mode),
                snapshot_id=snapshot_id,
                skip_rows=skip_rows,
                lease_id=lease_id if isinstance(lease_id, str) else None,
                until_uuid=until_uuid if isinstance(until_uuid, str) else None,
            )
            # Tokens are not signed, so the position of a forged token has to be checked as well.
            if of == table and 0 <= after < snapshot_id <= until and skip_rows >= 0:
                return position
        case _:
            pass
    problem = Problem(
        field="page_token",
        value=token,
        message="not a page token for changes of this table",
        hint="use `next_page_token` of the page before, or leave it out",
    )
    message = "the page token is not valid"
    raise InvalidRequest(message, problems=[problem])


def _texts(columns: object) -> tuple[str, ...]:
    return tuple(map(str, columns)) if isinstance(columns, list) else ()
