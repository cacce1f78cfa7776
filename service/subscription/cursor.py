"""Cursor of a subscription: how far its changes were sent, as a text that every service process can read.

base64url of JSON: table, snapshot, unique id of the snapshot, records of the snapshot that were read (null: all)
"""

import orjson

from braid.lake import ChangedKeysPosition, InvalidRequest, Problem
from braid.service.control.page_token import decode_token, encode_token


def to_cursor(identifier: str, position: ChangedKeysPosition) -> str:
    """Return the cursor of a position in a table."""
    fields = [identifier, position.snapshot_id, position.uuid, position.records]
    return encode_token(orjson.dumps(fields))


def parse_cursor(identifier: str, cursor: str, *, field: str) -> ChangedKeysPosition:
    """Return the position that a cursor stands for.

    Args:
        identifier: `db.table` of the request.
        cursor: A text that `to_cursor` returned, or any other text.
        field: The parameter or header with the cursor.

    Raises:
        InvalidRequest: The text is not a cursor of this table.
    """
    try:
        fields = orjson.loads(decode_token(cursor))
    except ValueError:  # not base64, or not JSON
        fields = None
    match fields:
        case [of, int(snapshot_id), str() | None as uuid, int() | None as records]:
            # Cursors are not signed, so the position of a forged one has to be checked as well.
            # In Python, `true` is an integer.
            is_position = snapshot_id >= 0 and (records is None or (records >= 0 < snapshot_id))
            is_position = is_position and not any(isinstance(one, bool) for one in fields)
            if of == identifier and is_position:
                return ChangedKeysPosition(snapshot_id=snapshot_id, uuid=uuid, records=records)
        case _:
            pass
    problem = Problem(
        field=field,
        value=cursor,
        message="not a cursor of a subscription to this table",
        hint="use the `id` of the last event, or leave it out to start anew",
    )
    message = "the cursor is not valid"
    raise InvalidRequest(message, problems=[problem])
