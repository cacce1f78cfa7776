"""Comparable bytes have the order of the columns that they are made of."""

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.lake import comparable_bytes, comparable_form, parse_type, to_arrow_type
from braid.lake.merge.order.key_order import key_codes

DAY = dt.date(2026, 1, 2)
MOMENT = dt.datetime.fromisoformat("2026-01-02T03:04:05")
FIRST = dt.datetime.fromisoformat("0001-01-01T00:00:00")
VALUES: dict[str, list[Any]] = {
    "BOOLEAN": [False, True],
    "TINYINT": [-128, -1, 0, 127],
    "SMALLINT": [-32_768, 0, 32_767],
    "INT": [-(2**31), -1, 0, 1, 256, 2**31 - 1],
    "BIGINT": [-(2**63), -1, 0, 1, 255, 256, 2**63 - 1],
    "FLOAT": [float("-inf"), -1.5, -0.0, 0.0, 1.5, float("nan")],
    "DOUBLE": [float("-inf"), -1e300, -0.0, 0.0, 5e-324, float("inf"), float("nan")],
    "DECIMAL(5, 2)": [Decimal("-999.99"), Decimal("-0.01"), Decimal(0), Decimal("999.99")],
    "DECIMAL(38, 0)": [
        Decimal(-(10**37)),
        Decimal(-1),
        Decimal(0),
        Decimal(2**64),
        Decimal(10**37),
    ],
    "VARCHAR(9)": ["", "\x00", "\x00\x00", "\x00a", "\x01", "a", "a\x00", "a\x00b", "ab", "é"],
    "BYTES": [b"", b"\x00", b"\x00\xff", b"\x01", b"\xff", b"\xff\x00", b"\xff\xff"],
    "DATE": [dt.date.min, dt.date(1969, 12, 31), DAY, dt.date.max],
    "TIME(3)": [dt.time.min, dt.time(0, 0, 0, 1_000), dt.time(23, 59, 59)],
    "TIMESTAMP(0)": [FIRST, MOMENT, MOMENT + dt.timedelta(seconds=1)],
    "TIMESTAMP(6)": [FIRST, MOMENT, MOMENT + dt.timedelta(microseconds=1)],
    "TIMESTAMP(9)": [-1, 0, 1, 10**6, 10**6 + 1, 10**18],
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": [-1_500, -1, 0, 1, 10**12],
}


def column_of(sql: str, values: list[Any]) -> pa.Array:
    return pa.array(values, to_arrow_type(parse_type(sql)))


def order_of(columns: list[pa.Array]) -> list[int]:
    """Return the rank of each row, equal for equal rows."""
    found = comparable_bytes(columns).to_pylist()
    ranks = {value: rank for rank, value in enumerate(sorted(set(found)))}
    return [ranks[value] for value in found]


@pytest.mark.parametrize("sql", VALUES)
def test_bytes_of_one_column_ascend_with_its_values_after_null(sql: str) -> None:
    assert order_of([column_of(sql, [None, *VALUES[sql]])]) == list(range(len(VALUES[sql]) + 1))


@pytest.mark.parametrize("seed", range(40))
def test_bytes_of_several_columns_have_the_order_in_which_rows_merge(seed: int) -> None:
    chance = random.Random(seed)
    columns = []
    for sql in chance.choices(list(VALUES), k=chance.randint(1, 4)):
        values = chance.choices([None, *VALUES[sql][:3]], k=60)
        # With an offset, as arrays have that are parts of others.
        columns.append(column_of(sql, [None, *values]).slice(1))

    codes = np.unique(key_codes(columns), return_inverse=True)[1]

    assert order_of(columns) == codes.tolist()


@pytest.mark.parametrize(
    ("narrow", "wide", "value"),
    [
        ("TINYINT", "BIGINT", -7),
        ("INT", "BIGINT", 7),
        ("FLOAT", "DOUBLE", 1.5),
        ("DECIMAL(5, 2)", "DECIMAL(30, 2)", Decimal("-1.50")),
        ("VARCHAR(9)", "STRING", "a\x00"),
        ("TIME(0)", "TIME(3)", dt.time(3, 4)),
        ("TIMESTAMP(0)", "TIMESTAMP(9)", MOMENT),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", MOMENT - dt.timedelta(days=100_000)),
    ],
)
def test_a_wider_type_of_the_same_form_has_the_same_bytes(
    narrow: str, wide: str, value: Any
) -> None:
    assert comparable_form(parse_type(narrow)) == comparable_form(parse_type(wide))
    before, after = (comparable_bytes([column_of(sql, [value])]) for sql in (narrow, wide))
    assert before == after


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("INT", "DECIMAL(10, 0)"),
        ("DECIMAL(5, 2)", "DECIMAL(6, 3)"),
        ("INT", "DOUBLE"),
        ("TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
    ],
)
def test_types_with_other_bytes_have_another_form(one: str, other: str) -> None:
    assert comparable_form(parse_type(one)) != comparable_form(parse_type(other))


@pytest.mark.parametrize("sql", ["ARRAY<INT>", "MAP<STRING, INT>", "ROW<n INT>"])
def test_nested_types_have_no_form(sql: str) -> None:
    assert comparable_form(parse_type(sql)) is None


def test_no_rows_have_no_bytes() -> None:
    assert comparable_bytes([pa.array([], pa.int64()), pa.array([], pa.string())]).to_pylist() == []
