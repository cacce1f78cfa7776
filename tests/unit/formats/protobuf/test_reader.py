"""Protobuf messages become columns by their type; what does not fit is a fault of its message alone."""

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.mapped_column import MappedColumn
from braid.formats.protobuf.reader import ProtobufReader
from braid.formats.protobuf.schema import MessageType
from braid.lake import parse_type
from tests.unit.formats.protobuf.orders import order_type, type_of
from tests.unit.formats.protobuf.steps import steps

TYPE = order_type()
Order: Any = TYPE.message_class


def reader_of(
    columns: dict[str, str], *, declared: MessageType = TYPE, **options: Any
) -> ProtobufReader:
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
    return ProtobufReader(declared, mapped, **options)


def rows(
    columns: dict[str, str], messages: Sequence[bytes | None], declared: MessageType = TYPE
) -> list[Any]:
    """Return per message its row, or the reason and message of its fault."""
    found = reader_of(columns, declared=declared).read(pa.array(messages, pa.binary()))
    return [
        (found.faults[row].reason.value, found.faults[row].message)
        if row in found.faults
        else tuple(array[row].as_py() for array in found.arrays)
        for row in range(len(messages))
    ]


def value(sql: str, path: str, **fields: Any) -> Any:
    """Return what a message's field becomes: the value, or reason and message."""
    (found,) = rows({path: sql}, [Order(**fields).SerializeToString()])
    return found if len(found) > 1 else found[0]


@pytest.mark.parametrize(
    ("name", "sql", "given", "expected"),
    [
        ("f_double", "DOUBLE", 0.1, 0.1),
        ("f_double", "DECIMAL(6, 2)", 1.005, Decimal("1.01")),
        ("f_float", "FLOAT", 0.5, 0.5),
        ("f_float", "STRING", 0.1, "0.1"),
        ("f_double", "FLOAT", -math.inf, -math.inf),
        ("f_int32", "INT", -(2**31), -(2**31)),
        ("f_sint32", "INT", -1, -1),
        ("f_sfixed32", "INT", -1, -1),
        ("f_int64", "BIGINT", -(2**63), -(2**63)),
        ("f_sint64", "BIGINT", 2**63 - 1, 2**63 - 1),
        ("f_sfixed64", "BIGINT", -1, -1),
        ("f_uint32", "BIGINT", 2**32 - 1, 2**32 - 1),
        ("f_fixed32", "BIGINT", 2**32 - 1, 2**32 - 1),
        ("f_uint64", "DECIMAL(20, 0)", 2**64 - 1, Decimal(2**64 - 1)),
        ("f_uint64", "STRING", 2**64 - 1, "18446744073709551615"),
        ("f_fixed64", "BIGINT", 2**63 - 1, 2**63 - 1),
        ("f_bool", "BOOLEAN", True, True),
        ("f_string", "VARCHAR(2)", "ä😀", "ä😀"),
        ("f_string", "DECIMAL(4, 1)", "1.25", Decimal("1.3")),
        ("f_bytes", "VARBINARY(2)", b"\0\xff", b"\0\xff"),
        ("state", "STRING", 1, "PAID"),
        ("state", "STRING", 7, "7"),
        ("items", "ARRAY<ROW<article BIGINT>>", [{"article": 1}], [{"article": 1}]),
        ("numbers", "ARRAY<TINYINT>", [1, -2], [1, -2]),
        ("numbers", "STRING", [1, -2], "[1,-2]"),
        ("item", "STRING", {"article": 1}, '{"article":1}'),
        ("texts", "MAP<STRING, STRING>", {"b": "x", "a": "y"}, [("a", "y"), ("b", "x")]),
        ("numbered", "MAP<STRING, STRING>", {-1: "x"}, [("-1", "x")]),
        ("flags", "MAP<STRING, STRING>", {True: "x"}, [("true", "x")]),
        ("card", "STRING", "visa", "visa"),
    ],
)
def test_every_type_has_its_column(name: str, sql: str, given: Any, expected: Any) -> None:
    assert value(sql, name, **{name: given}) == expected


