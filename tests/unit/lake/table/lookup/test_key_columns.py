"""`get` and `lookup` accept the same values as keys, and refuse the same."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, InvalidRequest, MemoryFileIO, Table

NAN = float("nan")
MOMENT = datetime(2026, 5, 4, 3, 2, 1, 123_000, tzinfo=UTC).replace(tzinfo=None)
NANOSECONDS = 1_777_863_721_123_000_000


def given_table(column_type: str, key: Any) -> Table:
    table = Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t", columns=[("k", column_type)], primary_key=["k"], options={"bucket": "4"}
    )
    kind = table.schema.arrow_schema.field("k").type
    table.write_and_commit(pa.table({"k": pa.array([key], kind)}))
    return table


def found_by_get(table: Table, value: object) -> bool | None:
    """Return whether a row was found, None where the value was refused."""
    return found(lambda: table.get({"k": value}) is not None)


def found_by_lookup(table: Table, keys: pa.Array) -> bool | None:
    return found(lambda: table.lookup(pa.table({"k": keys})).num_rows > 0)


def found(ask: Callable[[], bool]) -> bool | None:
    try:
        return ask()
    except InvalidRequest as refused:
        if [problem.field for problem in refused.problems] != ["k"]:
            raise
        return None


@pytest.mark.parametrize(
    ("column_type", "key", "value", "kind", "expected"),
    [
        ("BIGINT", 1, 1, pa.int8(), True),
        ("BIGINT", 1, 1, pa.uint64(), True),
        ("BIGINT", 1, 2**63, pa.uint64(), None),
        ("BIGINT", 1, 1.0, pa.float64(), True),
        ("BIGINT", 1, 1.5, pa.float64(), None),
        ("BIGINT", 1, NAN, pa.float64(), None),
        ("BIGINT", 1, Decimal("1.00"), pa.decimal128(5, 2), True),
        ("BIGINT", 1, Decimal("1.50"), pa.decimal128(5, 2), None),
        ("BIGINT", 1, "1", pa.string(), None),
        ("BIGINT", 1, True, pa.bool_(), None),
        ("BIGINT", 1, MOMENT, pa.timestamp("us"), None),
        ("TINYINT", 1, 300, pa.int64(), None),
        ("BOOLEAN", True, 1, pa.int8(), None),
        ("BOOLEAN", True, "true", pa.string(), None),
        ("STRING", "1", "1", pa.large_string(), True),
        ("STRING", "1", 1, pa.int64(), None),
        ("STRING", "1", b"1", pa.binary(), None),
        ("BYTES", b"1", b"1", pa.large_binary(), True),
        ("BYTES", b"1", b"1", pa.binary(1), True),
        ("BYTES", b"1", "1", pa.string(), None),
        ("FLOAT", 0.5, 0.5, pa.float64(), True),
        ("FLOAT", 0.5, 0.1, pa.float64(), None),
        ("FLOAT", 0.5, 1e300, pa.float64(), None),
        ("FLOAT", NAN, NAN, pa.float64(), True),
        ("FLOAT", 2.0, 2, pa.int64(), True),
        ("DOUBLE", 0.5, Decimal("0.50"), pa.decimal128(5, 2), True),
        ("DOUBLE", 0.1, Decimal("0.10"), pa.decimal128(5, 2), None),
        ("DOUBLE", 0.5, "0.5", pa.string(), None),
        ("DECIMAL(5, 2)", Decimal("1.00"), 1, pa.int64(), True),
        ("DECIMAL(5, 2)", Decimal("1.00"), Decimal(1), pa.decimal128(38, 0), True),
        ("DECIMAL(5, 2)", Decimal("1.00"), Decimal("1.001"), pa.decimal128(9, 3), None),
        ("DECIMAL(5, 2)", Decimal("1.00"), 1.0, pa.float64(), None),
        ("DATE", date(2026, 5, 4), date(2026, 5, 4), pa.date64(), True),
        ("DATE", date(2026, 5, 4), MOMENT, pa.timestamp("us"), None),
        ("DATE", date(2026, 5, 4), "2026-05-04", pa.string(), None),
        ("TIME", time(3, 2), time(3, 2), pa.time64("us"), True),
        ("TIME", time(3, 2), time(3, 2, 0, 1), pa.time64("us"), None),
        ("TIMESTAMP(3)", MOMENT, MOMENT, pa.timestamp("us"), True),
        ("TIMESTAMP(3)", MOMENT, MOMENT.replace(microsecond=1), pa.timestamp("us"), None),
        ("TIMESTAMP(3)", MOMENT, MOMENT.replace(tzinfo=UTC), pa.timestamp("us", "UTC"), None),
        ("TIMESTAMP(3)", MOMENT, 1, pa.int64(), None),
        ("TIMESTAMP(3)", MOMENT, date(2026, 5, 4), pa.date32(), None),
        ("TIMESTAMP_LTZ(3)", MOMENT, MOMENT.replace(tzinfo=UTC), pa.timestamp("us", "UTC"), True),
        ("TIMESTAMP_LTZ(3)", MOMENT, MOMENT, pa.timestamp("us"), None),
        ("TIMESTAMP(9)", MOMENT, NANOSECONDS, pa.int64(), True),
        ("TIMESTAMP(9)", MOMENT, MOMENT, pa.timestamp("ms"), True),
    ],
)
def test_both_find_or_refuse_a_value(
    column_type: str, key: object, value: object, kind: pa.DataType, expected: bool | None
) -> None:
    table = given_table(column_type, key)
    keys = pa.array([value], kind)

    assert found_by_get(table, value) is expected
    assert found_by_lookup(table, keys) is expected
    if pa.types.is_string(kind) or pa.types.is_integer(kind):
        assert found_by_lookup(table, keys.dictionary_encode()) is expected


@pytest.mark.parametrize("kind", [pa.int16(), pa.decimal128(5, 2), pa.null(), pa.float32()])
def test_nulls_stay_where_they_are(kind: pa.DataType) -> None:
    table = given_table("DECIMAL(5, 2)" if kind != pa.float32() else "DOUBLE", 1)
    values = [None, None] if pa.types.is_null(kind) else [None, 1, None, 1]

    rows = table.lookup(pa.table({"k": pa.array(values, kind)}))

    assert rows.num_rows == (0 if pa.types.is_null(kind) else 2)
