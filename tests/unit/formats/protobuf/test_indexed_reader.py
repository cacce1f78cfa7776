"""Messages behind an id name their type by its place in the schema's file."""

from typing import Any

import pyarrow as pa
import pytest

from braid.formats.mapped_column import MappedColumn
from braid.formats.protobuf.indexed_reader import IndexedProtobufReader
from braid.formats.protobuf.schema import find_message, registered_files
from braid.formats.readers import message_reader
from braid.formats.schema_registry.schema_source import (
    RegisteredSchema,
    SchemaKind,
    UnknownSchemaError,
)
from braid.lake import parse_type
from braid.schemas import ProtobufFormat
from tests.unit.formats.protobuf.steps import steps

PART = 'syntax = "proto3"; package parts; message Part { int64 x = 1; }'
TEXT = """syntax = "proto3"; package shop;
import "parts/part.proto"; import "confluent/meta.proto"; import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1; parts.Part part = 2; map<string, string> texts = 3;
  message Line { int64 id = 1; string note = 2; message Deep { int64 id = 1; } }
}
message Other { string id = 1; }
"""
FILES = registered_files(TEXT, {"parts/part.proto": PART})
SCHEMAS = {
    1: RegisteredSchema(
        id=1, kind=SchemaKind.PROTOBUF, text=TEXT, references={"parts/part.proto": PART}
    ),
    2: RegisteredSchema(id=2, kind=SchemaKind.PROTOBUF, text='edition = "2023";'),
    3: RegisteredSchema(id=3, kind=SchemaKind.PROTOBUF, text='syntax = "proto3";'),
    4: RegisteredSchema(id=4, kind=SchemaKind.AVRO, text='"int"'),
}


class Schemas:
    """The schemas above."""

    def schema(self, schema_id: int) -> RegisteredSchema:
        if schema_id not in SCHEMAS:
            raise UnknownSchemaError(f"the registry has no schema of id {schema_id}")
        return SCHEMAS[schema_id]


def reader(**options: Any) -> Any:
    """Return the reader of three columns."""
    columns = [
        MappedColumn(name=name, path=tuple(path.split(".")), type=parse_type(sql))
        for name, path, sql in (
            ("id", "id", "BIGINT"),
            ("x", "part.x", "BIGINT"),
            ("note", "note", "STRING"),
        )
    ]
    return message_reader(
        ProtobufFormat(schema_registry="shop"), columns, schemas=Schemas(), **options
    )


def message(name: str, indexes: bytes, schema_id: int = 1, **fields: Any) -> bytes:
    """Return a message of the wire format."""
    body: bytes = find_message(FILES, name).message_class(**fields).SerializeToString()
    return b"\0" + schema_id.to_bytes(4, "big") + indexes + body


ORDER = message("shop.Order", b"\0", id=1, part={"x": 2})


def rows(*messages: bytes | None) -> list[Any]:
    """Return per message its row, or the message of its fault."""
    found = reader().read(pa.array(messages, pa.binary()))
    return [
        found.faults[row].message
        if row in found.faults
        else tuple(array[row].as_py() for array in found.arrays)
        for row in range(len(messages))
    ]


def test_the_first_message_of_a_file_has_a_short_form() -> None:
    assert rows(ORDER, ORDER, None) == [(1, 2, None), (1, 2, None), (None, None, None)]
    assert rows(message("shop.Order", b"\2\0", id=1)) == [(1, None, None)]
    assert reader().tree(ORDER) == {"id": 1, "part": {"x": 2}, "texts": {}}


def test_messages_of_several_types_are_read_each_by_its_own() -> None:
    line = message("shop.Order.Line", b"\4\0\0", id=5, note="n")
    deep = message("shop.Order.Line.Deep", b"\6\0\0\0", id=6)
    other = message("shop.Other", b"\2\2", id="7")

    assert rows(line, ORDER, None, deep, other, line) == [
        (5, None, "n"),
        (1, 2, None),
        (None, None, None),
        (6, None, None),
        'field id: found "7", expected BIGINT for column id',
        (5, None, "n"),
    ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "the message ends within the indexes of its message type"),
        (b"\2", "the message ends within the indexes of its message type"),
        (b"\xff\xff\xff\xff\xff\xff", "the message ends within the indexes of its message type"),
        (b"\1", "found -1 indexes of a message type, expected at most 64"),
        (b"\2\4", "it has no message with the indexes [2]"),
        (b"\2\1", "it has no message with the indexes [-1]"),
        (b"\4\0\2", "it has no message with the indexes [0, 1]"),
        (b"\0\xff", "not a message of the schema"),
    ],
)
def test_a_message_of_no_type_is_malformed(body: bytes, why: str) -> None:
    assert rows(ORDER, b"\0\0\0\0\1" + body) == [(1, 2, None), why]


def test_a_schema_that_cannot_be_read_is_a_fault_of_its_messages() -> None:
    found = rows(ORDER, *(b"\0\0\0\0" + bytes([number]) + b"\0" for number in (2, 3, 4, 5)))

    assert found == [
        (1, 2, None),
        "the schema of id 2 cannot be read: in the file registered.proto: found `edition`, expected a "
        "declaration of a file of proto2 or proto3",
        "the schema of id 3 cannot be read: it has no message with the indexes [0]",
        "the schema of id 4 is of the kind AVRO, expected PROTOBUF",
        "the registry has no schema of id 5",
    ]


def test_undeclared_fields_are_those_of_the_message_s_type() -> None:
    line = message("shop.Order.Line", b"\4\0\0", id=5, note="n")

    found = reader(finds_undeclared=True).read(pa.array([ORDER, line], pa.binary()))

    assert found.with_undeclared == [0]  # `texts`


def reader_of_types(count: int) -> IndexedProtobufReader:
    """Return the reader of a file with many messages."""
    text = " ".join(f"message M{number} {{ int64 x = {number + 1}; }}" for number in range(count))
    column = MappedColumn(name="x", path=("x",), type=parse_type("BIGINT"))
    return IndexedProtobufReader(registered_files(f'syntax = "proto3"; {text}', {}), [column])


def with_indexes(first: int, count: int) -> pa.BinaryArray:
    """Return messages of the types from an index on, each with its number as `x`."""
    return pa.array(
        [
            b"\2" + _varint(2 * number) + _varint((number + 1) << 3) + _varint(number)
            for number in range(first, first + count)
        ],
        pa.binary(),
    )


def _varint(number: int) -> bytes:
    return (
        bytes([number & 0x7F | 0x80]) + _varint(number >> 7) if number > 0x7F else bytes([number])
    )


@pytest.mark.parametrize("are_known", [True, False])
def test_a_message_costs_as_much_whatever_the_number_of_types(are_known: bool) -> None:
    def cost(count: int) -> int:
        reader = reader_of_types(count)
        messages = with_indexes(0 if are_known else count, 20)
        return steps(lambda: reader.read(messages))

    few, many = cost(20), cost(400)

    assert many < few * 1.1


def test_more_types_are_read_than_readers_are_kept() -> None:
    reader = reader_of_types(300)

    for _ in range(2):
        found = reader.read(with_indexes(0, 300))
        assert found.arrays[0].to_pylist() == [*range(300)]
        assert not found.faults.rows
