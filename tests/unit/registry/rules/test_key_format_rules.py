"""Rules for the format of Kafka keys."""

from typing import Any

import pytest

from braid.registry.rules.key_format_rules import check_key_format
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition
from tests.unit.records.given_streams import given_spec

SPEC = given_spec({"id": "BIGINT", "a": "INT"}, ordering=None, deletes="clear_columns")
KEYED = [{"column": "id", "source": "key"}, {"column": "a"}]


def problems(language: str, columns: Any = KEYED, **stream: Any) -> list[tuple[str, str]]:
    key_format = {"type": language, "schema_registry": "shop"}
    declared = {"topic": "t", "columns": columns, "key_format": key_format, **stream}
    definition = StreamDefinition.model_validate(declared)
    found = check_key_format(complete_stream(SPEC, definition, name="s"))
    return [(one.pointer or "", one.message) for one in found]


@pytest.mark.parametrize("language", ["json", "avro"])
def test_keys_may_be_one_value(language: str) -> None:
    assert problems(language) == []
    assert problems(language, format={"type": "avro", "schema_registry": "shop"}) == []


def test_a_format_needs_a_reader_of_the_key() -> None:
    ((pointer, message),) = problems("avro", [{"column": "id"}, {"column": "a"}])

    assert (pointer, message[:9]) == ("/key_format", "no column")
    assert problems("avro", [{"column": "id"}, {"column": "a"}], where="key(x) = 7") == []


def test_keys_and_values_have_one_registry() -> None:
    ((pointer, _),) = problems("avro", format={"type": "json", "schema_registry": "bank"})

    assert pointer == "/key_format/schema_registry"


def test_fields_of_protobuf_are_named() -> None:
    named = [{"column": "id", "source": "key", "path": "id"}, {"column": "a"}]

    assert problems("protobuf", named) == []
    assert [pointer for pointer, _ in problems("protobuf")] == ["/columns/0/path"]
    assert [pointer for pointer, _ in problems("protobuf", named, where="key() = 7")] == [
        "/key_format"
    ]


def test_keys_of_changes_are_read_from_their_rows() -> None:
    changes = {"type": "debezium", "database": "mysql"}

    ((_, message),) = problems("avro", format=changes, on_delete="ignore")
    assert message == "the key of a captured change is read from its row"
