"""The three topics of the ingest benchmark, with 10 fields each, and the wide table of 28 columns that they fill.

The module imports only the standard library, because the engines that Braid is compared with run in other
environments.

| columns | from topic |
|---|---|
| `id` | all three |
| `a_v`, `a1` … `a8` | `a`, ordered by `a_v`; likewise `b` and `c` |
"""

import json
from collections.abc import Mapping
from typing import Any, Final

STREAMS: Final = ("a", "b", "c")
KEY: Final = "id"
PARTITIONS: Final = 2
BUCKETS: Final = 4
CLUSTER: Final = "bench"
_VALUE_TYPES: Final = ("INT", "DOUBLE", "STRING", "BOOLEAN", "DATE", "BIGINT", "STRING", "INT")
# Prime, so that multiples of it meet every key before one comes again.
_STEP: Final = 2_654_435_761


def version_column(stream: str) -> str:
    """Return the column that orders a stream's records of one key."""
    return f"{stream}_v"


def value_columns(stream: str) -> dict[str, str]:
    """Return a stream's columns besides key and version: their SQL types by name."""
    return {f"{stream}{number}": sql for number, sql in enumerate(_VALUE_TYPES, 1)}


def stream_columns(stream: str) -> dict[str, str]:
    """Return all fields of a stream's messages: their SQL types by name.

    Example:
        >>> len(stream_columns("a"))
        10
    """
    return {KEY: "BIGINT", version_column(stream): "INT", **value_columns(stream)}


def table_columns() -> dict[str, str]:
    """Return the columns of the table: their SQL types by name.

    Example:
        >>> len(table_columns())
        28
    """
    return {name: sql for stream in STREAMS for name, sql in stream_columns(stream).items()}


def table_request() -> dict[str, Any]:
    """Return the body of the request that creates the table."""
    return {
        "columns": [{"name": name, "type": sql} for name, sql in table_columns().items()],
        "primary_key": [KEY],
        "buckets": BUCKETS,
        "merge_engine": "partial-update",
        "sequence_groups": [
            {
                "name": stream,
                "ordering": [version_column(stream)],
                "columns": list(value_columns(stream)),
            }
            for stream in STREAMS
        ],
    }


def stream_request(
    stream: str, *, topic: str, trigger_ms: int, max_records_per_batch: int
) -> dict[str, Any]:
    """Return the body of the request that registers a stream of the table.

    Args:
        stream: One of `STREAMS`.
        topic: Its topic.
        trigger_ms: Time between the starts of two micro-batches.
        max_records_per_batch: The bound of one micro-batch.
    """
    return {
        "topic": topic,
        "format": "json",
        "columns": [{"column": name} for name in stream_columns(stream)],
        "sequence_group": stream,
        "kafka": {"cluster": CLUSTER},
        "trigger_ms": trigger_ms,
        "max_records_per_batch": max_records_per_batch,
    }


def key_of(number: int, keys: int) -> int:
    """Return the key of a message: each key once in every `keys` messages, in an order without a pattern.

    Example:
        >>> sorted(key_of(number, 5) for number in range(5))
        [0, 1, 2, 3, 4]
    """
    return number * _STEP % keys


def values_of(stream: str, number: int, keys: int) -> dict[str, Any]:
    """Return the fields of message `number` of a stream, dates as texts."""
    key = key_of(number, keys)
    text = f"{stream} of {key}"
    day = f"2026-{key % 12 + 1:02}-{key % 28 + 1:02}"
    values = (key % 1_000, key * 0.25, text, key % 2 == 0, day, number, f"note {number}", key % 7)
    return {
        KEY: key,
        version_column(stream): number // keys + 1,
        **dict(zip(value_columns(stream), values, strict=True)),
    }


def message(stream: str, number: int, keys: int) -> bytes:
    """Return message `number` of a stream as JSON."""
    return json.dumps(values_of(stream, number, keys), separators=(",", ":")).encode()


def message_sql(stream: str, keys: int) -> str:
    """Return Spark SQL for the text of the same message, from the column `number`."""
    key = f"pmod(number * {_STEP}, {keys})"
    day = f"concat('2026-', lpad({key} % 12 + 1, 2, '0'), '-', lpad({key} % 28 + 1, 2, '0'))"
    fields: Mapping[str, str] = {
        KEY: key,
        version_column(stream): f"cast(floor(number / {keys}) + 1 as int)",
        **dict(
            zip(
                value_columns(stream),
                (
                    f"cast({key} % 1000 as int)",
                    f"{key} * 0.25D",
                    f"concat('{stream} of ', {key})",
                    f"{key} % 2 = 0",
                    day,
                    "number",
                    "concat('note ', number)",
                    f"cast({key} % 7 as int)",
                ),
                strict=True,
            )
        ),
    }
    pairs = ", ".join(f"'{name}', {sql}" for name, sql in fields.items())
    return f"to_json(named_struct({pairs}))"


def partition_sql(keys: int) -> str:
    """Return Spark SQL for the partition of the message, from the column `number`: a key keeps its partition."""
    return f"cast(pmod(number * {_STEP}, {keys}) % {PARTITIONS} as int)"
