"""A schema is parsed with all its names; a text that is none is refused with the place of its fault."""

import json
from typing import Any

import pytest

from braid.formats.avro.schema import AvroKind, AvroSchemaError, parse_avro_schema
from braid.formats.native.kinds import NativeKind


def record(*types: Any, name: str = "R", **options: Any) -> Any:
    """Return the schema of a record with fields f0, f1, …"""
    fields = [{"name": f"f{index}", "type": kind} for index, kind in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields, **options}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("{", "not JSON"),
        ('"int"', "found int, expected a record"),
        (json.dumps(record("x.Unknown")), 'found the type "x.Unknown", which is not declared'),
        (json.dumps(record(["int", ["null"]])), "a union is directly inside of another union"),
        (json.dumps(record([])), "a union has no types"),
        (json.dumps(record({"type": "array"})), "expected an object with `items`"),
        (
            json.dumps(record({"type": "fixed", "name": "F", "size": -1})),
            "expected a whole number as `size`",
        ),
        (
            json.dumps(record({"type": "enum", "name": "E", "symbols": [1]})),
            "expected a list of at least one symbol",
        ),
        (
            json.dumps(record({"type": "enum", "name": "E", "symbols": []})),
            "expected a list of at least one symbol",
        ),
        (
            json.dumps(record({"type": "enum", "name": "E", "symbols": ["A", "\ud800"]})),
            r'found \["A", "\\ud800"\], expected a list of at least one symbol',
        ),
        (
            json.dumps(record({"type": "enum", "name": "E", "symbols": ["A", "B", "A"]})),
            "a symbol occurs twice in",
        ),
        (
            json.dumps({"type": "record", "name": "R", "fields": [{"name": "a b", "type": "int"}]}),
            'found "a b", expected the name of a field',
        ),
        (json.dumps(record(name="a..R")), 'found "a..R", expected the name of a type'),
        (json.dumps(record(name="1R")), 'found "1R", expected the name of a type'),
        (json.dumps(record(name="shop.int")), 'found "shop.int", expected the name of a type'),
        (json.dumps(record(namespace="a-b")), 'found "a-b", expected a namespace'),
        (json.dumps(record(["null", "int", {"type": "int"}])), "a type occurs twice in the union"),
        (
            json.dumps(record(record(name="S"), ["null", "S", "S"])),
            "a type occurs twice in the union",
        ),
        (json.dumps(record(record(name="R"))), 'the type "R" is declared twice'),
        (
            json.dumps({"type": "record", "name": "R", "fields": [{"name": "a"}]}),
            "an object with `type`",
        ),
        (json.dumps({"type": "record", "fields": []}), "an object with `name`"),
        (
            json.dumps(record("R")),
            "a record contains itself, with no union, array or map in between",
        ),
        ('{"type":' * 100 + '"int"' + "}" * 100, "nested more than 64 levels deep"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_text_that_is_no_schema_is_refused(schema: str, why: str) -> None:
    with pytest.raises(AvroSchemaError, match=why):
        parse_avro_schema(schema)


def test_records_that_multiply_are_refused() -> None:
    types = [record("null", name="R0")]
    types += [record(*[f"R{index}"] * 10, name=f"R{index + 1}") for index in range(9)]

    with pytest.raises(AvroSchemaError, match="more than 100000 values"):
        parse_avro_schema(json.dumps(record(*types, name="Root")))


def test_values_without_a_byte_of_every_message_are_refused() -> None:
    types = [record(*["null"] * 100, name="R0"), record(*["R0"] * 100, name="R1")]

    with pytest.raises(AvroSchemaError, match="more than 10000 values that take no bytes"):
        parse_avro_schema(json.dumps(record(*types, name="Root")))


def test_names_are_found_in_their_namespace_and_in_references() -> None:
    address = json.dumps(record("string", name="Address", namespace="shop.parts"))
    order = record("shop.parts.Address", record("Own", name="Line"), namespace="shop", name="Order")
    order["fields"][1:1] = [{"name": "own", "type": {"type": "fixed", "name": "Own", "size": 2}}]

    found = parse_avro_schema(json.dumps(order), [address])

    assert found.fields["f0"].fields["f0"].kind is AvroKind.STRING
    assert found.fields["f1"].fields["f0"] is found.fields["own"]


def test_a_logical_type_that_does_not_fit_is_ignored() -> None:
    fields = [
        {"type": "string", "logicalType": "date"},
        {"type": "fixed", "name": "F", "size": 4, "logicalType": "uuid"},
        {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3},
        {"type": "bytes", "logicalType": "decimal", "precision": True},
        {"type": "fixed", "name": "G", "size": 1, "logicalType": "decimal", "precision": 3},
        {"type": "fixed", "name": "H", "size": 1, "logicalType": "decimal", "precision": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 2},
    ]

    found = parse_avro_schema(json.dumps(record(*fields)))

    kinds = [part.native_kind for part in found.fields.values()]
    assert kinds == [NativeKind.TEXT, *[NativeKind.BYTES] * 4, *[NativeKind.DECIMAL] * 2]


def test_names_have_letters_of_any_script_and_types_the_namespace_around_them() -> None:
    kind = {"type": "enum", "name": "Zustand", "namespace": None, "symbols": ["offen", "bezahlt_ä"]}
    order = {
        "type": "record",
        "name": "Größe",
        "namespace": "läden.süd",
        "fields": [{"name": "größe", "type": kind}, {"name": "b", "type": "läden.süd.Zustand"}],
    }

    found = parse_avro_schema(json.dumps(order))

    assert found.fields["größe"] is found.fields["b"]
    assert found.fields["b"].symbols == ("offen", "bezahlt_ä")
