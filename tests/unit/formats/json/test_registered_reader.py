"""JSON behind the id of a schema is read as JSON is; a wrong header is the message's only fault."""

import pyarrow as pa
import pytest

from braid.formats.json.message_reader import JsonReader
from braid.formats.json.registered_reader import RegisteredJsonReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.readers import message_reader
from braid.formats.schema_registry.schema_source import SchemaKind
from braid.lake import StorageUnavailable, parse_type
from braid.schemas import JsonFormat
from tests.support.given_schemas import DOWN, GivenSchemas, framed

JSON, AVRO, UNKNOWN = (framed(number, b"") for number in (1, 2, 3))


SCHEMAS = GivenSchemas({1: SchemaKind.JSON, 2: SchemaKind.AVRO})


def columns(*, finds_missing: bool = False) -> list[MappedColumn]:
    return [
        MappedColumn(name="id", path=("id",), type=parse_type("BIGINT")),
        MappedColumn(name="a", path=("a",), type=parse_type("STRING"), finds_missing=finds_missing),
    ]


def payloads(*messages: bytes | None) -> pa.BinaryArray:
    return pa.array(messages, pa.binary())


def test_messages_are_read_as_json_is() -> None:
    reader = message_reader(JsonFormat(schema_registry="shop"), columns(), schemas=SCHEMAS)
    messages = [b'{"id": 1, "a": "x"}', b'{"id": 2}', b"{", b'{"id": "no"}']

    found = reader.read(payloads(*(JSON + message for message in messages), None))

    plain = message_reader(JsonFormat(), columns()).read(payloads(*messages, None))
    assert [a.to_pylist() for a in found.arrays] == [a.to_pylist() for a in plain.arrays]
    assert {row: found.faults[row] for row in found.faults.rows} == {
        row: plain.faults[row] for row in plain.faults.rows
    }
    assert found.faults.rows == [2, 3]
    assert reader.tree(JSON + b'{"id": 1}') == {"id": 1}


def test_a_wrong_header_is_malformed_and_the_others_are_read() -> None:
    inner = JsonReader(columns(finds_missing=True), finds_undeclared=True)
    reader = RegisteredJsonReader(inner, SCHEMAS)
    body = b'{"id": 1, "b": 2}'

    found = reader.read(payloads(body, AVRO + body, UNKNOWN + body, JSON + body, JSON[:4]))

    assert found.arrays[0].to_pylist() == [None, None, None, 1, None]
    assert {found.faults[row].reason.value for row in (0, 1, 2, 4)} == {"malformed"}
    assert found.faults[1].message == "the schema of id 2 is of the kind AVRO, expected JSON"
    assert found.with_undeclared == [3]
    assert found.missing["a"].to_pylist() == [False, False, False, True, False]
    with pytest.raises(ValueError, match="first byte 0x7b"):
        reader.tree(body)


def test_a_registry_that_does_not_answer_stops_the_batch() -> None:
    reader = RegisteredJsonReader(JsonReader(columns()), SCHEMAS)

    with pytest.raises(StorageUnavailable):
        reader.read(payloads(JSON + b"{}", framed(DOWN, b"{}")))