def test_timestamps_reach_over_the_years_of_the_column() -> None:
    late = {"seconds": 253_402_300_799, "nanos": 999_999_999}
    recent = {"seconds": 1, "nanos": 123_456_789}
    early = {"seconds": -1, "nanos": 999_000_000}

    assert value("TIMESTAMP(6)", "at", at=late) == dt.datetime.fromisoformat(
        "9999-12-31T23:59:59.999999"
    )
    assert value("TIMESTAMP(3)", "at", at=early) == dt.datetime.fromisoformat(
        "1969-12-31T23:59:59.999"
    )
    assert value("TIMESTAMP(9)", "at", at=recent).value == 1_123_456_789
    assert value("STRING", "at", at=recent) == "1970-01-01T00:00:01.123456789Z"
    assert value("TIMESTAMP(3)", "at", at={"seconds": 10**15})[0] == "out_of_range"
    assert value("TIMESTAMP(3) WITH LOCAL TIME ZONE", "at", at={}) == dt.datetime(
        1970, 1, 1, tzinfo=dt.UTC
    )


@pytest.mark.parametrize(
    ("name", "sql", "given", "fault"),
    [
        (
            "f_uint64",
            "BIGINT",
            2**63,
            ("out_of_range", "found 9223372036854775808, expected BIGINT"),
        ),
        ("f_string", "INT", "7", ("wrong_type", 'found "7", expected INT')),
        ("f_double", "FLOAT", 1e39, ("out_of_range", "found 1e+39, expected FLOAT")),
        ("f_bytes", "STRING", b"a", ("wrong_type", "found 1 bytes, expected STRING")),
        ("took", "STRING", {"seconds": 1}, ("wrong_type", "found a duration, expected STRING")),
    ],
)
def test_a_value_that_its_column_does_not_hold_is_a_fault(
    name: str, sql: str, given: Any, fault: tuple[str, str]
) -> None:
    found = value(sql, name, **{name: given})

    reason, message = fault
    assert found == (reason, f"field {name}: {message} for column {name}")


def test_absence_is_told_from_defaults_where_the_declaration_does() -> None:
    columns = {
        "f_int32": "INT",
        "maybe": "INT",
        "card": "STRING",
        "note": "STRING",
        "item.article": "BIGINT",
        "item.inner.article": "BIGINT",
        "unknown": "INT",
    }
    full = Order(maybe=0, card="", note={"value": ""}, item={"inner": {"article": 2}})

    found = reader_of(columns).read(
        pa.array([b"", full.SerializeToString(), b"\xff", None], pa.binary())
    )

    assert [array.to_pylist()[:2] for array in found.arrays] == [
        [0, 0],
        [None, 0],
        [None, ""],
        [None, ""],
        [None, 0],
        [None, 2],
        [None, None],
    ]
    assert [mask.to_pylist() for mask in found.missing.values()] == [
        [False, False, False, True],
        *[[True, False, False, True]] * 5,
        [True, True, False, True],
    ]
    assert found.faults.rows == [2]
    assert found.faults[2].message == "not a message of the schema"


def test_unknown_fields_are_ignored() -> None:
    unknown = b"\xc0\x3e\x05"  # field 1000

    assert rows({"f_int32": "INT"}, [Order(f_int32=1).SerializeToString() + unknown]) == [(1,)]


def test_a_path_through_a_map_is_read() -> None:
    message = Order(texts={"a": "x"}).SerializeToString()

    assert rows({"texts.a": "STRING", "texts.b": "STRING"}, [message]) == [("x", None)]


def test_undeclared_fields_of_the_type_are_found() -> None:
    columns = {"item": "ROW<article BIGINT>"}
    message = Order(item={"article": 1}, f_int32=2).SerializeToString()

    reader = reader_of(columns, finds_undeclared=True)

    assert reader.read(pa.array([message, None], pa.binary())).with_undeclared == [0]
    tree = reader.tree(message)
    assert (tree["item"], tree["f_int32"], "maybe" in tree) == ({"article": 1}, 2, False)


