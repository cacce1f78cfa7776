"""Texts for what a JSON Schema admits."""

from typing import Any

import pytest

from docs.generator.declarations.schema_text import schema_text

LINKS = {"Column": "[Column](#column)"}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "minLength": 1}, "text, not empty"),
        ({"type": "string", "maxLength": 1000}, "text of 0 to 1,000 characters"),
        ({"type": "string", "minLength": 1, "maxLength": 1}, "one character"),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 9}, "integer from 1 to 9"),
        ({"type": "integer", "minimum": -(2**63), "exclusiveMaximum": 2**63}, "integer of 64 bits"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, "`true` or `false`"),
        ({"const": "add"}, "`add`"),
        ({"enum": ["a", "b"]}, "`a`, `b`"),
        ({"$ref": "#/$defs/Column"}, "[Column](#column)"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text, or `null`"),
        ({"type": "array", "items": {"$ref": "#/$defs/Column"}}, "list of [Column](#column)"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, "list of text, 1 or more"),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 8},
            "list of text, 0 to 8",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 5},
            "object with values: integer, 0 to 5",
        ),
        ({"type": "object", "additionalProperties": True}, "object"),
        ({}, "any JSON value"),
    ],
)
def test_a_schema_is_told_in_words(schema: dict[str, Any], text: str) -> None:
    assert schema_text(schema, LINKS) == text
