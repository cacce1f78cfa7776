"""A stream reads columns only from fields that messages of its format have."""

import json
from base64 import b64encode
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from braid.formats.protobuf.proto_file import parse_proto_file
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from tests.unit.formats.protobuf.orders import NAME, order_set
from tests.unit.registry.shop import definition, mapped, orders

COLUMNS = mapped("id", "region", "paid", "method")
CSV = {"type": "csv", "fields": ["id", "region", "paid", "method"]}


def problems(format_: Any, **fields: Any) -> list[tuple[str, str]]:
    table = orders()
    wanted = definition("payments", **{"columns": COLUMNS, "format": format_, **fields})
    found = check_stream(table, {}, complete_stream(table, wanted, name="payments"))
    return [(problem.pointer or "", problem.message) for problem in found]


def test_columns_are_read_from_declared_fields() -> None:
    assert problems(CSV) == []
    assert problems({**CSV, "fields": ["id", "region", "paid", "m"]}) == [
        ("/columns/3/path", "messages of the format `csv` have no such field")
    ]


def test_a_raw_message_has_one_field() -> None:
    key = [
        {"column": "id", "source": "key", "path": "id"},
        {"column": "region", "source": "key", "path": "r"},
    ]
    value = [{"column": name, "path": "value"} for name in ("paid", "method")]

    found = problems("raw", columns=[*key, *value])

    assert [pointer for pointer, _ in found if "path" in pointer and "source" not in pointer] in (
        [],
        ["/columns/3/path"],  # the two columns have types of their own
    )
    assert problems("raw")[0] == (
        "/columns/0/path",
        "messages of the format `raw` have no such field",
    )


def avro(**types: Any) -> dict[str, Any]:
    """Return the format of Avro records with fields of these types."""
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    return {"type": "avro", "schema": json.dumps({"type": "record", "name": "P", "fields": fields})}


USUAL = {"id": "long", "region": "string", "paid": ["null", "double"], "method": "string"}


def test_columns_fit_the_fields_of_a_schema() -> None:
    assert problems(avro(**USUAL)) == []
    assert problems(avro(**USUAL), on_new_field="reject") == []
    assert problems(avro(**{**USUAL, "method": "bytes"})) == [
        ("/columns/3/column", "the field `method` is bytes, not STRING")
    ]
    without = {name: kind for name, kind in USUAL.items() if name != "region"}
    assert problems(avro(**without)) == [
        ("/columns/1/path", "the schema of the messages has no such field")
    ]


def test_a_text_that_is_no_schema_is_refused() -> None:
    (problem,) = problems({"type": "avro", "schema": "int"})

    assert problem == ("/format/schema", "the schema cannot be used: found int, expected a record")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, "none"),
        (
            {"schema": avro(**USUAL)["schema"], "schema_registry": "s"},
            "`schema`, `schema_registry`",
        ),
    ],
)
def test_avro_has_one_schema_or_a_registry(options: dict[str, str], found: str) -> None:
    (problem,) = problems({"type": "avro", **options})

    assert problem[0] == "/format/schema"
    assert problem[1].endswith(f"found {found}")
    assert problems({"type": "avro", "schema_registry": "shop"}) == []


def test_protobuf_has_descriptors_with_a_message_or_a_registry() -> None:
    (problem,) = problems({"type": "protobuf", "message": NAME})

    assert problem == (
        "/format/descriptor_set",
        "messages either have one declared schema or name their schemas by id; found `message`",
    )
    assert problems({"type": "protobuf", "schema_registry": "shop"}) == []


def test_columns_fit_the_fields_of_a_message() -> None:
    declared = {"type": "protobuf", "descriptor_set": order_set(), "message": NAME}
    paths = {"id": "f_int64", "region": "state", "paid": "f_double", "method": "card"}
    columns = [{"column": name, "path": path} for name, path in paths.items()]
    wrong = [*columns[:3], {"column": "method", "path": "f_bytes"}]

    assert problems(declared, columns=columns) == []
    assert problems(declared, columns=wrong) == [
        ("/columns/3/column", "the field `f_bytes` is bytes, not STRING")
    ]
    assert problems({**declared, "message": "Order"}, columns=columns) == [
        (
            "/format/descriptor_set",
            "the schema cannot be used: no message Order, found shop.Item, shop.Order",
        )
    ]


@pytest.mark.parametrize(
    ("label", "own", "found"),
    [
        ("", None, []),
        ("", "string value = 1;", ["a record, not DECIMAL(10, 2)"]),
        ("", "DoubleValue value = 1;", ["a record, not DECIMAL(10, 2)"]),
        ("", "string x = 1;", ["a record, not DECIMAL(10, 2)"]),
        ("repeated", None, ["a list, not DECIMAL(10, 2)"]),
    ],
)
def test_a_wrapper_has_the_well_known_fields(label: str, own: str | None, found: list[str]) -> None:
    wrappers = "google/protobuf/wrappers.proto"
    texts = {
        "m": f'syntax = "proto3"; import "{wrappers}"; message M {{ int64 id = 1; string region = 2;'
        f" {label} google.protobuf.DoubleValue paid = 3;"
        " string method = 4; }",
    }
    if own is not None:
        texts[wrappers] = (
            f'syntax = "proto3"; package google.protobuf; message DoubleValue {{ {own} }}'
        )
    files = descriptor_pb2.FileDescriptorSet(
        file=[parse_proto_file(text, name) for name, text in texts.items()]
    )
    declared = {
        "type": "protobuf",
        "descriptor_set": b64encode(files.SerializeToString()).decode(),
        "message": "M",
    }

    assert problems(declared) == [
        ("/columns/2/column", f"the field `paid` is {text}") for text in found
    ]


def test_columns_may_be_added_from_schemas() -> None:
    assert problems(avro(**USUAL), on_new_field="evolve") == []


@pytest.mark.parametrize(
    ("options", "pointer"),
    [
        ({"fields": ["id", "id", "region", "paid", "method"]}, "/format/fields"),
        ({"delimiter": '"'}, "/format/quote"),
        ({"delimiter": "\n"}, "/format/delimiter"),
        ({"quote": "\r"}, "/format/quote"),
    ],
)
def test_options_of_csv_that_cannot_be_read_are_refused(
    options: dict[str, Any], pointer: str
) -> None:
    assert pointer in [found for found, _ in problems({**CSV, **options})]


@pytest.mark.parametrize("on_new_field", ["reject", "evolve"])
def test_a_format_without_names_has_no_new_fields(on_new_field: str) -> None:
    (found,) = problems(CSV, on_new_field=on_new_field)

    assert found[0] == "/on_new_field"
    assert "have no names of fields" in found[1]
