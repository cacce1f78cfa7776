"""Avro messages become columns by the writer's schema; what does not fit is a fault of its message alone."""

import datetime as dt
import io
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from braid.formats.avro.column_decoder import decode_columns
from braid.formats.avro.reader import AvroReader
from braid.formats.avro.schema import parse_avro_schema
from braid.formats.field_tree import field_tree
from braid.formats.mapped_column import MappedColumn
from braid.lake import parse_type

MANY = 40  # enough to be read vectorised
ITEM = {"type": "record", "name": "Item", "fields": [{"name": "article", "type": "long"}]}
# Name, Avro type, type of the column, value for fastavro, value of the column.
TYPES: list[tuple[str, Any, str, Any, Any]] = [
    ("flag", "boolean", "BOOLEAN", True, True),
    ("small", "int", "TINYINT", -128, -128),
    ("big", "long", "BIGINT", -(2**63), -(2**63)),
    ("number_text", "long", "STRING", 5, "5"),
    ("real", "float", "FLOAT", 0.5, 0.5),
    ("double", "double", "DOUBLE", 0.1, 0.1),
    ("nan", "double", "FLOAT", float("inf"), float("inf")),
    ("text", "string", "VARCHAR(4)", "ä😀", "ä😀"),
    ("data", "bytes", "VARBINARY(2)", b"\x00\xff", b"\x00\xff"),
    ("four", {"type": "fixed", "name": "Four", "size": 4}, "BINARY(4)", b"abcd", b"abcd"),
    (
        "state",
        {"type": "enum", "name": "State", "symbols": ["new", "paid"]},
        "STRING",
        "paid",
        "paid",
    ),
    (
        "price",
        {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 4},
        "DECIMAL(20, 2)",
        Decimal("-12.3450"),
        Decimal("-12.35"),
    ),
    (
        "total",
        {"type": "fixed", "name": "Total", "size": 9, "logicalType": "decimal", "precision": 20},
        "DECIMAL(20, 0)",
        Decimal(-(10**19)),
        Decimal(-(10**19)),
    ),
    (
        "day",
        {"type": "int", "logicalType": "date"},
        "DATE",
        dt.date(1969, 12, 31),
        dt.date(1969, 12, 31),
    ),
    (
        "clock",
        {"type": "int", "logicalType": "time-millis"},
        "TIME(3)",
        dt.time(23, 59, 59, 999_000),
        dt.time(23, 59, 59, 999_000),
    ),
    (
        "clock_us",
        {"type": "long", "logicalType": "time-micros"},
        "TIME(3)",
        dt.time(1, 2, 3, 4_567),
        dt.time(1, 2, 3, 4_000),
    ),
    (
        "moment",
        {"type": "long", "logicalType": "timestamp-millis"},
        "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC),
        dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC),
    ),
    (
        "moment_us",
        {"type": "long", "logicalType": "timestamp-micros"},
        "TIMESTAMP(3)",
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC),
        dt.datetime.fromisoformat("1969-12-31T23:59:59.999"),
    ),
    (
        "moment_ns",
        {"type": "long", "logicalType": "timestamp-nanos"},
        "STRING",
        1_000_000_001,
        "1970-01-01T00:00:01.000000001Z",
    ),
    (
        "local",
        {"type": "long", "logicalType": "local-timestamp-micros"},
        "TIMESTAMP(6)",
        dt.datetime.fromisoformat("2026-01-02T03:04:05.678901"),
        dt.datetime.fromisoformat("2026-01-02T03:04:05.678901"),
    ),
    (
        "id",
        {"type": "string", "logicalType": "uuid"},
        "STRING",
        "8f1f4d1e-0000-4000-8000-000000000001",
        "8f1f4d1e-0000-4000-8000-000000000001",
    ),
    ("nothing", "null", "INT", None, None),
    ("maybe", ["null", "int"], "INT", None, None),
    ("several", ["string", "null", "long"], "STRING", 7, "7"),
    ("list", {"type": "array", "items": ["null", "int"]}, "ARRAY<INT>", [1, None], [1, None]),
    ("map", {"type": "map", "values": "double"}, "MAP<STRING, DOUBLE>", {"a": 0.5}, [("a", 0.5)]),
    (
        "items",
        {"type": "array", "items": ITEM},
        "ARRAY<ROW<article BIGINT, note STRING>>",
        [{"article": 1}, {"article": 2}],
        [{"article": 1, "note": None}, {"article": 2, "note": None}],
    ),
    ("item", "Item", "STRING", {"article": 1}, '{"article":1}'),
]


