"""Protobuf messages are read alike column by column and one by one."""

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from google.protobuf.message import DecodeError
from hypothesis import given, settings, strategies as st

from braid.formats.exact_rows import MISSING
from braid.formats.fault import Fault, malformed, not_utf8
from braid.formats.field_tree import field_tree
from braid.formats.mapped_column import MappedColumn
from braid.formats.native.record_values import record_values
from braid.formats.protobuf.native_messages import native_record
from braid.formats.protobuf.reader import ProtobufReader
from braid.formats.protobuf.schema import MessageType
from braid.lake import to_arrow_type
from tests.property.avro_messages import COLUMNS_OF
from tests.unit.formats.json.both_ways import fault_by_row, given_columns, plain
from tests.unit.formats.protobuf.orders import order_type, type_of

TYPE = order_type()
Order: Any = TYPE.message_class
MESSAGES = 12
ANY = sorted({sql for types in COLUMNS_OF.values() for sql in types})
NESTED = {
    "items": ["ARRAY<ROW<article INT, x INT>>", "STRING"],
    "numbers": ["ARRAY<TINYINT>", "ARRAY<STRING>"],
    "texts": ["MAP<STRING, STRING>", "MAP<STRING, DECIMAL(6, 2)>"],
    "item": ["ROW<article BIGINT, inner ROW<article INT>>", "STRING"],
}
VALUES: dict[str, list[Any]] = {
    "double": [0.0, -1.25, float("nan"), float("inf"), 1e300, 12345.675],
    "float": [0.1, -1.5],
    "string": ["", "ä", "1.005", "2026-01-02", "2026-01-02T03:04:05Z", "x" * 50],
    "bytes": [b"", b"\x00\xff\x01"],
    "bool": [True, False],
}


def random_order(chance: random.Random) -> Any:
    """Return a message with some of the fields."""
    order = Order()
    for name in TYPE.fields:
        if chance.random() < 0.5:
            continue
        kind = name.removeprefix("f_")
        if kind in VALUES:
            setattr(order, name, chance.choice(VALUES[kind]))
        elif name.startswith("f_"):
            is_wide = "64" in kind
            low, high = (-(2 ** (63 if is_wide else 31)), 2 ** (63 if is_wide else 31) - 1)
            if "u" in kind or kind.startswith("fixed"):
                low, high = 0, 2 * high + 1
            setattr(order, name, chance.choice([low, high, 0, 5]))
    if chance.random() < 0.5:
        order.items.add(article=chance.choice([1, 2**40]))
        order.item.inner.article = 3
        order.numbers.extend([1, 2, chance.choice([3, 300])])
        order.texts["a"] = chance.choice(["1.5", "b"])
        order.state = chance.choice([0, 1, 5])
        order.at.seconds, order.at.nanos = chance.choice(
            [(1, 999), (-1, 5), (2**40, 0), (2**62, 0)]
        )
    if chance.random() < 0.3:
        order.note.value = "n"
        order.maybe = 0
        order.cash = 1
        order.took.seconds = 1
    return order


@settings(max_examples=40, derandomize=True)
@given(st.integers(0, 2**32))
def test_messages_are_read_alike_by_column_and_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    names = chance.sample([*TYPE.fields], 5)
    types = {name: chance.choice(NESTED.get(name, ANY)) for name in names}
    columns = given_columns({**types, "inner": "INT"}, inner="item.inner.article")
    columns = tuple(one for one in columns if "item" not in types or one.name != "inner")
    messages = [random_order(chance) for _ in range(MESSAGES)]

    check_reading(TYPE, columns, [message.SerializeToString() for message in messages])


def check_reading(
    declared: MessageType, columns: Sequence[MappedColumn], payloads: Sequence[bytes]
) -> None:
    """Assert that a batch is read as its messages are read one by one."""
    found = ProtobufReader(declared, columns).read(pa.array(payloads, pa.binary()))

    for row, payload in enumerate(payloads):
        expected = exactly(declared, columns, payload)
        fault = expected if isinstance(expected, Fault) else None
        assert fault_by_row(found).get(row) == fault
        if isinstance(expected, Fault):
            continue
        for array, value, column in zip(found.arrays, expected, columns, strict=True):
            alone = pa.array([None if value is MISSING else value], to_arrow_type(column.type))
            assert repr(plain(array.slice(row, 1))) == repr(plain(alone)), column


