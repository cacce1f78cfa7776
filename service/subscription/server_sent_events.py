"""Server-sent events (WHATWG HTML, 9.2) with one line of JSON each."""

from typing import Any, Final

import orjson

MEDIA_TYPE: Final = "text/event-stream"
RETRY: Final = b"retry: 2000\n\n"
"""Tells clients to wait two seconds before they connect again."""


def server_sent_event(event: str, data: bytes, *, event_id: str | None = None) -> bytes:
    r"""Return an event as bytes.

    Args:
        event: The event's type.
        data: JSON without line breaks.
        event_id: What a client that connects again sends as `last-event-id`; None: what an earlier event said.

    >>> server_sent_event("row", b'{"a":1}', event_id="x")
    b'id: x\nevent: row\ndata: {"a":1}\n\n'
    """
    assert b"\n" not in data, "a line break would end the data"
    prefix = b"" if event_id is None else b"id: %s\n" % event_id.encode()
    return b"%sevent: %s\ndata: %s\n\n" % (prefix, event.encode(), data)


def row_event(key: dict[str, Any], row: dict[str, Any] | None, *, snapshot_id: int) -> bytes:
    """Return the event with the state of a row.

    Args:
        key: The columns of the primary key, JSON values.
        row: The row, JSON values; None: there is none.
        snapshot_id: The snapshot in which this is the state; 0: the table has none.
    """
    body = {"key": key, "row": row, "deleted": row is None, "snapshot_id": snapshot_id}
    return server_sent_event("row", orjson.dumps(body))
