"""Rows expire in the second in which the reference lets them expire."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import VALUE_KIND, RowKind
from braid.lake.merge.row_expiry import RowExpiry, row_expiry, without_expired
from tests.given_tables import given_schema

NOW_MS = 1_700_000_000_000
HOUR = 3_600


def schema_with(column_type: str, **options: str) -> TableSchema:
    ttl = {"record-level.expire-time": "1 h", "record-level.time-field": "t"}
    return given_schema({"k": "INT", "t": column_type}, key=["k"], options=ttl | options)


def expiry_of(column_type: str) -> RowExpiry:
    found = row_expiry(schema_with(column_type))
    assert found is not None
    return found


def alive(column_type: str, values: list[object], *, now_ms: int = NOW_MS) -> list[bool]:
    arrow_type = schema_with(column_type).arrow_schema.field("t").type
    live = expiry_of(column_type).at(now_ms)
    found: list[bool] = live.matches(pa.array(values, type=arrow_type)).to_pylist()
    return found


@pytest.mark.parametrize(
    ("column_type", "per_second"),
    [
        ("INT", 1),
        ("BIGINT", 1),
        ("BIGINT", 1_000),
        ("TIMESTAMP(0)", 1_000),
        ("TIMESTAMP(3)", 1_000),
        ("TIMESTAMP(6)", 1_000_000),
        ("TIMESTAMP(9)", 1_000_000_000),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", 1_000),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", 1_000_000),
    ],
)
def test_a_row_expires_when_the_second_of_its_expiry_has_passed(
    column_type: str, per_second: int
) -> None:
    oldest = (NOW_MS // 1_000 - HOUR) * per_second

    found = alive(column_type, [oldest - 1, oldest, oldest + per_second, None])

    assert found == [False, True, True, True]
    # Half a second later it is the same second; then the oldest value expires too.
    assert alive(column_type, [oldest], now_ms=NOW_MS + 999) == [True]
    assert alive(column_type, [oldest], now_ms=NOW_MS + 1_000) == [False]


def java_seconds(value: int) -> int:
    return int(value / 1_000) if value >= 1_000_000_000_000 else value


@given(
    value=st.one_of(
        st.integers(-(2**40), 2**42), st.integers(10**12 - 5, 10**12 + 5_000), st.none()
    ),
    now_s=st.sampled_from([0, 5, 3_599, 3_600, 10**9 + 3_599, 10**9 + 3_602, 1_700_000_000]),
)
def test_a_bigint_is_seconds_or_milliseconds(value: int | None, now_s: int) -> None:
    (found,) = alive("BIGINT", [value], now_ms=now_s * 1_000)

    assert found == (value is None or now_s <= java_seconds(value) + HOUR)


@given(
    ms=st.integers(-5_000, 5_000),
    now_s=st.integers(HOUR - 6, HOUR + 6),
    column_type=st.sampled_from(["TIMESTAMP(3)", "TIMESTAMP(6)"]),
)
def test_times_before_1970_are_rounded_up_to_seconds(ms: int, now_s: int, column_type: str) -> None:
    value = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None) + timedelta(milliseconds=ms)

    (found,) = alive(column_type, [value], now_ms=now_s * 1_000)

    assert found == (now_s <= int(ms / 1_000) + HOUR)


def test_a_time_to_live_beyond_64_bits_keeps_every_row() -> None:
    expiry = RowExpiry(
        column="t", root=expiry_of("BIGINT").root, unit=None, after_seconds=2**63 // 1_000
    )

    assert expiry.at(NOW_MS).matches(pa.array([-(2**50), 0, None])).to_pylist() == [True] * 3


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"record-level.time-field": "t"},
        {"record-level.expire-time": "1 h"},
        {"record-level.expire-time": "1 h", "record-level.time-field": "zz"},
        {"record-level.expire-time": "1 h", "record-level.time-field": "s"},
    ],
)
def test_rows_of_other_tables_do_not_expire(options: dict[str, str]) -> None:
    schema = given_schema({"k": "INT", "t": "INT", "s": "STRING"}, key=["k"], options=options)

    assert row_expiry(schema) is None


def test_retracts_stay_whatever_their_time() -> None:
    live = expiry_of("INT").at(NOW_MS)
    fresh, old = NOW_MS // 1_000, 1
    kinds = [RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE, RowKind.DELETE, RowKind.INSERT]
    table = pa.table(
        {
            "k": [1, 2, 3, 4, 5],
            "t": pa.array([fresh, old, old, None, None], pa.int32()),
            VALUE_KIND: pa.array(kinds, pa.int8()),
        }
    )

    assert without_expired(table, live)["k"].to_pylist() == [1, 3, 4, 5]
    assert without_expired(table.slice(0, 0), live).num_rows == 0
