"""Table of the chaos test, and its three streams, as requests to the control plane.

The streams differ in what decides about a value: a version in the record, the place of the record in Kafka, and each
record exactly once.
"""

from typing import Any, Final

DATABASE: Final = "chaos"
TABLE: Final = "parcels"
IDENTIFIER: Final = f"{DATABASE}.{TABLE}"
CLUSTER: Final = "chaos"
PARTITIONS: Final = 2

ORDERS: Final = "orders"
SHIPPING: Final = "shipping"
PAYMENTS: Final = "payments"
STREAMS: Final = (ORDERS, SHIPPING, PAYMENTS)
REPEATABLE: Final = (ORDERS, SHIPPING)
"""Streams whose position may be set back; the third one has a sum."""

COLUMNS: Final = ("id", "order_text", "order_version", "carrier", "paid")
"""All that a request has declared, in the order of the rows that are compared."""

SMALL_BYTES: Final = 1_000
"""The longest message of a stream before it is mended; usual ones are shorter."""
MENDED_BYTES: Final = 100_000
"""The longest message afterwards; all are shorter."""

_COLUMNS_OF: Final = {
    ORDERS: ("order_text", "order_version"),
    SHIPPING: ("carrier",),
    PAYMENTS: ("paid",),
}


def topic_of(stream: str) -> str:
    """Return the name of a stream's topic."""
    return f"chaos-{stream}"


def letters_of(stream: str) -> str:
    """Return the name of the topic with a stream's dead letters."""
    return f"{topic_of(stream)}.dead-letters"


def table_request() -> dict[str, Any]:
    """Return the body of the table's `PUT`: its snapshots expire soon, its files are compacted often."""
    return {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            {"name": "order_text", "type": "STRING"},
            {"name": "order_version", "type": "BIGINT"},
            {"name": "carrier", "type": "STRING"},
            {"name": "paid", "type": "BIGINT", "aggregate": {"function": "sum"}},
        ],
        "primary_key": ["id"],
        "buckets": 2,
        "merge_engine": "partial-update",
        "sequence_groups": [
            {
                "name": ORDERS,
                "ordering": ["order_version"],
                "columns": ["order_text"],
                "deletes": "clear_columns",
            },
            {"name": SHIPPING, "columns": ["carrier"]},
            {"name": PAYMENTS, "columns": ["paid"]},
        ],
        "options": {
            "num-sorted-run.compaction-trigger": "3",
            "snapshot.num-retained.min": "3",
            "snapshot.num-retained.max": "10",
        },
    }


def stream_request(stream: str, *, is_mended: bool) -> dict[str, Any]:
    """Return the body of a stream's `PUT`.

    Args:
        stream: Its name.
        is_mended: Whether it takes long messages, which are dead letters otherwise.
    """
    request: dict[str, Any] = {
        "topic": topic_of(stream),
        "format": "json",
        "columns": [{"column": name} for name in ("id", *_COLUMNS_OF[stream])],
        "sequence_group": stream,
        "kafka": {"cluster": CLUSTER},
        "partitioned_by_key": True,
        "trigger_ms": 200,
        "max_records_per_batch": 200,
        "max_message_bytes": MENDED_BYTES if is_mended else SMALL_BYTES,
    }
    return request | ({"delete_when": "op = 'd'"} if stream == ORDERS else {})
