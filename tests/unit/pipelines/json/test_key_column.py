"""Record keys from which the row's key is read: values where they are well-formed, a reason where not."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from braid.pipelines.json.parse import RecordParser
from braid.pipelines.stream_plan import StreamPlan
from tests.unit.pipelines.given_streams import given_plan, given_spec

pytestmark = [pytest.mark.spark]

_SCHEMA = (
    "key binary, value binary, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)
_AT = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


def parsed(
    session: SparkSession, plan: StreamPlan, keys: list[bytes | None]
) -> list[tuple[Any, ...]]:
    """Return of each record the first column, the reason and the detail."""
    rows = [(key, b'{"a": 1}', 0, offset, _AT, None) for offset, key in enumerate(keys)]
    found = RecordParser(plan)(session.createDataFrame(rows, _SCHEMA)).collect()
    found.sort(key=lambda row: row.kafka_offset)
    return [(row.value_0 if row.reason is None else None, row.reason, row.detail) for row in found]


def whole(sql: str) -> StreamPlan:
    spec = given_spec({"id": sql, "a": "INT"}, ordering=None)
    return given_plan(spec, columns=[{"column": "id", "source": "key"}, {"column": "a"}])


MISSING = (None, "missing_key", "id")
MALFORMED = (None, "malformed_key", "id")


@pytest.mark.parametrize(
    ("sql", "keys"),
    [
        (
            "BIGINT",
            {
                b"7": (7, None, None),
                b"-7": (-7, None, None),
                b"": MALFORMED,
                b"7.5": MALFORMED,
                b"7 8": MALFORMED,
                b'7, "key": 8': MALFORMED,
                b"seven": MALFORMED,
                b"\xff": MALFORMED,
                b"99999999999999999999": MALFORMED,
            },
        ),
        ("TINYINT", {b"7": (7, None, None), b"200": (None, "out_of_range", "id")}),
        ("DECIMAL(5, 2)", {b"1.50": (Decimal("1.50"), None, None)}),
        (
            "VARCHAR(3)",
            {
                b"abc": ("abc", None, None),
                b"{}": ("{}", None, None),
                b"1.0": ("1.0", None, None),
                b"abcd": (None, "out_of_range", "id"),
                b"\xff": MALFORMED,
            },
        ),
        ("DATE", {b"2026-01-02": (dt.date(2026, 1, 2), None, None)}),
        ("BYTES", {b"\xff\x00": (b"\xff\x00", None, None)}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_key_as_a_whole(
    spark: SparkSession, sql: str, keys: dict[bytes, tuple[Any, ...]]
) -> None:
    found = parsed(spark, whole(sql), [*keys, None])

    assert found == [*keys.values(), MISSING]


def test_fields_of_a_key(spark: SparkSession) -> None:
    spec = given_spec({"id": "INT", "a": "INT"}, ordering=None)
    columns = [{"column": "id", "path": "k.id", "source": "key"}, {"column": "a", "path": "a"}]
    keys = {
        b'{"k": {"id": 7}, "x": 1}': (7, None, None),
        b'{"k": {"id": "x"}}': MISSING,
        b'{"k": {}}': MISSING,
        b"{}": MISSING,
        b"7": MALFORMED,
        b'{"k"': MALFORMED,
        rb'{"k": {"id": 8}, "x": "\ud83d\ude00"}': (8, None, None),
        rb'{"k": {"id": 9}, "x": "\ud800"}': MALFORMED,
    }

    found = parsed(spark, given_plan(spec, columns=columns), [*keys, None])

    assert found == [*keys.values(), MISSING]
