"""Formats are stored as they were declared."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from braid.schemas import JsonFormat, MessageFormat, schema_registry_of
from braid.schemas.message_format import SCHEMA_CHARACTERS_MAX

FORMATS: TypeAdapter[MessageFormat] = TypeAdapter(MessageFormat)


@pytest.mark.parametrize(
    ("declared", "registry"),
    [
        ("json", None),
        ({"type": "json", "schema_registry": "shop"}, "shop"),
        ({"type": "avro", "schema": "{}", "schema_registry": None}, None),
        ({"type": "avro", "schema": None, "schema_registry": "shop"}, "shop"),
        (
            {"type": "protobuf", "descriptor_set": "A", "message": "M", "schema_registry": None},
            None,
        ),
    ],
)
def test_a_format_is_stored_as_it_was_declared(declared: Any, registry: str | None) -> None:
    found = FORMATS.validate_python(declared)

    assert FORMATS.dump_python(found, mode="json") == declared
    assert FORMATS.validate_json(FORMATS.dump_json(found)) == found
    assert schema_registry_of(found) == registry


def test_json_is_the_format_by_its_name() -> None:
    assert FORMATS.validate_python("json") == JsonFormat()


@pytest.mark.parametrize(
    "declared",
    [
        {"type": "avro", "schema_text": "{}"},
        {"type": "avro", "schema": "x" * (SCHEMA_CHARACTERS_MAX + 1)},
        {"type": "protobuf", "message": ""},
    ],
)
def test_options_that_no_format_has_are_refused(declared: Any) -> None:
    with pytest.raises(ValidationError):
        FORMATS.validate_python(declared)