def exactly(
    declared: MessageType, columns: Sequence[MappedColumn], payload: bytes
) -> list[Any] | Fault:
    """Return the values of one message, or its fault."""
    try:
        message = declared.message_class.FromString(payload)
        return record_values(native_record(message, declared, field_tree(columns)), columns)
    except DecodeError:
        return malformed("not a message of the schema")
    except UnicodeDecodeError as error:
        return not_utf8(error)


# Attributes of the library's messages, and fields of well-known types.
ODD_NAMES = ["HasField", "ListFields", "FromString", "DESCRIPTOR", "__class__", "value", "seconds"]
ODD_KINDS = {
    "string": ["STRING", "VARCHAR(1)", "DECIMAL(4, 1)"],
    "repeated string": ["ARRAY<STRING>", "ARRAY<BYTES>", "STRING"],
    "map<string, string>": ["MAP<STRING, STRING>", "STRING"],
    "google.protobuf.StringValue": ["STRING", "DATE"],
    "repeated google.protobuf.StringValue": ["ARRAY<STRING>", "ARRAY<DATE>", "STRING"],
    "google.protobuf.Timestamp": ["TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "STRING"],
    "repeated google.protobuf.Timestamp": ["ARRAY<TIMESTAMP(6)>", "STRING"],
    "google.protobuf.Int64Value": ["STRING", "ROW<x INT>"],  # declared by the file, as a record
    "M": ["ROW<value STRING, HasField STRING>", "STRING"],
}
OWN = 'syntax = "proto3"; package google.protobuf; message Int64Value { string x = 1; }'
IMPORTS = "".join(
    f'import "{name}.proto"; '
    for name in ("google/protobuf/timestamp", "google/protobuf/wrappers_of_texts", "own")
)
WRAPPERS = 'syntax = "proto3"; package google.protobuf; message StringValue { string value = 1; }'


def varint(number: int) -> bytes:
    """Return a varint; of a negative number as 64 bits."""
    number &= 2**64 - 1
    return bytes([number & 0x7F | 0x80]) + varint(number >> 7) if number > 0x7F else bytes([number])


def part(number: int, body: bytes) -> bytes:
    """Return a field that is a text or a message."""
    return varint(number << 3 | 2) + varint(len(body)) + body


def odd_body(chance: random.Random, kind: str, kinds: Sequence[str], depth: int) -> bytes:
    """Return a value of a field: rarely a text that is not UTF-8, or a timestamp that is no time."""
    text = chance.choice([b"", b"x", b"1.5", "ä".encode(), b"2026-01-02", b"\xff"])
    match kind.removeprefix("repeated "):
        case "M":
            return odd_message(chance, kinds, depth + 1)
        case "string":
            return text
        case "map<string, string>":
            return part(1, chance.choice([b"k", b"", text])) + part(2, text)
        case "google.protobuf.Timestamp":
            seconds = chance.choice([0, 1, -1, 10**12, 2**63 - 1, -(2**63)])
            return b"\x08" + varint(seconds) + b"\x10" + varint(chance.choice([0, -1, 2**31 - 1]))
        case _:
            return part(1, b"x" if text == b"\xff" and chance.random() < 0.8 else text)


def odd_message(chance: random.Random, kinds: Sequence[str], depth: int = 0) -> bytes:
    """Return a message with some of the fields, which have the numbers 1 and up."""
    return b"".join(
        part(number, odd_body(chance, kind, kinds, depth))
        for number, kind in enumerate(kinds, 1)
        for _ in range(chance.choice([0, 1, 2]))
        if kind != "M" or depth < 2
    )


@settings(max_examples=60, derandomize=True)
@given(st.integers(0, 2**32))
def test_odd_messages_are_read_alike_by_column_and_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    names = chance.sample(ODD_NAMES, 4)
    kinds = [chance.choice([*ODD_KINDS]) for _ in names]
    fields = "".join(
        f"{kind if kind[:3] in ('map', 'rep') else f'optional {kind}'} {name} = {number}; "
        for number, (name, kind) in enumerate(zip(names, kinds, strict=True), 1)
    )
    declared = type_of(
        f'syntax = "proto2"; {IMPORTS} message M {{ {fields} }}',
        own=OWN,
        **{"google/protobuf/wrappers_of_texts": WRAPPERS},
    )
    types = {
        name: chance.choice(ODD_KINDS[kind])
        for name, kind in zip(names, kinds, strict=True)
        if chance.random() < 0.7
    }
    columns = given_columns({**types, "absent": "INT"})

    check_reading(declared, columns, [odd_message(chance, kinds) for _ in range(MESSAGES)])
