"""Definitions of the demo's table, with a test, and of its three streams, as request bodies of the HTTP API."""

from typing import Any

import pyarrow as pa

from braid.demo.flights_data import DATA_SET_SCHEMA, PRIMARY_KEY, STREAMS, FlightStream

DATABASE = "demo"
TABLE = "flights"
BUCKETS = 4
CLUSTER = "demo"  # the broker's name in the clusters file
TYPE_TEXTS: dict[pa.DataType, str] = {
    pa.int32(): "INT",
    pa.string(): "STRING",
    pa.timestamp("ms", tz="UTC"): "TIMESTAMP(3) WITH LOCAL TIME ZONE",
}


def table_request() -> dict[str, Any]:
    """Return the body of `PUT /v1/tables/demo/flights`."""
    columns = [
        {"name": field.name, "type": TYPE_TEXTS[field.type]} for field in DATA_SET_SCHEMA
    ] + [{"name": stream.version_column, "type": "INT"} for stream in STREAMS]
    return {
        "columns": columns,
        "primary_key": list(PRIMARY_KEY),
        "buckets": BUCKETS,
        "merge_engine": "partial-update",
        "sequence_groups": [
            {
                "name": stream.name,
                "ordering": [stream.version_column],
                "columns": list(stream.columns),
            }
            for stream in STREAMS
        ],
        "completeness": {"groups": "all"},
        "tests": {"required": True, "cases": [_late_estimate()]},
    }


def _late_estimate() -> dict[str, Any]:
    """Return the test that an estimate which arrives after the actual times does not replace them."""
    key = {"year": 2013, "month": 1, "day": 1, "carrier": "UA", "flight": 1545, "origin": "EWR"}
    actual = {**key, "dep_time": 517, "dep_delay": 2, "departures_version": 2}
    estimate = {**key, "dep_time": 515, "dep_delay": 0, "departures_version": 1}
    arrival = {**key, "arr_time": 830, "arr_delay": 11, "air_time": 227, "arrivals_version": 2}
    return {
        "name": "a late estimate does not replace the actual times",
        "given": [
            {"stream": "departures", "value": actual},
            {"stream": "arrivals", "value": arrival},
            {"stream": "departures", "value": estimate},
        ],
        "expect": {
            "rows": [
                {
                    "key": key,
                    "row": {"dep_time": 517, "dep_delay": 2, "arr_time": 830},
                    "groups": {"schedule": "absent", "departures": "present"},
                    "complete": False,
                }
            ],
            "row_count": 1,
        },
    }


def stream_request(
    stream: FlightStream, *, trigger_ms: int, max_records_per_batch: int
) -> dict[str, Any]:
    """Return the body of `PUT /v1/tables/demo/flights/streams/<name>`.

    Args:
        stream: One of the three.
        trigger_ms: Time between the starts of two micro-batches.
        max_records_per_batch: The bound of one micro-batch.
    """
    columns = [*PRIMARY_KEY, *stream.columns, stream.version_column]
    return {
        "topic": stream.topic,
        "format": "json",
        "columns": [{"column": name} for name in columns],
        "sequence_group": stream.name,
        "kafka": {"cluster": CLUSTER},
        "trigger_ms": trigger_ms,
        "max_records_per_batch": max_records_per_batch,
    }
