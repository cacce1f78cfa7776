"""Rows of Arrow arrays become columns by the rules of values that have a schema."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.arrow_rows.leaves import misfit
from braid.formats.arrow_rows.reader import ArrowRows, ArrowRowsReader
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.lake import parse_type, to_arrow_type

AT = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
VALUES: list[tuple[pa.DataType, Any, str, Any]] = [
    (pa.bool_(), True, "BOOLEAN", True),
    (pa.int8(), -5, "BIGINT", -5),
    (pa.uint64(), 7, "INT", 7),
    (pa.int64(), 5, "DECIMAL(10, 2)", Decimal("5.00")),
    (pa.float32(), 0.5, "DOUBLE", 0.5),
    (pa.float16(), 0.5, "FLOAT", 0.5),
    (pa.float64(), 1.5, "FLOAT", 1.5),
    (pa.decimal128(12, 3), Decimal("1.230"), "DECIMAL(10, 2)", Decimal("1.23")),
    (pa.decimal256(20, 2), Decimal("1.23"), "DECIMAL(10, 2)", Decimal("1.23")),
    (pa.large_string(), "é", "STRING", "é"),
    (pa.string_view(), "x", "VARCHAR(3)", "x"),
    (pa.dictionary(pa.int8(), pa.string()), "often", "STRING", "often"),
    (pa.string(), "12.5", "DECIMAL(10, 2)", Decimal("12.50")),
    (pa.string(), "2026-01-02", "DATE", date(2026, 1, 2)),
    (pa.binary(2), b"ab", "BYTES", b"ab"),
    (pa.large_binary(), b"", "VARBINARY(3)", b""),
    (pa.date64(), date(1969, 12, 31), "DATE", date(1969, 12, 31)),
    (pa.time64("us"), time(1, 2, 3, 4_005), "TIME", time(1, 2, 3, 4_000)),
    (pa.time32("s"), time(1, 2, 3), "STRING", "01:02:03"),
    (
        pa.timestamp("s", "UTC"),
        AT.replace(microsecond=0),
        "TIMESTAMP_LTZ(3)",
        AT.replace(microsecond=0),
    ),
    (pa.timestamp("us", "Europe/Vienna"), AT, "TIMESTAMP_LTZ(3)", AT),
    (pa.timestamp("ns"), AT.replace(tzinfo=None), "TIMESTAMP(6)", AT.replace(tzinfo=None)),
    (pa.list_(pa.int32()), [1, None], "ARRAY<BIGINT>", [1, None]),
    (pa.map_(pa.string(), pa.int32()), [("a", 1)], "MAP<STRING, INT>", [("a", 1)]),
    (
        pa.struct([("at", pa.timestamp("us", "UTC")), ("x", pa.int8())]),
        {"at": AT, "x": 1},
        "ROW<at TIMESTAMP_LTZ(3), y INT>",
        {"at": AT, "y": None},
    ),
    (pa.null(), None, "STRING", None),
]


@pytest.mark.parametrize(
    ("arrow", "value", "sql", "expected"), VALUES, ids=[f"{one[0]} {one[2]}" for one in VALUES]
)
def test_a_value_of_each_type_fills_its_column(
    arrow: pa.DataType, value: Any, sql: str, expected: Any
) -> None:
    found = read({"f": pa.array([value, None, value], arrow)}, ("c", "f", sql))

    assert not found.faults.rows
    assert found.arrays[0].type == to_arrow_type(parse_type(sql))
    assert found.arrays[0].to_pylist() == [expected, None, expected]


def test_values_that_do_not_fit_are_faults_of_their_rows() -> None:
    found = read(
        {
            "n": pa.array([1, 300, -129]),
            "l": pa.array([["a"], ["abcd"], None]),
            "t": pa.array(["12", "x", None]),
        },
        ("n", "n", "TINYINT"),
        ("l", "l", "ARRAY<VARCHAR(3)>"),
        ("t", "t", "DECIMAL(4, 1)"),
    )

    assert {row: found.faults[row].message for row in found.faults.rows} == {
        1: "field n: found 300, expected TINYINT for column n",
        2: "field n: found -129, expected TINYINT for column n",
    }
    assert found.faults[1].reason is DeadLetterReason.OUT_OF_RANGE
    assert found.arrays[0].to_pylist() == [1, None, None]
    assert found.arrays[2].to_pylist() == [Decimal("12.0"), None, None]


def test_a_value_of_a_type_that_no_column_holds_is_named_by_its_type() -> None:
    found = read(
        {"l": pa.array([[Decimal("1.00")], None], pa.list_(pa.decimal256(50, 2)))},
        ("l", "l", "ARRAY<DECIMAL(9, 2)>"),
    )

    whole = read({"d": pa.array([None, 5], pa.duration("s"))}, ("d", "d", "STRING"))

    assert [found.faults[row].message for row in found.faults.rows] == [
        "field l.0: found a value of type decimal256(50, 2), expected DECIMAL(9, 2) for column l"
    ]
    assert {row: whole.faults[row].message for row in whole.faults.rows} == {
        1: "field d: found a value of type duration[s], expected STRING for column d"
    }


KEYS: list[tuple[pa.DataType, Any, str, Any]] = [
    (pa.string(), "a", "a", "a"),
    (pa.int32(), 1, "1", "1"),
    (pa.bool_(), True, "true", "true"),
    (pa.float64(), 1.5, "1.5", "1.5"),
    (pa.float64(), float("nan"), "NaN", "NaN"),
    (pa.decimal128(5, 2), Decimal("1.10"), "1.10", "1.10"),
    (pa.date32(), date(2026, 1, 2), "2026-01-02", "2026-01-02"),
    (pa.timestamp("us", "UTC"), AT, "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"),
    (pa.binary(), b"ab", "YWI=", None),
    (pa.struct([("x", pa.int8())]), {"x": 1}, '{"x":1}', '{"x":1}'),
    (pa.list_(pa.string()), ["a", "b"], '["a","b"]', '["a","b"]'),
]


@pytest.mark.parametrize(
    ("arrow", "key", "in_json", "as_key"), KEYS, ids=[str(k[:2]) for k in KEYS]
)
def test_keys_of_a_map_are_texts_in_json_and_in_a_map(
    arrow: pa.DataType, key: Any, in_json: str, as_key: Any
) -> None:
    maps = pa.array([[(key, 1)], None], pa.map_(arrow, pa.int32()))

    found = read({"m": maps}, ("t", "m", "STRING"), ("m", "m", "MAP<STRING, INT>"))

    text, null = found.arrays[0].to_pylist()
    assert json.loads(text) == {in_json: 1}
    assert null is None
    if as_key is None:  # bytes are no text
        message = "field m.YWI=: found 2 bytes, expected STRING for column m"
        assert [found.faults[row].message for row in found.faults.rows] == [message]
    else:
        assert not found.faults.rows
        assert found.arrays[1].to_pylist() == [[(as_key, 1)], None]


def test_a_key_twice_stays_in_json_and_is_a_fault_of_a_map() -> None:
    day = date(2026, 1, 2)
    maps = pa.array([[(day, 1), (day, 2)]], pa.map_(pa.date32(), pa.int32()))

    text = read({"m": maps}, ("t", "m", "STRING"))
    whole = read({"m": maps}, ("m", "m", "MAP<STRING, INT>"))

    assert text.arrays[0].to_pylist() == ['{"2026-01-02":1,"2026-01-02":2}']
    assert whole.faults[0].message == (
        'field m: found the key "2026-01-02" twice, expected it once for column m'
    )


def test_a_field_that_is_absent_is_missing_and_null_is_not() -> None:
    inner = pa.array([{"x": 1}, {"x": None}, None], pa.struct([("x", pa.int64())]))

    found = read(
        {"s": inner},
        ("x", "s.x", "INT"),
        ("y", "s.y", "INT"),
        ("z", "z", "INT"),
        finds_missing=True,
    )

    assert [array.to_pylist() for array in found.arrays] == [
        [1, None, None],
        [None] * 3,
        [None] * 3,
    ]
    assert found.missing["x"].to_pylist() == [False, False, True]
    assert found.missing["y"].to_pylist() == [True] * 3
    assert found.missing["z"].to_pylist() == [True] * 3


def test_payloads_name_rows_in_any_order_and_null_names_none() -> None:
    rows = ArrowRows(pa.RecordBatch.from_pydict({"f": [10, 20, 30]}))
    reader = ArrowRowsReader([column("c", "f", "INT")], rows)
    payloads = rows.payloads()

    some = pa.array([payloads[2].as_py(), None, payloads[0].as_py()], pa.binary())

    assert reader.read(payloads).arrays[0].to_pylist() == [10, 20, 30]
    assert reader.read(some).arrays[0].to_pylist() == [30, None, 10]
    assert reader.read(payloads.slice(1)).arrays[0].to_pylist() == [20, 30]
    assert reader.tree(payloads[1].as_py()) == {"f": 20}


@pytest.mark.parametrize(
    ("arrow", "sql", "expected"),
    [
        (pa.string(), "INT", "a text, not INT"),
        (pa.float64(), "BIGINT", "a floating-point number, not BIGINT"),
        (pa.list_(pa.int8()), "INT", "a list, not INT"),
        (pa.duration("s"), "STRING", "a value of type duration[s], not STRING"),
        (pa.decimal256(50, 2), "STRING", "a value of type decimal256(50, 2), not STRING"),
        (pa.int8(), "INT", None),
        (pa.null(), "INT", None),
        (pa.map_(pa.string(), pa.string()), "MAP<STRING, INT>", None),
    ],
)
def test_types_that_never_fit_are_told_before_a_row_is_read(
    arrow: pa.DataType, sql: str, expected: str | None
) -> None:
    assert misfit(arrow, parse_type(sql)) == expected


def read(
    arrays: dict[str, pa.Array], *columns: tuple[str, str, str], finds_missing: bool = False
) -> ReadMessages:
    rows = ArrowRows(pa.RecordBatch.from_pydict(arrays))
    reader = ArrowRowsReader([column(*one, finds_missing) for one in columns], rows)
    return reader.read(rows.payloads())


def column(name: str, path: str, sql: str, finds_missing: bool = False) -> MappedColumn:
    return MappedColumn(
        name=name,
        path=tuple(path.split(".")),
        type=parse_type(sql),
        finds_missing=finds_missing,
    )