def test_a_text_that_is_no_utf8_is_malformed_of_proto3() -> None:
    number = Order.DESCRIPTOR.fields_by_name["f_string"].number
    message = bytes([number << 3 & 0x7F | 2]) + b"\x01\xff"

    ((reason, _),) = rows({"f_string": "STRING"}, [message])

    assert reason == "malformed"


PROTO2 = type_of("""
    syntax = "proto2";
    message M {
      optional int64 id = 1; optional string text = 2; repeated string texts = 3;
      map<string, string> map = 4; optional M inner = 5; repeated M list = 6;
    }
""")
NOT_UTF8 = ("malformed", "not UTF-8: invalid start byte at byte 0")


@pytest.mark.parametrize(
    ("path", "sql", "part"),
    [
        ("text", "STRING", b"\x12\x01\xff"),
        ("text", "DECIMAL(4, 1)", b"\x12\x01\xff"),
        ("text", "BYTES", b"\x12\x01\xff"),
        ("inner.text", "STRING", b"\x2a\x03\x12\x01\xff"),
        ("inner", "ROW<text STRING>", b"\x2a\x03\x12\x01\xff"),
        ("inner", "STRING", b"\x2a\x03\x12\x01\xff"),
        ("list", "ARRAY<ROW<text STRING>>", b"\x32\x03\x12\x01\xff"),
        ("texts", "ARRAY<STRING>", b"\x1a\x01\xff"),
        ("texts", "ARRAY<BYTES>", b"\x1a\x01\xff"),
        ("texts", "STRING", b"\x1a\x01\xff"),
        ("map", "MAP<STRING, STRING>", b"\x22\x06\x0a\x01k\x12\x01\xff"),
        ("map", "MAP<STRING, STRING>", b"\x22\x06\x0a\x01\xff\x12\x01x"),
        ("map.k", "STRING", b"\x22\x06\x0a\x01k\x12\x01\xff"),
    ],
)
def test_a_text_that_is_no_utf8_is_malformed_of_proto2(path: str, sql: str, part: bytes) -> None:
    ids = [b"\x08\x01", b"\x08\x02" + part, b"\x08\x03", None]

    found = rows({"id": "INT", path: sql}, ids, PROTO2)

    assert found[1] == NOT_UTF8
    assert [row[0] for row in (found[0], *found[2:])] == [1, 3, None]
    with pytest.raises(UnicodeDecodeError):
        reader_of({"id": "INT"}, declared=PROTO2).tree(b"\x08\x02" + part)


def test_a_text_that_no_column_reads_may_be_any_bytes() -> None:
    message = b"\x08\x02\x12\x01\xff\x2a\x05\x08\x03\x12\x01\xff"

    assert rows({"id": "INT", "inner.id": "INT"}, [message], PROTO2) == [(2, 3)]
    # A path through a map is read message by message.
    one_by_one = {"id": "INT", "inner.id": "INT", "map.k": "STRING"}
    assert rows(one_by_one, [message], PROTO2) == [(2, 3, None)]


@pytest.mark.parametrize(
    ("name", "sql", "given"),
    [
        ("StringValue", "STRING", "x"),
        ("BytesValue", "BYTES", b"\xff"),
        ("BoolValue", "BOOLEAN", True),
        ("Int64Value", "BIGINT", -1),
        ("UInt64Value", "DECIMAL(20, 0)", Decimal(2**64 - 1)),
        ("DoubleValue", "DOUBLE", 0.5),
    ],
)
def test_repeated_wrappers_are_lists_of_what_they_wrap(name: str, sql: str, given: Any) -> None:
    declared = type_of(
        'syntax = "proto3"; import "google/protobuf/wrappers.proto";'
        f"message M {{ repeated google.protobuf.{name} list = 1;"
        f" map<string, google.protobuf.{name}> map = 2; google.protobuf.{name} one = 3; }}"
    )
    value = int(given) if isinstance(given, Decimal) else given
    message = declared.message_class(list=[{"value": value}, {}], map={"k": {"value": value}})
    columns = {"list": f"ARRAY<{sql}>", "map": f"MAP<STRING, {sql}>", "one": sql}

    ((items, entries, one),) = rows(columns, [message.SerializeToString()], declared)

    assert (items[0], entries, one) == (given, [("k", given)], None)
    assert not items[1]  # the default
    assert rows({"list": "STRING"}, [b""], declared) == [("[]",)]


