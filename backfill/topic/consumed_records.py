"""Conversion of kafka-python's records to the batches that streams read, and to lines of the reject file. Pure."""

import base64
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from braid.records.record_columns import (
    HEADERS,
    KEY,
    NO_TIMESTAMP_US,
    OFFSET,
    PARTITION,
    TIMESTAMP,
    VALUE,
)

_HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def record_batch(records: Sequence[Any]) -> pa.RecordBatch:
    """Return records as `records.record_columns` has them.

    Args:
        records: `ConsumerRecord`s, with keys and values as bytes.
    """
    times = [_micros(record.timestamp) for record in records]
    headers = [
        [{"key": name, "value": value} for name, value in record.headers] or None
        for record in records
    ]
    return pa.RecordBatch.from_pydict(
        {
            KEY: pa.array([record.key for record in records], pa.binary()),
            VALUE: pa.array([record.value for record in records], pa.binary()),
            HEADERS: pa.array(headers, _HEADERS_TYPE),
            PARTITION: pa.array([record.partition for record in records], pa.int32()),
            OFFSET: pa.array([record.offset for record in records], pa.int64()),
            TIMESTAMP: pa.array(times, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        }
    )


def described_record(topic: str, records: pa.RecordBatch, row: int) -> dict[str, Any]:
    """Return a record with its place, for the file of refused records: values that JSON has."""
    return {
        "topic": topic,
        "partition": records.column(PARTITION)[row].as_py(),
        "offset": records.column(OFFSET)[row].as_py(),
        **_shown("key", records.column(KEY)[row].as_py()),
        **_shown("record", records.column(VALUE)[row].as_py()),
    }


def _shown(name: str, data: bytes | None) -> dict[str, Any]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def _micros(milliseconds: int | None) -> int:
    if milliseconds is None or milliseconds < 0:
        return NO_TIMESTAMP_US
    # Some producers send nanoseconds: such a time is out of every range, and stays it.
    return min(milliseconds * 1_000, (1 << 63) - 1)
