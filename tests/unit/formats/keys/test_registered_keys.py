"""Kafka keys behind the ids of their schemas: in JSON, Avro and Protobuf, as a whole and by their fields."""

import json
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.keys.key_readers import key_reader
from braid.formats.mapped_column import MappedColumn, TimeFormat
from braid.formats.message_reader import ReadMessages
from braid.formats.schema_registry.schema_source import (
    RegisteredSchema,
    SchemaKind,
    UnknownSchemaError,
)
from braid.lake import StorageUnavailable, parse_type
from braid.schemas import ColumnSource, KeyFormat
from tests.property.avro_messages import encoded
from tests.support.given_schemas import framed

PLACE = {"type": "record", "name": "Place", "fields": [{"name": "zip", "type": "string"}]}
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "place", "type": "Place"}],
}
PROTO = 'syntax = "proto3"; message Other {} message Key { int64 id = 1; Place place = 2; }'
PROTO += "message Place { string zip = 1; }"
SCHEMAS = {
    one.id: one
    for one in (
        RegisteredSchema(id=1, kind=SchemaKind.AVRO, text='"long"'),
        RegisteredSchema(id=2, kind=SchemaKind.AVRO, text="string"),
        RegisteredSchema(
            id=3,
            kind=SchemaKind.AVRO,
            text=json.dumps(ORDER),
            references={"Place": json.dumps(PLACE)},
        ),
        RegisteredSchema(id=4, kind=SchemaKind.AVRO, text='{"type": "array"}'),
        RegisteredSchema(id=5, kind=SchemaKind.JSON, text="{}"),
        RegisteredSchema(id=6, kind=SchemaKind.PROTOBUF, text=PROTO),
    )
}
AVRO_ORDER = {**ORDER, "fields": [ORDER["fields"][0], {"name": "place", "type": PLACE}]}


class Schemas:
    """The schemas above, and no answer for 9."""

    def schema(self, schema_id: int) -> RegisteredSchema:
        if schema_id == 9:
            raise StorageUnavailable("down")
        if schema_id not in SCHEMAS:
            raise UnknownSchemaError(f"the schema registry has no schema of id {schema_id}")
        return SCHEMAS[schema_id]


def column(name: str, sql: str, *path: str, time_format: str | None = None) -> MappedColumn:
    return MappedColumn(
        name=name,
        path=path,
        type=parse_type(sql),
        source=ColumnSource.KEY,
        time_format=None if time_format is None else TimeFormat(time_format),
    )


ID = column("id", "BIGINT")
FIELDS = [column("id", "INT", "id"), column("zip", "STRING", "place", "zip")]


def read(language: str, columns: list[MappedColumn], *keys: bytes | None) -> ReadMessages:
    declared = KeyFormat(type=language, schema_registry="shop")  # type: ignore[arg-type]
    found = key_reader(columns, declared, Schemas()).read(pa.array(keys, pa.binary()))
    assert [len(array) for array in found.arrays] == [len(keys)] * len(columns)
    return found


def reasons(found: ReadMessages) -> dict[int, str]:
    return {row: found.faults[row].reason.value for row in found.faults.rows}


def rows(found: ReadMessages) -> list[tuple[Any, ...]]:
    return list(zip(*(array.to_pylist() for array in found.arrays), strict=True))


def test_an_avro_key_is_one_value() -> None:
    keys = [framed(1, encoded("long", -7)), None, framed(2, encoded("string", "8"))]

    found = read("avro", [ID], *keys)
    assert rows(found) == [(-7,), (None,), (None,)]
    assert reasons(found) == {2: "malformed_key"}
    assert rows(read("avro", [column("id", "STRING")], *keys)) == [("-7",), (None,), ("8",)]


def test_many_keys_are_read_as_few() -> None:
    keys = [framed(1, encoded("long", number)) for number in range(100)]

    assert rows(read("avro", [ID], *keys)) == [(number,) for number in range(100)]


def test_fields_of_an_avro_key_are_read() -> None:
    key = framed(3, encoded(AVRO_ORDER, {"id": 7, "place": {"zip": "89073"}}))
    far = framed(3, encoded(AVRO_ORDER, {"id": 2**40, "place": {"zip": ""}}))

    found = read("avro", FIELDS, key, far, framed(1, encoded("long", 7)))

    assert rows(found)[0] == (7, "89073")
    assert reasons(found) == {1: "out_of_range", 2: "malformed_key"}
    assert found.faults[1].message == (
        "the record's Kafka key: field id: found 1099511627776, expected INT for column id"
    )
    whole = read("avro", [column("id", "STRING")], key)
    assert json.loads(rows(whole)[0][0]) == {"id": 7, "place": {"zip": "89073"}}


def test_fields_of_a_protobuf_key_are_read() -> None:
    found = read("protobuf", FIELDS, framed(6, b"\2\2\x08\x07\x12\3\n\1x"), framed(6, b"\0"), b"7")

    assert rows(found) == [(7, "x"), (None, None), (None, None)]
    assert reasons(found) == {2: "malformed_key"}


@pytest.mark.parametrize(
    ("columns", "body", "row"),
    [
        ([ID], b"7", (7,)),
        ([column("id", "STRING")], b'"a b"', ("a b",)),
        ([column("id", "DATE")], b'"2026-01-02"', "2026-01-02"),
        ([ID], b"null", (None,)),
        (FIELDS, b'{"id": 7, "place": {"zip": "1"}}', (7, "1")),
        ([column("id", "TIMESTAMP(3)", time_format="epoch_ms")], b"0", "1970-01-01 00:00:00"),
    ],
)
def test_a_json_key_is_json(columns: list[MappedColumn], body: bytes, row: Any) -> None:
    found = read("json", columns, framed(5, body), None)

    shown = rows(found)[0] if isinstance(row, tuple) else str(rows(found)[0][0])
    assert (shown, reasons(found)) == (row, {})


@pytest.mark.parametrize(
    ("columns", "body"),
    [([ID], b'"7"'), ([ID], b"7,8"), ([ID], b"7}"), ([ID], b""), (FIELDS, b"7"), ([ID], b"[" * 9_999)],
)  # fmt: skip
def test_a_json_key_that_does_not_fit_is_malformed(
    columns: list[MappedColumn], body: bytes
) -> None:
    found = read("json", columns, framed(5, body), framed(5, b"{}"))

    assert reasons(found)[0] == "malformed_key"


def test_a_time_of_an_avro_key_has_its_format() -> None:
    at = column("id", "TIMESTAMP(3)", time_format="epoch_ms")

    found = read("avro", [at], framed(1, encoded("long", 1_000)), framed(2, encoded("string", "x")))

    assert str(rows(found)[0][0]) == "1970-01-01 00:00:01"
    assert reasons(found) == {1: "malformed_key"}


@pytest.mark.parametrize("language", ["json", "avro", "protobuf"])
def test_a_key_without_its_schema_says_why(language: str) -> None:
    others = {"json": 1, "avro": 5, "protobuf": 5}

    found = read(language, FIELDS, b"{}", framed(8, b""), framed(others[language], b""), None)

    assert reasons(found) == dict.fromkeys(range(3), "malformed_key")
    assert "found the first byte 0x7b" in found.faults[0].message
    assert "no schema of id 8" in found.faults[1].message
    assert "is of the kind" in found.faults[2].message
    with pytest.raises(StorageUnavailable):
        read(language, FIELDS, framed(9, b""))


def test_a_schema_that_cannot_be_read_is_a_fault_of_its_keys() -> None:
    found = read("avro", [ID], framed(4, b"\x02"))

    assert "the schema of id 4 cannot be read" in found.faults[0].message
