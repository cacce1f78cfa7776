"""Each message is read by the schema that its id names; a schema that cannot be read is a fault of its messages."""

import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from braid.formats.mapped_column import MappedColumn
from braid.formats.readers import message_reader
from braid.formats.schema_registry.schema_source import (
    RegisteredSchema,
    SchemaKind,
    UnknownSchemaError,
)
from braid.lake import StorageUnavailable, parse_type
from braid.schemas import AvroFormat

DECLARED = AvroFormat(schema_registry="shop")


def record(name: str, **types: Any) -> dict[str, Any]:
    """Return the schema of a record."""
    fields = [{"name": field, "type": kind} for field, kind in types.items()]
    return {"type": "record", "name": name, "fields": fields}


FIRST = record("Order", id="long", a="int")
SECOND = record("Order", a=["null", "string"], id="int", part="Part")
PART = record("Part", x="int")
SCHEMAS = {
    1: RegisteredSchema(id=1, kind=SchemaKind.AVRO, text=json.dumps(FIRST)),
    2: RegisteredSchema(
        id=2, kind=SchemaKind.AVRO, text=json.dumps(SECOND), references={"Part": json.dumps(PART)}
    ),
    3: RegisteredSchema(id=3, kind=SchemaKind.AVRO, text='{"type": "array"}'),
}


class Schemas:
    """The schemas above, and no answer for 9."""

    def schema(self, schema_id: int) -> RegisteredSchema:
        if schema_id == 9:
            raise StorageUnavailable("down")
        if schema_id not in SCHEMAS:
            raise UnknownSchemaError(f"the schema registry has no schema of id {schema_id}")
        return SCHEMAS[schema_id]


def reader(**options: Any) -> Any:
    """Return the reader of four columns."""
    columns = [
        MappedColumn(
            name=name, path=tuple(path.split(".")), type=parse_type(sql), finds_missing=True
        )
        for name, path, sql in (
            ("id", "id", "BIGINT"),
            ("a", "a", "STRING"),
            ("x", "part.x", "INT"),
        )
    ]
    return message_reader(DECLARED, columns, schemas=Schemas(), **options)


def message(schema_id: int, value: Any) -> bytes:
    """Return a message of the wire format."""
    out = io.BytesIO()
    schema: Any = (
        FIRST
        if schema_id != 2
        else {**SECOND, "fields": [*SECOND["fields"][:2], {"name": "part", "type": PART}]}
    )
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return b"\0" + schema_id.to_bytes(4, "big") + out.getvalue()


FIRST_MESSAGE = message(1, {"id": 1, "a": 5})
SECOND_MESSAGE = message(2, {"id": 2, "a": None, "part": {"x": 3}})


def test_every_message_is_read_by_its_own_schema() -> None:
    payloads = [FIRST_MESSAGE, SECOND_MESSAGE, None, FIRST_MESSAGE]

    found = reader().read(pa.array(payloads, pa.binary()))

    assert [array.to_pylist() for array in found.arrays] == [
        [1, 2, None, 1],
        ["5", None, None, "5"],
        [None, 3, None, None],
    ]
    assert {name: mask.to_pylist() for name, mask in found.missing.items()} == {
        "id": [False, False, True, False],
        "a": [False, False, True, False],
        "x": [True, False, True, True],
    }
    assert not len(found.faults)


def test_many_messages_of_mixed_schemas_keep_their_rows() -> None:
    payloads = [FIRST_MESSAGE, SECOND_MESSAGE] * 50

    found = reader().read(pa.array(payloads, pa.binary()).slice(1, 98))

    assert found.arrays[0].to_pylist() == [2, 1] * 49


def test_a_schema_that_cannot_be_read_is_a_fault_of_its_messages() -> None:
    bad = [message(number, {"id": 1, "a": 5}) for number in (3, 4)]
    payloads = [FIRST_MESSAGE, *bad, b"{}", FIRST_MESSAGE + b"x", b"\0"]

    found = reader().read(pa.array(payloads, pa.binary()))

    assert found.arrays[0].to_pylist() == [1, None, None, None, None, None]
    assert [found.faults[row].message for row in found.faults.rows] == [
        'the schema of id 3 cannot be read: found {"type": "array"}, expected an object with `items`',
        "the schema registry has no schema of id 4",
        "found the first byte 0x7b, expected 0x00 and the id of the message's schema",
        "not Avro of the schema: 1 bytes follow the record",
        "found 1 bytes, expected 0x00, the id of a schema and a message",
    ]


def test_a_registry_that_does_not_answer_is_no_fault_of_a_message() -> None:
    with pytest.raises(StorageUnavailable):
        reader().read(pa.array([FIRST_MESSAGE, message(9, {"id": 1, "a": 5})], pa.binary()))


def test_undeclared_fields_are_those_of_the_message_s_own_schema() -> None:
    others = [("part", "y")]
    finding = reader(finds_undeclared=True, paths_of_other_streams=others)
    third = message(1, {"id": 1, "a": 5})

    found = finding.read(pa.array([SECOND_MESSAGE, third], pa.binary()))

    assert found.with_undeclared == []
    assert finding.tree(SECOND_MESSAGE) == {"a": None, "id": 2, "part": {"x": 3}}
    with pytest.raises(ValueError, match="no schema of id 4"):
        finding.tree(message(4, {"id": 1, "a": 5}))