@pytest.mark.parametrize(
    "name", ["HasField", "ListFields", "FromString", "DESCRIPTOR", "__class__", "value", "items"]
)
def test_a_field_may_have_any_name(name: str) -> None:
    declared = type_of(
        f'syntax = "proto3"; message M {{ optional int32 id = 1; optional int32 {name} = 2;'
        f" optional M inner = 3; map<string, M> map = 4; }}"
    )
    inner = b"\x10\x07"
    messages = [b"\x08\x01\x10\x02", b"\x08\x01\x1a\x02" + inner, b"\x22\x04\x12\x02" + inner]

    found = rows({"id": "INT", name: "INT", f"inner.{name}": "INT"}, messages, declared)
    assert found == [(1, 2, None), (1, None, 7), (None, None, None)]
    found = rows({"id": "STRING", "inner": "STRING", "map": "STRING"}, messages, declared)
    assert found == [
        ("1", None, "{}"),
        ("1", f'{{"{name}":7,"map":{{}}}}', "{}"),
        (None, None, f'{{"":{{"{name}":7,"map":{{}}}}}}'),
    ]


@pytest.mark.parametrize("sql", ["TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)"])
def test_a_timestamp_does_not_depend_on_its_neighbours(sql: str) -> None:
    bound = 10**12
    far = [(seconds, nanos) for seconds in (-(2**63), 2**63 - 1) for nanos in (-(2**31), 2**31 - 1)]
    given = [*far, (-bound, 0), (1 - bound, 0), (bound - 1, 0), (bound, 0), (1, -1), (0, 2**31 - 1)]
    messages = [
        Order(at={"seconds": seconds, "nanos": nanos}).SerializeToString()
        for seconds, nanos in given
    ]

    together = rows({"at": sql}, messages)

    assert together == [row for message in messages for row in rows({"at": sql}, [message])]
    assert [row[0] == "out_of_range" for row in together] == [True] * 8 + [False] * 2


def test_an_enum_costs_as_much_whatever_the_number_of_its_names() -> None:
    def cost(count: int, columns: dict[str, str]) -> int:
        names = " ".join(f"V{number} = {number};" for number in range(count))
        reader = reader_of(
            columns,
            declared=type_of(
                f'syntax = "proto3"; enum E {{ {names} }} message M {{ repeated E list = 1; E one = 2; }}'
            ),
        )
        messages = pa.array([b"\x0a\x14" + b"\x01" * 20, b"\x10\x01"], pa.binary())
        reader.read(messages)  # what is made once
        return steps(lambda: reader.read(messages))

    for columns in ({"list": "ARRAY<STRING>"}, {"one": "STRING"}):
        assert cost(500, columns) == cost(2, columns)


def test_an_enum_s_value_has_its_first_name_or_its_number() -> None:
    declared = type_of(
        'syntax = "proto3"; enum E { option allow_alias = true; A = 0; B = 1; C = 1; }'
        "message M { repeated E list = 1; E one = 2; }"
    )
    columns = {"list": "ARRAY<STRING>", "one": "STRING"}

    found = rows(columns, [b"\x0a\x03\x01\x07\x00\x10\x01", b"\x10\x07"], declared)
    assert found == [(["B", "7", "A"], "B"), ([], "7")]