def schema_of(*fields: tuple[str, Any]) -> Any:
    """Return the schema of a record with these fields."""
    declared = [{"name": name, "type": kind} for name, kind in fields]
    return {"type": "record", "name": "Order", "namespace": "shop", "fields": declared}


def reader_of(schema: Any, columns: dict[str, str], **options: Any) -> AvroReader:
    """Return the reader of columns, by path and type."""
    mapped = [
        MappedColumn(
            name=path.replace(".", "_"),
            path=tuple(path.split(".")),
            type=parse_type(sql),
            finds_missing=True,
        )
        for path, sql in columns.items()
    ]
    return AvroReader(parse_avro_schema(json.dumps(schema)), mapped, **options)


def encoded(schema: Any, value: Any) -> bytes:
    """Return a message."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def rows(reader: AvroReader, messages: Sequence[bytes | None]) -> list[Any]:
    """Return per message its row, or the reason and message of its fault."""
    found = reader.read(pa.array(messages, pa.binary()))
    return [
        (found.faults[row].reason.value, found.faults[row].message)
        if row in found.faults
        else tuple(array[row].as_py() for array in found.arrays)
        for row in range(len(messages))
    ]


@pytest.mark.parametrize("count", [1, MANY])
def test_every_type_has_its_column(count: int) -> None:
    schema = schema_of(*((name, kind) for name, kind, *_ in TYPES))
    message = encoded(schema, {name: value for name, _, _, value, _ in TYPES})
    reader = reader_of(schema, {name: sql for name, _, sql, _, _ in TYPES})

    found = rows(reader, [message] * count)

    expected = tuple(value for *_, value in TYPES)
    assert found == [expected] * count


@pytest.mark.parametrize(
    ("kind", "sql", "value", "fault"),
    [
        (
            "long",
            "INT",
            2**31,
            ("out_of_range", "field f: found 2147483648, expected INT for column f"),
        ),
        ("int", "BOOLEAN", 1, ("wrong_type", "field f: found 1, expected BOOLEAN for column f")),
        ("string", "INT", "7", ("wrong_type", 'field f: found "7", expected INT for column f')),
        (
            "double",
            "BIGINT",
            1.0,
            ("wrong_type", "field f: found 1.0, expected BIGINT for column f"),
        ),
        (
            "double",
            "FLOAT",
            1e39,
            ("out_of_range", "field f: found 1e+39, expected FLOAT for column f"),
        ),
        (
            "bytes",
            "BINARY(1)",
            b"ab",
            ("out_of_range", "field f: found 2 bytes, expected BINARY(1) for column f"),
        ),
        (
            "bytes",
            "STRING",
            b"a",
            ("wrong_type", "field f: found 1 bytes, expected STRING for column f"),
        ),
        (
            {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"},
            "STRING",
            bytes(12),
            ("wrong_type", "field f: found a duration, expected STRING for column f"),
        ),
        (
            {"type": "int", "logicalType": "date"},
            "DATE",
            -800_000,
            (
                "out_of_range",
                'field f: found "day -800000", expected DATE, written as 2026-01-02 for column f',
            ),
        ),
        (
            {"type": "array", "items": ["null", "int"]},
            "ARRAY<INT NOT NULL>",
            [1, None],
            ("not_null", "field f.1: found null, expected INT NOT NULL for column f"),
        ),
    ],
)
def test_a_value_that_its_column_does_not_hold_is_a_fault(
    kind: Any, sql: str, value: Any, fault: tuple[str, str]
) -> None:
    schema = schema_of(("f", kind))
    message = encoded(schema, {"f": value})
    reader = reader_of(schema, {"f": sql})

    assert rows(reader, [message]) == [fault]
    assert rows(reader, [message] * MANY) == [fault] * MANY


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"", "the message ends 1 bytes too early"),
        (b"\x02\x06ab", "the message ends 1 bytes too early"),
        (b"\x02\x01", "the length at byte 1 is negative"),
        (b"\x02\x02\xff", "a text is not UTF-8: invalid start byte at byte 2"),
        (b"\x04\x00", "found 2 at byte 0, expected a branch of a union, 0 to 1"),
        (b"\x00\x00", "1 bytes follow the record"),
        (b"\xff" * 10 + b"\x01", "the number at byte 0 has more than 64 bits"),
    ],
)
def test_bytes_that_are_no_record_are_malformed(message: bytes, why: str) -> None:
    reader = reader_of(schema_of(("f", ["null", "string"])), {"f": "STRING"})

    found = rows(reader, [b"\x02\x02a"] * MANY + [message, None] + [b"\x00"] * MANY)

    assert rows(reader, [message]) == [("malformed", f"not Avro of the schema: {why}")]
    assert found[MANY : MANY + 2] == [("malformed", f"not Avro of the schema: {why}"), (None,)]
    assert found[:MANY] + found[MANY + 2 :] == [("a",)] * MANY + [(None,)] * MANY


def test_fields_that_the_schema_or_a_record_lacks_are_missing() -> None:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": ["null", "int"]}]}
    schema = schema_of(("inner", ["null", inner]))
    reader = reader_of(schema, {"inner.x": "INT", "inner.y": "INT", "z": "INT"})
    messages = [encoded(schema, {"inner": value}) for value in (None, {"x": None}, {"x": 1})]

    for repeats in (1, MANY):
        found = reader.read(pa.array(messages * repeats, pa.binary()))

        assert found.arrays[0].to_pylist()[:3] == [None, None, 1]
        missing = {name: mask.to_pylist()[:3] for name, mask in found.missing.items()}
        assert missing == {
            "inner_x": [True, False, False],
            "inner_y": [True, True, True],
            "z": [True, True, True],
        }


def test_a_recursive_type_is_read_as_deep_as_its_column() -> None:
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "id", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
    }
    schema = schema_of(("node", node))
    value: Any = None
    for number in range(5):
        value = {"id": number, "next": value}
    message = encoded(schema, {"node": value})
    reader = reader_of(schema, {"node": "ROW<id INT, next ROW<id INT>>"})

    assert rows(reader, [message] * MANY) == [({"id": 4, "next": {"id": 3}},)] * MANY


@pytest.mark.parametrize("count", [1, MANY])
def test_nesting_without_end_is_refused_and_costs_no_memory(count: int) -> None:
    tree = {
        "type": "record",
        "name": "Tree",
        "fields": [{"name": side, "type": ["Tree", "null"]} for side in ("left", "right")],
    }
    reader = reader_of(schema_of(("tree", tree), ("id", "int")), {"id": "INT"})

    found = rows(reader, [bytes(1_000)] * count)

    assert (
        found == [("malformed", "not Avro of the schema: nested more than 64 levels deep")] * count
    )


def zigzag(number: int) -> bytes:
    """Return a number as Avro writes it."""
    left, found = (number << 1) ^ (number >> 63), bytearray()
    while left >= 0x80:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


HUNDRED = {
    "type": "record",
    "name": "Hundred",  # with itself
    "fields": [{"name": f"n{index}", "type": "null"} for index in range(99)],
}
WITH_NUMBER = {
    "type": "record",
    "name": "WithNumber",
    "fields": [{"name": "number", "type": "int"}, {"name": "hundred", "type": HUNDRED}],
}


def items(count: int, item: bytes = b"") -> bytes:
    """Return a list, in one block."""
    return zigzag(count) + item * count + b"\x00" * (count != 0)


@pytest.mark.parametrize("columns", [{"id": "INT"}, {"id": "INT", "f": "STRING"}])
@pytest.mark.parametrize(
    ("kind", "most", "too_many"),
    [
        ({"type": "array", "items": "null"}, items(10_000), items(10_001)),
        ({"type": "array", "items": "null"}, items(10_000), items(-(2**63))),
        ({"type": "array", "items": HUNDRED}, items(100), items(101)),
        ({"type": "array", "items": WITH_NUMBER}, items(100, b"\x02"), items(101, b"\x02")),
        (
            {"type": "array", "items": {"type": "array", "items": "null"}},
            items(2, items(5_000)),
            items(2, items(5_001)),
        ),
        (
            {"type": "array", "items": ["null", HUNDRED]},
            items(101, b"\x02"),  # behind the branch, each is 99
            items(102, b"\x02"),
        ),
        (
            {"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}},
            items(10_000),
            items(10_001),
        ),
    ],
    ids=["nulls", "smallest count", "records", "with a byte", "nested", "of a union", "fixed"],
)
def test_values_without_a_byte_are_counted_in_a_message_as_a_whole(
    kind: Any, most: bytes, too_many: bytes, columns: dict[str, str]
) -> None:
    reader = reader_of(schema_of(("id", "int"), ("f", kind)), columns)
    fault = ("malformed", "not Avro of the schema: more than 10000 values that take no bytes")

    alone = [rows(reader, [b"\x02" + one])[0] for one in (most, too_many)]
    together = rows(reader, [b"\x02" + one for one in (most, too_many, *[items(0)] * MANY)])

    assert alone[0][0] == 1
    assert alone[1] == fault
    assert together[:2] == alone
    assert [row[0] for row in together[2:]] == [1] * MANY


def test_entries_of_maps_have_a_byte_and_what_is_in_them_may_not() -> None:
    reader = reader_of(schema_of(("f", {"type": "map", "values": HUNDRED})), {"f": "STRING"})

    def entries(count: int) -> bytes:
        return zigzag(count) + b"".join(b"\x06%03d" % n for n in range(count)) + b"\x00"

    found = rows(reader, [entries(101), entries(102)])

    assert len(json.loads(found[0][0])) == 101
    assert found[1][0] == "malformed"


def test_items_without_a_byte_are_skipped_together() -> None:
    empties = {"type": "array", "items": {"type": "array", "items": HUNDRED}}
    record = parse_avro_schema(json.dumps(schema_of(("f", empties), ("id", "int"))))
    columns = [MappedColumn(name="id", path=("id",), type=parse_type("INT"))]
    messages = [items(2, items(50)) + zigzag(number) for number in range(MANY)]

    found = decode_columns(pa.array(messages, pa.binary()), record, field_tree(columns))

    assert not len(found.odd)  # an item by itself would be a step
    assert found.columns["id",].to_pylist() == list(range(MANY))


def test_a_decimal_that_arrow_does_not_hold_is_read_one_by_one() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 40}
    schema = schema_of(("f", decimal), ("list", {"type": "array", "items": decimal}))
    reader = reader_of(schema, {"f": "DECIMAL(20, 2)", "list": "ARRAY<DECIMAL(20, 2)>"})
    unscaled = (-12 * 10**40 - 5 * 10**37).to_bytes(18, "big", signed=True)
    one = b"\x24" + unscaled

    found = rows(reader, [one + b"\x02" + one + b"\x00"] * MANY)

    assert found == [(Decimal("-12.01"), [Decimal("-12.01")])] * MANY


def test_a_block_of_a_negative_size_is_malformed_in_every_batch() -> None:
    schema = schema_of(("list", {"type": "array", "items": "int"}))
    reader = reader_of(schema, {"list": "ARRAY<INT>"})
    message = b"\x01\x01\x02\x00"  # -1 items in -1 bytes
    fault = ("malformed", "not Avro of the schema: the length at byte 1 is negative")

    assert rows(reader, [message]) == [fault]
    assert rows(reader, [message] * MANY) == [fault] * MANY


def test_blocks_with_their_size_and_keys_that_repeat() -> None:
    schema = schema_of(
        ("list", {"type": "array", "items": "int"}), ("map", {"type": "map", "values": "int"})
    )
    reader = reader_of(schema, {"list": "ARRAY<INT>", "map": "MAP<STRING, INT>"})
    blocks = b"\x03\x04\x02\x04" + b"\x02\x06" + b"\x00"  # -2 items in 2 bytes, 1 item, the end
    good, bad = b"\x02\x02a\x02\x00", b"\x04\x02a\x02\x02a\x04\x00"

    found = rows(reader, [blocks + good] * MANY + [blocks + bad])

    assert found[0] == ([1, 2, 3], [("a", 1)])
    assert found[-1] == (
        "wrong_type",
        'field map: found the key "a" twice, expected it once for column map',
    )


def test_undeclared_fields_of_the_schema_are_found_for_every_message() -> None:
    schema = schema_of(("a", "int"), ("b", ITEM))
    message = encoded(schema, {"a": 1, "b": {"article": 2}})

    def undeclared(columns: dict[str, str], **options: Any) -> list[int]:
        reader = reader_of(schema, columns, finds_undeclared=True, **options)
        return reader.read(pa.array([message] * 2, pa.binary())).with_undeclared

    assert undeclared({"a": "INT", "b": "ROW<article BIGINT>"}) == []
    assert undeclared({"a": "INT"}, paths_of_other_streams=[("b", "article")]) == []
    assert undeclared({"a": "INT"}) == [0, 1]
    assert undeclared({"a": "INT", "b": "ROW<x INT>"}) == [0, 1]
    assert reader_of(schema, {"a": "INT"}).tree(message) == {"a": 1, "b": {"article": 2}}
