"""One change event, and its messages as Debezium writes them in JSON without schemas."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tests.support.change_capture.database import Operation, RowChange
from tests.support.change_capture.log_places import Place
from tests.support.change_capture.source_table import Row, SourceTable, Value

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""Stands for a value that the log of the change does not have."""
_READ_LAST: Final = 1 << 40
_EPOCH_MS: Final = 1_790_000_000_000


class ChangeEvent(NamedTuple):
    """An event that the connector sends.

    Attributes:
        moment: Its place in the order in which the database changed: the number of the commit, and the place in
            the transaction. No event tells it.
        change: What happened.
        place: What the event tells of its place in the log, with `last_commit`.
        last_commit: Of the last transaction before it; None: none was read since a snapshot.
        transaction_id: Of the database.
        snapshot: `source.snapshot`.
    """

    moment: tuple[int, int]
    change: RowChange
    place: Place
    last_commit: Place | None
    transaction_id: int
    snapshot: str


def read_event(
    change: RowChange, *, commits: int, place: Place, last_commit: Place | None, snapshot: str
) -> ChangeEvent:
    """Return the event of a row that a snapshot has read after so many commits."""
    return ChangeEvent((commits, _READ_LAST), change, place, last_commit, 0, snapshot)


def key_of(event: ChangeEvent) -> bytes:
    """Return the key of an event's record."""
    return _key(event.change.key)


def value_of(
    event: ChangeEvent, table: SourceTable, connector: str, source: Mapping[str, Any]
) -> bytes:
    """Return the value of an event's record.

    Args:
        event: The event.
        table: The table of its row.
        connector: Debezium's name for the database.
        source: What the event tells of its place.
    """
    change = event.change
    before, after = _images(change, table)
    # The clocks of servers jump: nothing can be ordered by them.
    time_ms = _EPOCH_MS + event.moment[0] * 7_919 % 100_000
    message = {
        "before": before,
        "after": after,
        "source": {
            "version": "3.4.0.Final",
            "connector": connector,
            "name": "shop",
            "ts_ms": time_ms,
            "snapshot": event.snapshot,
            "db": "shop",
            "schema": "public",
            "table": table.name,
            "txId": event.transaction_id,
            **source,
            "xmin": None,
        },
        "transaction": None,
        "op": change.operation.value,
        "ts_ms": time_ms + 5,
    }
    return json.dumps(message, separators=(",", ":")).encode()


def headers_of(event: ChangeEvent) -> tuple[tuple[str, bytes], ...]:
    """Return the headers of an event's record: the other key, if it was changed."""
    other = event.change.other_key
    if other is None:
        return ()
    is_delete = event.change.operation is Operation.DELETE
    return ((f"__debezium.{'newkey' if is_delete else 'oldkey'}", _key(other)),)


def _images(
    change: RowChange, table: SourceTable
) -> tuple[dict[str, Value] | None, dict[str, Value] | None]:
    """Return the row before and after, as far as the log has them."""
    after = None
    if change.after is not None:
        after = _image(change.key, change.after, table)
        for place in change.unavailable:
            after[table.columns[place]] = UNAVAILABLE
    before = None
    if change.before is not None:
        if table.has_full_identity:
            before = _image(change.key, change.before, table)
        elif change.operation is Operation.DELETE:
            # REPLICA IDENTITY DEFAULT: the key alone.
            before = _image(change.key, (None,) * len(table.columns), table)
    return before, after


def _image(key: int, row: Row, table: SourceTable) -> dict[str, Value]:
    return {"id": key, **dict(zip(table.columns, row, strict=True))}


def _key(key: int) -> bytes:
    return b'{"id":%d}' % key
