"""Keys from which the row's key is read: values where they are well-formed, a reason where not."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.json.key_reader import KeyReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.lake import parse_type
from braid.schemas import ColumnSource
from tests.unit.formats.json.both_ways import given_columns

MALFORMED = (None, "malformed_key")
MISSING = (None, None)
WHOLE: list[tuple[str, bytes | None, tuple[Any, str | None]]] = [
    ("BIGINT", b"7", (7, None)),
    ("BIGINT", b"-7", (-7, None)),
    ("BIGINT", b"", MALFORMED),
    ("BIGINT", b"7.5", MALFORMED),
    ("BIGINT", b"7 8", MALFORMED),
    ("BIGINT", b'7, "key": 8', MALFORMED),
    ("BIGINT", b"seven", MALFORMED),
    ("BIGINT", b"\xff", MALFORMED),
    ("BIGINT", b"99999999999999999999", (None, "out_of_range")),
    ("BIGINT", None, MISSING),
    ("TINYINT", b"7", (7, None)),
    ("TINYINT", b"200", (None, "out_of_range")),
    ("TINYINT", None, MISSING),
    ("BOOLEAN", b"true", (True, None)),
    ("BOOLEAN", b"1", MALFORMED),
    ("DOUBLE", b"NaN", MALFORMED),
    ("DECIMAL(5, 2)", b"1.50", (Decimal("1.50"), None)),
    ("DECIMAL(5, 2)", b'"1.50"', MALFORMED),
    ("DECIMAL(5, 2)", None, MISSING),
    ("VARCHAR(3)", b"abc", ("abc", None)),
    ("VARCHAR(3)", b"{}", ("{}", None)),
    ("VARCHAR(3)", b"1.0", ("1.0", None)),
    ("VARCHAR(3)", b"", ("", None)),
    ("VARCHAR(3)", b"abcd", (None, "out_of_range")),
    ("VARCHAR(3)", b"\xff", MALFORMED),
    ("VARCHAR(3)", None, MISSING),
    ("DATE", b"2026-01-02", (dt.date(2026, 1, 2), None)),
    ("DATE", b"10000-01-02", (None, "out_of_range")),
    ("DATE", b"soon", MALFORMED),
    ("DATE", None, MISSING),
    ("BYTES", b"\xff\x00", (b"\xff\x00", None)),
    ("VARBINARY(1)", b"\xff\x00", (None, "out_of_range")),
    ("BYTES", None, MISSING),
]
IN_AN_OBJECT: list[tuple[bytes | None, tuple[Any, str | None]]] = [
    (b'{"k": {"id": 7}, "x": 1}', (7, None)),
    (b'{"k": {"id": "x"}}', MALFORMED),
    (b'{"k": {"id": 9999999999}}', (None, "out_of_range")),
    (b'{"k": {}}', MISSING),
    (b"{}", MISSING),
    (b"7", MALFORMED),
    (b'{"k": 7}', MALFORMED),
    (b'{"k"', MALFORMED),
    (b"\xff", MALFORMED),
    (rb'{"k": {"id": 8}, "x": "\ud83d\ude00"}', (8, None)),
    (rb'{"k": {"id": 9}, "x": "\ud800"}', (9, None)),
    (None, MISSING),
]


def read(columns: tuple[MappedColumn, ...], *keys: bytes | None) -> ReadMessages:
    return KeyReader(columns).read(pa.array(keys, pa.binary()))


def whole(sql: str) -> tuple[MappedColumn, ...]:
    return (MappedColumn(name="id", path=(), type=parse_type(sql), source=ColumnSource.KEY),)


def one_value(found: ReadMessages) -> tuple[Any, str | None]:
    (value,) = found.arrays[0].to_pylist()
    return value, found.faults[0].reason.value if 0 in found.faults else None


@pytest.mark.parametrize(("sql", "key", "expected"), WHOLE)
def test_the_key_as_a_whole(sql: str, key: bytes | None, expected: tuple[Any, str | None]) -> None:
    assert one_value(read(whole(sql), key)) == expected


@pytest.mark.parametrize(("key", "expected"), IN_AN_OBJECT)
def test_fields_of_a_key(key: bytes | None, expected: tuple[Any, str | None]) -> None:
    assert one_value(read(given_columns({"id": "INT"}, id="k.id"), key)) == expected


def test_keys_are_those_of_their_rows() -> None:
    found = read(given_columns({"id": "INT", "b": "INT"}), b'{"id": 1}', b"{", None, b'{"b": 4}')

    assert [array.to_pylist() for array in found.arrays] == [
        [1, None, None, None],
        [None, None, None, 4],
    ]
    assert found.faults.rows == [1]


@pytest.mark.parametrize(
    ("columns", "key", "message"),
    [
        (
            whole("INT"),
            b"a\xff",
            "the record's Kafka key does not hold key column id as declared: found `a\\xff`, expected INT",
        ),
        (
            whole("TINYINT"),
            b"200",
            "the record's Kafka key: found 200, expected TINYINT for column id",
        ),
        (
            whole("VARBINARY(1)"),
            b"abc",
            "the record's Kafka key: found 3 bytes, expected VARBINARY(1) for column id",
        ),
        (
            given_columns({"a": "INT", "b": "DATE"}, b="k.b"),
            b'{"a": 1, "k": {"b": "x"}}',
            'the record\'s Kafka key does not hold key column b as declared: found `{"a": 1, "k": {"b": "x"}}`, '
            "expected a JSON object with the field k.b: DATE, written as 2026-01-02",
        ),
        (
            given_columns({"a": "INT", "b": "INT"}),
            b"7",
            "the record's Kafka key does not hold key column a as declared: found `7`, "
            "expected a JSON object with the field a: INT",
        ),
        (
            given_columns({"a": "INT", "b": "TINYINT"}),
            b'{"b": 200}',
            "the record's Kafka key: field b: found 200, expected TINYINT for column b",
        ),
    ],
)
def test_the_guilty_key_column_is_named(
    columns: tuple[MappedColumn, ...], key: bytes, message: str
) -> None:
    assert read(columns, key).faults[0].message == message
